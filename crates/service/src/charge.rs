//! What requests cost, in request units, exact to the hundredth. Knows no budget and no clock.
//!
//! The table is the service's published one; what lies between its rows is interpolated.

/// A charge that counts: to the hundredth, rounded up, so that nothing is free by rounding.
fn hundredths(units: f64) -> f64 {
    // The small step down keeps sums such as 4.95 from being rounded up by their last bit.
    ((units * 100.0 - 1e-6).ceil() / 100.0).max(0.0)
}

/// A charge as clients parse it: a decimal number with two places at most.
pub fn text(charge: f64) -> String {
    let text = format!("{charge:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

/// Size in KB, read, insert.
const TABLE: [(f64, f64, f64); 12] = [
    (1.0, 1.00, 4.95),
    (2.0, 1.04, 6.29),
    (4.0, 1.14, 6.67),
    (8.0, 1.33, 7.04),
    (16.0, 1.67, 9.52),
    (32.0, 2.19, 11.23),
    (64.0, 4.76, 22.67),
    (128.0, 9.95, 48.19),
    (256.0, 20.28, 98.29),
    (512.0, 40.95, 184.57),
    (1024.0, 145.90, 625.00),
    (2048.0, 291.80, 1250.00),
];

const BYTES_PER_KB: f64 = 1024.0;
/// Index entries that an insert of the table has already paid for.
const TERMS_FREE: usize = 5;
const PER_TERM: f64 = 0.3;
/// A replacement takes the old index entries out and puts the new ones in.
const REPLACE_FACTOR: f64 = 2.0;
/// A patch costs a little less than a replacement: less comes over the wire.
const PATCH_FACTOR: f64 = 1.9;
const QUERY_BASE: f64 = 2.82;
/// Entries lie side by side: many are read at once.
const PER_INDEX_ENTRY: f64 = 0.005;
const PER_KB_RETURNED: f64 = 0.02;
/// Queries load items one after the other, so what they load costs as its bytes do, not as one huge item would: up to
/// this row by the table, beyond it at this row's rate.
const LOADED_KB_MAX: f64 = 512.0;

/// A point read that found nothing, and an answer that nothing has changed.
pub const NOT_FOUND_READ: f64 = 1.00;
/// A change feed that has nothing new.
pub const NOT_MODIFIED: f64 = 1.00;
/// A request refused for what it says, or a write that found nothing or found its id taken.
pub const FAILED: f64 = 1.24;
/// A write refused by its precondition.
pub const PRECONDITION_FAILED: f64 = 1.39;
/// Reading one database, container, offer or the like.
pub const METADATA_READ: f64 = 1.00;
/// Listing or querying such.
pub const METADATA_LIST: f64 = 2.00;
/// Creating, replacing or deleting such.
pub const METADATA_WRITE: f64 = 4.95;

/// A point read of so many bytes.
pub fn read(bytes: usize) -> f64 {
    hundredths(read_units(kb(bytes)))
}

/// An insert of so many bytes with so many index entries.
pub fn insert(bytes: usize, terms: usize) -> f64 {
    hundredths(insert_units(bytes, terms))
}

/// A replacement by so many bytes with so many index entries.
pub fn replace(bytes: usize, terms: usize) -> f64 {
    hundredths(REPLACE_FACTOR * insert_units(bytes, terms))
}

/// A patch that results in so many bytes with so many index entries.
pub fn patch(bytes: usize, terms: usize) -> f64 {
    hundredths(PATCH_FACTOR * insert_units(bytes, terms))
}

/// A delete of an item of so many bytes: as much as an insert, and no index entry counts extra.
pub fn delete(bytes: usize) -> f64 {
    insert(bytes, 0)
}

/// What one page of a query did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryWork {
    /// Items loaded.
    pub items_read: u64,
    /// Entries of indexes looked at, those of the dead too.
    pub index_entries_read: u64,
    /// Bytes of all items loaded.
    pub loaded_bytes: usize,
    /// Rows of the answer.
    pub output_rows: u64,
    /// Bytes of the answer.
    pub returned_bytes: usize,
}

/// One page of a query.
pub fn query(work: QueryWork) -> f64 {
    hundredths(
        QUERY_BASE
            + PER_INDEX_ENTRY * work.index_entries_read as f64
            + loaded_units(work.loaded_bytes)
            + PER_KB_RETURNED * kb(work.returned_bytes),
    )
}

/// One page of a feed: the items it returns, and at least what finding nothing costs.
pub fn feed(returned_bytes: usize) -> f64 {
    hundredths(NOT_MODIFIED + loaded_units(returned_bytes))
}

fn kb(bytes: usize) -> f64 {
    bytes as f64 / BYTES_PER_KB
}

fn read_units(kb: f64) -> f64 {
    interpolate(kb, |row| row.1)
}

fn insert_units(bytes: usize, terms: usize) -> f64 {
    interpolate(kb(bytes), |row| row.2) + PER_TERM * terms.saturating_sub(TERMS_FREE) as f64
}

fn loaded_units(bytes: usize) -> f64 {
    let kb = kb(bytes);
    if bytes == 0 {
        0.0
    } else if kb <= LOADED_KB_MAX {
        read_units(kb)
    } else {
        read_units(LOADED_KB_MAX) * kb / LOADED_KB_MAX
    }
}

/// The table at a size: its first row below, straight lines between rows, the last row's rate beyond.
fn interpolate(kb: f64, column: impl Fn(&(f64, f64, f64)) -> f64) -> f64 {
    let above = TABLE.iter().position(|row| kb <= row.0);
    match above {
        Some(0) => column(&TABLE[0]),
        Some(row) => {
            let (low, high) = (&TABLE[row - 1], &TABLE[row]);
            let share = (kb - low.0) / (high.0 - low.0);
            column(low) + share * (column(high) - column(low))
        }
        None => {
            let last = &TABLE[TABLE.len() - 1];
            column(last) * kb / last.0
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const KB: usize = 1024;

    #[test]
    fn every_row_of_the_table() {
        for (size, read_at, insert_at) in TABLE {
            let bytes = size as usize * KB;
            assert_eq!(read(bytes), read_at, "{size}");
            assert_eq!(insert(bytes, 0), insert_at, "{size}");
            assert_eq!(insert(bytes, 5), insert_at, "{size}");
        }
    }

    #[test]
    fn between_the_rows_lie_straight_lines() {
        assert_eq!(read(0), read(KB));
        assert_eq!(insert(1, 0), insert(KB, 0));
        assert_eq!(text(read(3 * KB)), "1.09");
        assert_eq!(text(insert(3 * KB / 2, 0)), "5.62");
        assert_eq!(text(read(4096 * KB)), "583.6");
    }

    #[test]
    fn more_never_costs_less() {
        let mut before = (0.0, 0.0, 0.0);
        for bytes in (0..3 * 1024 * KB).step_by(997) {
            let work = QueryWork {
                loaded_bytes: bytes,
                ..QueryWork::default()
            };
            let now = (read(bytes), insert(bytes, 3), query(work));
            assert!(
                now.0 >= before.0 && now.1 >= before.1 && now.2 >= before.2,
                "{bytes}"
            );
            before = now;
        }
        for terms in 0..100 {
            assert!(insert(KB, terms + 1) >= insert(KB, terms));
        }
    }

    #[test]
    fn writes_cost_by_their_kind() {
        assert_eq!(text(insert(KB, 6)), "5.25");
        assert_eq!(text(replace(KB, 0)), "9.9");
        assert_eq!(delete(KB), insert(KB, 0));
        assert!(insert(KB, 0) < patch(KB, 0) && patch(KB, 0) < replace(KB, 0));
    }

    #[test]
    fn queries_cost_what_they_do() {
        assert_eq!(text(query(QueryWork::default())), "2.82");
        let work = QueryWork {
            index_entries_read: 100,
            loaded_bytes: KB,
            returned_bytes: 50 * KB,
            ..QueryWork::default()
        };
        assert_eq!(text(query(work)), "5.32");
        let scan = QueryWork {
            loaded_bytes: 1024 * KB,
            ..QueryWork::default()
        };
        assert_eq!(text(query(scan)), "84.72");
        assert_eq!(text(feed(0)), "1");
        assert_eq!(text(feed(KB)), "2");
    }

    #[test]
    fn charges_are_written_as_short_decimals() {
        for (charge, written) in [
            (0.0, "0"),
            (0.01, "0.01"),
            (0.1, "0.1"),
            (1.0, "1"),
            (4.95, "4.95"),
            (100.0, "100"),
            (1234.5, "1234.5"),
            (1.0 + 4.95, "5.95"),
            (0.1 + 0.2, "0.3"),
        ] {
            assert_eq!(text(charge), written);
        }
    }

    #[test]
    fn absurd_sizes_do_no_harm() {
        assert!(insert(usize::MAX, usize::MAX) > insert(KB, 0));
        assert!(read(usize::MAX) > read(KB));
    }
}
