//! Where time comes from: the machine, or a test.

#![allow(
    clippy::disallowed_methods,
    reason = "this is the one place that asks the machine for the time"
)]

use std::fmt::Debug;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A machine's clocks.
pub trait Source: Debug + Send + Sync {
    /// Milliseconds since 1970 by the wall clock; negative before it.
    fn wall_ms(&self) -> i64;
    /// Milliseconds of a clock that nobody sets and that goes on while the machine sleeps.
    fn monotonic_ms(&self) -> i64;
    /// A number that differs between two boots of the machine; 0 if there is none.
    fn boot_id(&self) -> u64;
    /// Whether the kernel says that the wall clock is synchronised with a reference.
    fn synchronised(&self) -> bool;
}

/// The clocks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemSource;

impl SystemSource {
    /// The clocks of this machine.
    #[must_use]
    pub fn new() -> SystemSource {
        SystemSource
    }
}

pub(super) fn instant() -> Instant {
    Instant::now()
}

impl Source for SystemSource {
    fn wall_ms(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX / 2),
            Err(before) => {
                i64::try_from(before.duration().as_millis()).map_or(i64::MIN / 2, |ms| -ms)
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[allow(
        unsafe_code,
        reason = "the standard library has no clock that counts the machine's sleep"
    )]
    fn monotonic_ms(&self) -> i64 {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is a valid place for one timespec and outlives the call.
        let answer = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
        debug_assert_eq!(answer, 0, "every Linux since 2.6.39 has this clock");
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    #[cfg(not(target_os = "linux"))]
    fn monotonic_ms(&self) -> i64 {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        i64::try_from(START.get_or_init(Instant::now).elapsed().as_millis()).unwrap_or(i64::MAX / 2)
    }

    fn boot_id(&self) -> u64 {
        match std::fs::read("/proc/sys/kernel/random/boot_id") {
            Ok(id) if !id.is_empty() => fnv1a(&id).max(1),
            Ok(_) | Err(_) => 0,
        }
    }

    #[cfg(target_os = "linux")]
    #[allow(
        unsafe_code,
        reason = "only the kernel knows whether its clock is synchronised"
    )]
    fn synchronised(&self) -> bool {
        // SAFETY: timex is plain data for which all zeroes is a value; modes = 0 asks and changes nothing.
        let mut state: libc::timex = unsafe { std::mem::zeroed() };
        // SAFETY: `state` is a valid place for one timex and outlives the call.
        let answer = unsafe { libc::adjtimex(&raw mut state) };
        answer >= 0 && answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0
    }

    #[cfg(not(target_os = "linux"))]
    fn synchronised(&self) -> bool {
        false
    }
}

/// A hash whose value is the same in every build, since it is stored.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
