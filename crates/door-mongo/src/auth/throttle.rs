//! Slows down who guesses passwords, and bounds the hashing that strangers can cause.
//!
//! Failed logins are counted by address, in a table of bounded size. An address with too many is refused before anything is looked up or
//! hashed, with the right password too: otherwise the refusal would tell which one is right.

use std::collections::HashMap;
use std::net::IpAddr;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use lapsedb_service::documents::Fault;
use lapsedb_service::{Clock, remote};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::codes;

/// Failed logins that an address has at once.
const FAILURES_MAX: u32 = 30;
/// Seconds after which it has one of them again.
const FAILURE_SECONDS: u64 = 2;
/// Addresses that are remembered; those that have to wait least are forgotten first.
const ADDRESSES_MAX: usize = 4096;

/// Who has failed how often.
pub(crate) struct Throttle {
    /// Until when each address has all its failures again.
    addresses: Mutex<HashMap<IpAddr, Instant>>,
    /// One permit for each password that is hashed before its sender has logged in.
    hashing: Semaphore,
}

impl Throttle {
    pub(crate) fn new() -> Throttle {
        // Half of the machine, so that the other half answers who is logged in.
        let cores = available_parallelism().map_or(1, std::num::NonZero::get);
        Throttle {
            addresses: Mutex::default(),
            hashing: Semaphore::new((cores / 2).max(1)),
        }
    }

    /// Refuses an address that has failed too often.
    pub(crate) fn check(&self, client: IpAddr) -> Result<(), Fault> {
        self.check_at(client, Clock::monotonic())
    }

    fn check_at(&self, client: IpAddr, now: Instant) -> Result<(), Fault> {
        let addresses = self.addresses.lock();
        let Some(until) = addresses.get(&remote::network(client)) else {
            return Ok(());
        };
        let owed = until.saturating_duration_since(now);
        let allowed = one_failure() * (FAILURES_MAX - 1);
        match owed.checked_sub(allowed).filter(|wait| !wait.is_zero()) {
            None => Ok(()),
            Some(wait) => Err(Fault::new(
                codes::AUTHENTICATION_FAILED,
                format!(
                    "Authentication failed: too many failed logins from this address; try again in {} s",
                    wait.as_secs() + 1
                ),
            )),
        }
    }

    /// Counts a failed login.
    pub(crate) fn failed(&self, client: IpAddr) {
        self.failed_at(client, Clock::monotonic());
    }

    fn failed_at(&self, client: IpAddr, now: Instant) {
        let network = remote::network(client);
        let mut addresses = self.addresses.lock();
        if addresses.len() >= ADDRESSES_MAX && !addresses.contains_key(&network) {
            forget(&mut addresses, now);
        }
        let until = addresses.entry(network).or_insert(now);
        *until = (*until).max(now) + one_failure();
    }

    /// Failures of an address that have not come back.
    #[cfg(test)]
    pub(crate) fn failures(&self, client: IpAddr) -> u64 {
        let until = self.addresses.lock().get(&remote::network(client)).copied();
        until.map_or(0, |until| {
            let owed = until.saturating_duration_since(Clock::monotonic());
            owed.as_secs().div_ceil(FAILURE_SECONDS)
        })
    }

    /// Waits for leave to hash a password of somebody who has not logged in.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>, Fault> {
        let permit = self.hashing.acquire().await;
        permit.map_err(|_| Fault::new(codes::INTERNAL_ERROR, "passwords are not hashed any more"))
    }
}

const fn one_failure() -> Duration {
    Duration::from_secs(FAILURE_SECONDS)
}

/// Makes room for one address.
fn forget(addresses: &mut HashMap<IpAddr, Instant>, now: Instant) {
    addresses.retain(|_, until| *until > now);
    if addresses.len() < ADDRESSES_MAX {
        return;
    }
    let least = addresses.iter().min_by_key(|(_, until)| **until);
    if let Some(network) = least.map(|(network, _)| *network) {
        addresses.remove(&network);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn who_fails_too_often_waits_and_nobody_else() {
        let throttle = Throttle::new();
        let begin = Clock::monotonic();
        let after = |seconds: u64| begin + Duration::from_secs(seconds);
        for _ in 0..FAILURES_MAX {
            assert!(throttle.check_at(address(1), begin).is_ok());
            throttle.failed_at(address(1), begin);
        }
        let refusal = throttle.check_at(address(1), begin).unwrap_err();
        assert_eq!(refusal.code(), Some(codes::AUTHENTICATION_FAILED));
        assert!(throttle.check_at(address(2), begin).is_ok());
        assert!(
            throttle
                .check_at(address(1), after(FAILURE_SECONDS - 1))
                .is_err()
        );
        assert!(
            throttle
                .check_at(address(1), after(FAILURE_SECONDS))
                .is_ok()
        );
        throttle.failed_at(address(1), after(FAILURE_SECONDS));
        assert!(
            throttle
                .check_at(address(1), after(FAILURE_SECONDS))
                .is_err()
        );
        // All of them come back.
        let all = after(FAILURE_SECONDS * u64::from(FAILURES_MAX + 1));
        for _ in 0..FAILURES_MAX {
            assert!(throttle.check_at(address(1), all).is_ok());
            throttle.failed_at(address(1), all);
        }
    }

    #[test]
    fn a_flood_of_addresses_neither_grows_the_table_nor_frees_who_waits() {
        let throttle = Throttle::new();
        let now = Clock::monotonic();
        for _ in 0..FAILURES_MAX {
            throttle.failed_at(address(0), now);
        }
        for number in 1..=2 * u32::try_from(ADDRESSES_MAX).unwrap() {
            throttle.failed_at(address(number), now);
        }
        assert_eq!(throttle.addresses.lock().len(), ADDRESSES_MAX);
        assert!(throttle.check_at(address(0), now).is_err());
    }
}
