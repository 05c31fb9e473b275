//! New object ids: the second, a random number of this process, and a counter.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use lapsedb_record::Millis;

/// An object id that nobody has.
#[must_use]
pub fn object_id(now: Millis) -> [u8; 12] {
    static PROCESS: OnceLock<[u8; 5]> = OnceLock::new();
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let process = PROCESS.get_or_init(|| {
        let random = *uuid::Uuid::new_v4().as_bytes();
        COUNTER.store(
            u32::from_be_bytes([0, random[5], random[10], random[11]]),
            Ordering::Relaxed,
        );
        [random[0], random[1], random[2], random[3], random[4]]
    });
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an object id has room for 32 bits"
    )]
    let second = (now.secs().0 as u32).to_be_bytes();
    let count = COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let mut id = [0; 12];
    for (place, byte) in id
        .iter_mut()
        .zip(second.iter().chain(process).chain(&count[1..]))
    {
        *place = *byte;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_the_same_and_they_begin_with_the_second() {
        let now = Millis(1_700_000_000_123);
        let ids: std::collections::HashSet<_> = (0..1000).map(|_| object_id(now)).collect();
        assert_eq!(ids.len(), 1000);
        assert!(
            ids.iter()
                .all(|id| id[..4] == 1_700_000_000u32.to_be_bytes())
        );
    }
}
