//! What requests cost, in request units. Knows no budget and no clock.
//!
//! The table is the service's published one; what lies between its rows is interpolated.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Request units, exact to the hundredth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Charge(u64);

const HUNDRED: f64 = 100.0;

impl Charge {
    /// Nothing: what purging costs.
    pub const ZERO: Charge = Charge(0);

    /// A charge of so many hundredths of a request unit.
    pub const fn from_hundredths(hundredths: u64) -> Charge {
        Charge(hundredths)
    }

    /// The charge in hundredths of a request unit.
    pub const fn hundredths(self) -> u64 {
        self.0
    }

    /// The charge in request units.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / HUNDRED
    }

    /// What the same read costs under strong or bounded consistency.
    pub const fn doubled(self) -> Charge {
        Charge(self.0.saturating_mul(2))
    }

    /// Rounds up, so that nothing is ever free by rounding.
    fn from_units(units: f64) -> Charge {
        // The small step down keeps sums such as 4.95 from being rounded up by their last bit.
        Charge((units * HUNDRED - 1e-6).ceil().max(0.0) as u64)
    }
}

impl Add for Charge {
    type Output = Charge;

    fn add(self, other: Charge) -> Charge {
        Charge(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Charge {
    fn add_assign(&mut self, other: Charge) {
        *self = *self + other;
    }
}

impl Sum for Charge {
    fn sum<I: Iterator<Item = Charge>>(charges: I) -> Charge {
        charges.fold(Charge::ZERO, Add::add)
    }
}

impl fmt::Display for Charge {
    /// As clients parse it: a decimal number, without needless zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 100, self.0 % 100);
        match part {
            0 => write!(f, "{whole}"),
            part if part % 10 == 0 => write!(f, "{whole}.{}", part / 10),
            part => write!(f, "{whole}.{part:02}"),
        }
    }
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
const PER_INDEX_LOOKUP: f64 = 0.05;
const PER_KB_RETURNED: f64 = 0.02;
/// Queries load items one after the other, so what they load costs as its bytes do, not as one huge item would: up to
/// this row by the table, beyond it at this row's rate.
const LOADED_KB_MAX: f64 = 512.0;

/// A point read that found nothing, and an answer that nothing has changed.
pub const NOT_FOUND_READ: Charge = Charge(100);
/// A change feed that has nothing new.
pub const NOT_MODIFIED: Charge = Charge(100);
/// A request refused for what it says, or a write that found nothing or found its id taken.
pub const FAILED: Charge = Charge(124);
/// A write refused by its precondition.
pub const PRECONDITION_FAILED: Charge = Charge(139);
/// Reading one database, container, offer or the like.
pub const METADATA_READ: Charge = Charge(100);
/// Listing or querying such.
pub const METADATA_LIST: Charge = Charge(200);
/// Creating, replacing or deleting such.
pub const METADATA_WRITE: Charge = Charge(495);

/// A point read of so many bytes.
pub fn read(bytes: usize) -> Charge {
    Charge::from_units(read_units(kb(bytes)))
}

/// An insert of so many bytes with so many index entries. A delete costs the same.
pub fn insert(bytes: usize, terms: usize) -> Charge {
    Charge::from_units(insert_units(bytes, terms))
}

/// A replacement by so many bytes with so many index entries.
pub fn replace(bytes: usize, terms: usize) -> Charge {
    Charge::from_units(REPLACE_FACTOR * insert_units(bytes, terms))
}

/// A patch that results in so many bytes with so many index entries.
pub fn patch(bytes: usize, terms: usize) -> Charge {
    Charge::from_units(PATCH_FACTOR * insert_units(bytes, terms))
}

/// A delete of an item of so many bytes with so many index entries.
pub fn delete(bytes: usize, terms: usize) -> Charge {
    insert(bytes, terms)
}

/// What one page of a query did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryWork {
    /// Index entries looked at.
    pub index_lookups: usize,
    /// Bytes of all items loaded.
    pub loaded_bytes: usize,
    /// Bytes of the answer.
    pub returned_bytes: usize,
}

/// One page of a query.
pub fn query(work: QueryWork) -> Charge {
    Charge::from_units(
        QUERY_BASE
            + PER_INDEX_LOOKUP * work.index_lookups as f64
            + loaded_units(work.loaded_bytes)
            + PER_KB_RETURNED * kb(work.returned_bytes),
    )
}

/// One page of a feed: the items it returns, and at least what finding nothing costs.
pub fn feed(returned_bytes: usize) -> Charge {
    NOT_MODIFIED + Charge::from_units(loaded_units(returned_bytes))
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
            assert_eq!(read(bytes).as_f64(), read_at, "{size}");
            assert_eq!(insert(bytes, 0).as_f64(), insert_at, "{size}");
            assert_eq!(insert(bytes, 5).as_f64(), insert_at, "{size}");
        }
    }

    #[test]
    fn between_the_rows_lie_straight_lines() {
        assert_eq!(read(0), read(KB));
        assert_eq!(insert(1, 0), insert(KB, 0));
        assert_eq!(read(3 * KB).to_string(), "1.09");
        assert_eq!(insert(3 * KB / 2, 0).to_string(), "5.62");
        assert_eq!(read(4096 * KB).to_string(), "583.6");
    }

    #[test]
    fn more_never_costs_less() {
        let mut before = (Charge::ZERO, Charge::ZERO, Charge::ZERO);
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
        assert_eq!(insert(KB, 6).to_string(), "5.25");
        assert_eq!(replace(KB, 0).to_string(), "9.9");
        assert_eq!(delete(KB, 7), insert(KB, 7));
        assert!(insert(KB, 0) < patch(KB, 0) && patch(KB, 0) < replace(KB, 0));
        assert_eq!(read(KB).doubled().to_string(), "2");
    }

    #[test]
    fn queries_cost_what_they_do() {
        assert_eq!(query(QueryWork::default()).to_string(), "2.82");
        let work = QueryWork {
            index_lookups: 10,
            loaded_bytes: KB,
            returned_bytes: 50 * KB,
        };
        assert_eq!(query(work).to_string(), "5.32");
        let scan = QueryWork {
            loaded_bytes: 1024 * KB,
            ..QueryWork::default()
        };
        assert_eq!(query(scan).to_string(), "84.72");
        assert_eq!(feed(0).to_string(), "1");
        assert_eq!(feed(KB).to_string(), "2");
    }

    #[test]
    fn charges_are_written_as_short_decimals() {
        for (hundredths, text) in [
            (0, "0"),
            (1, "0.01"),
            (10, "0.1"),
            (100, "1"),
            (495, "4.95"),
            (123_400, "1234"),
        ] {
            assert_eq!(Charge::from_hundredths(hundredths).to_string(), text);
        }
        let sum: Charge = [read(KB), insert(KB, 0)].into_iter().sum();
        assert_eq!(sum.hundredths(), 595);
        assert_eq!(Charge(u64::MAX) + Charge(1), Charge(u64::MAX));
    }

    #[test]
    fn absurd_sizes_do_no_harm() {
        assert!(insert(usize::MAX, usize::MAX) > insert(KB, 0));
        assert!(read(usize::MAX) > read(KB));
    }
}
