//! The two parameters of MongoDB that concern expiry, and how often it was looked for. They act on purging alone: what has expired is not seen, whatever they say.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// Their values, until the process ends.
#[derive(Debug)]
pub struct TtlMonitor {
    enabled: AtomicBool,
    sleep_secs: AtomicI32,
    passes: AtomicU64,
}

impl Default for TtlMonitor {
    fn default() -> TtlMonitor {
        TtlMonitor {
            enabled: AtomicBool::new(true),
            sleep_secs: AtomicI32::new(1),
            passes: AtomicU64::new(0),
        }
    }
}

impl TtlMonitor {
    /// Whether the dead are removed.
    pub fn enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Lets the dead be removed, or lie.
    pub fn enable(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    /// How often the purger has looked through all collections.
    pub fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    /// The purger has looked through all collections.
    pub(crate) fn passed(&self) {
        self.passes.fetch_add(1, Ordering::Relaxed);
    }

    /// How often clients want the dead to be removed. It is remembered; the purger has a rhythm of its own.
    pub fn sleep_secs(&self) -> i32 {
        self.sleep_secs.load(Ordering::Relaxed)
    }

    /// Remembers how often.
    pub fn set_sleep_secs(&self, secs: i32) {
        self.sleep_secs.store(secs, Ordering::Relaxed);
    }
}
