//! Descriptors: as many as the system gives, and enough of them left to the store however many clients come.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that connections never take: RocksDB keeps 512 files open, and more while it compacts.
const RESERVED: u64 = 1_024;
/// Ports that share the rest.
const PORTS: u64 = 2;

/// Raises the limit of open descriptors as far as the system allows, and says how many connections a port may have.
pub fn connections_per_port() -> usize {
    per_port(raise())
}

/// Half of a small number is left to the store, because a server that takes few clients is better than one that cannot write.
fn per_port(descriptors: u64) -> usize {
    let reserved = RESERVED.min(descriptors / 2);
    usize::try_from((descriptors - reserved) / PORTS).unwrap_or(usize::MAX)
}

/// The limit of open descriptors, raised to the hard limit.
fn raise() -> u64 {
    let found = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: found.maximum,
        maximum: found.maximum,
    };
    let now = match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => wanted,
        Err(error) => {
            tracing::warn!(%error, "cannot raise the limit of open files");
            found
        }
    };
    now.current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_keeps_its_share() {
        for (descriptors, expected) in [(0, 0), (256, 64), (1_024, 256), (4_096, 1_536)] {
            assert_eq!(per_port(descriptors), expected, "{descriptors}");
        }
        for descriptors in [2_048, 65_536, u64::MAX] {
            let taken = per_port(descriptors) as u64 * PORTS;
            assert!(descriptors - taken >= RESERVED, "{descriptors}");
        }
    }
}
