//! What both APIs hold against a client that nobody knows: how slowly it may send, and which addresses are one sender.

use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// How long a client may take for its first whole request, from the connection on, in seconds.
pub const FIRST_REQUEST_SECONDS_MAX: u64 = 10;
/// How long a client may send as slowly as it likes, in seconds.
pub const PACE_GRACE_SECONDS: u64 = 10;
/// What it must have sent on average after that, in bytes a second.
pub const PACE_BYTES_PER_SECOND: u64 = 4 * 1024;

/// Bits of an IPv6 address that a provider gives to one customer; the rest the customer chooses.
const IPV6_NETWORK_BITS: u32 = 64;

/// The least rate at which a client must send what it has begun. Without one, a byte a second holds a connection, and
/// the memory for what it has announced, as long as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long nothing is asked.
    pub grace: Duration,
    /// What is asked then, in bytes a second.
    pub bytes_per_second: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            grace: Duration::from_secs(PACE_GRACE_SECONDS),
            bytes_per_second: PACE_BYTES_PER_SECOND,
        }
    }
}

impl Pace {
    /// Until when more must have come from a client that began at a time and has sent so many bytes.
    #[must_use]
    pub fn deadline(&self, began: Instant, bytes: usize) -> Instant {
        let millis = (bytes as u64).saturating_mul(1000) / self.bytes_per_second.max(1);
        began + self.grace + Duration::from_millis(millis)
    }
}

/// The address that a sender is counted by: IPv4 as it is, IPv6 without the part that every customer can choose anew.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let mask = u128::MAX << (u128::BITS - IPV6_NETWORK_BITS);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_second_is_too_slow_and_the_least_rate_is_not() {
        let pace = Pace::default();
        #[expect(clippy::disallowed_methods, reason = "only differences are compared")]
        let began = Instant::now();
        let late = |seconds: u64, bytes: u64| {
            let bytes = usize::try_from(bytes).unwrap();
            began + Duration::from_secs(seconds) > pace.deadline(began, bytes)
        };
        for seconds in 0..=PACE_GRACE_SECONDS {
            assert!(!late(seconds, 0));
        }
        for seconds in [PACE_GRACE_SECONDS + 1, 60, 3600] {
            assert!(late(seconds, seconds), "{seconds}");
            let enough = (seconds - PACE_GRACE_SECONDS) * PACE_BYTES_PER_SECOND;
            assert!(!late(seconds, enough), "{seconds}");
            assert!(late(seconds, enough - PACE_BYTES_PER_SECOND), "{seconds}");
        }
    }

    #[test]
    fn a_customer_of_ipv6_is_one_sender() {
        let same = |one: &str, other: &str| {
            network(one.parse().unwrap()) == network(other.parse().unwrap())
        };
        assert!(same("2001:db8:1:2::3", "2001:db8:1:2:ffff::4"));
        assert!(!same("2001:db8:1:2::3", "2001:db8:1:3::3"));
        assert!(same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("10.0.0.1", "10.0.0.2"));
    }
}
