//! What a commit is asked to do. Plain data; the engine fills in what only the commit knows.

use crate::engine::{EngineError, Millis, Space, Stamp};

/// Bytes that a [`Fill`] writes.
pub const FILL_BYTES: usize = 8;
/// Low bits of an ordinal that count within a stamp.
pub const ORDINAL_BITS: u32 = 10;
/// Ordinals that one commit can hand out. One that hands out more than a stamp has room for takes the stamps behind its own
/// too, and nobody else gets them.
pub const ORDINALS_MAX: u16 = 63 << ORDINAL_BITS;
/// Stamps end where an ordinal would overflow; at a million commits a second, after 570 years.
pub const STAMP_MAX: u64 = u64::MAX >> ORDINAL_BITS;
const MILLIS_PER_SECOND: u64 = 1000;

/// Eight big-endian bytes that the commit writes into a key or value.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Fill {
    /// The stamp.
    Stamp,
    /// `(stamp << 10) + index`: unique, and increasing in commit order.
    Ordinal(u16),
    /// `(now in whole seconds + plus) / unit`.
    Seconds {
        /// Seconds added to the time of the commit.
        plus: u64,
        /// The width of a bucket, in seconds; zero counts as one.
        unit: u64,
    },
    /// The time of the commit in milliseconds.
    Millis,
}

impl Fill {
    /// The number this fill stands for in a commit.
    pub fn number(self, stamp: Stamp, now: Millis) -> u64 {
        match self {
            Fill::Stamp => stamp.0,
            Fill::Ordinal(index) => ordinal(stamp, index),
            Fill::Seconds { plus, unit } => {
                (now / MILLIS_PER_SECOND).saturating_add(plus) / unit.max(1)
            }
            Fill::Millis => now,
        }
    }
}

/// The ordinal that [`Fill::Ordinal`] writes.
pub fn ordinal(stamp: Stamp, index: u16) -> u64 {
    (stamp.0 << ORDINAL_BITS) + u64::from(index)
}

/// Bytes with places that the commit fills.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Template {
    /// The bytes; what stands at the places is overwritten.
    pub bytes: Vec<u8>,
    /// Offset of the first of eight bytes, and what goes there.
    pub fills: Vec<(u32, Fill)>,
}

impl Template {
    /// An empty one, to be built with [`push`](Self::push) and [`fill`](Self::fill).
    pub fn with_capacity(bytes: usize) -> Template {
        Template {
            bytes: Vec::with_capacity(bytes),
            fills: Vec::new(),
        }
    }

    /// Appends plain bytes.
    pub fn push(&mut self, bytes: &[u8]) -> &mut Template {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends eight bytes for the commit to fill.
    pub fn fill(&mut self, fill: Fill) -> &mut Template {
        // A template beyond 4 GiB is refused by `check`, so the saturated offset is never used.
        let offset = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.fills.push((offset, fill));
        self.bytes.extend_from_slice(&[0; FILL_BYTES]);
        self
    }

    /// Writes the places and gives the finished bytes.
    pub(crate) fn finish(mut self, stamp: Stamp, now: Millis) -> Vec<u8> {
        for (offset, fill) in self.fills {
            let start = offset as usize;
            if let Some(place) = self.bytes.get_mut(start..start + FILL_BYTES) {
                place.copy_from_slice(&fill.number(stamp, now).to_be_bytes());
            }
        }
        self.bytes
    }

    /// The greatest ordinal it asks for.
    fn ordinal_max(&self) -> u16 {
        let asked = self.fills.iter().map(|(_, fill)| match fill {
            Fill::Ordinal(index) => *index,
            Fill::Stamp | Fill::Seconds { .. } | Fill::Millis => 0,
        });
        asked.max().unwrap_or(0)
    }

    fn check(&self) -> Result<(), EngineError> {
        for (offset, fill) in &self.fills {
            if *offset as usize + FILL_BYTES > self.bytes.len() {
                return Err(EngineError::Invalid(format!(
                    "a fill at {offset} lies outside its template"
                )));
            }
            match fill {
                Fill::Ordinal(index) if *index >= ORDINALS_MAX => {
                    return Err(EngineError::Invalid(format!(
                        "ordinal {index} is beyond {ORDINALS_MAX} per commit"
                    )));
                }
                Fill::Stamp | Fill::Ordinal(_) | Fill::Seconds { .. } | Fill::Millis => {}
            }
        }
        Ok(())
    }
}

impl From<Vec<u8>> for Template {
    fn from(bytes: Vec<u8>) -> Template {
        Template {
            bytes,
            fills: Vec::new(),
        }
    }
}

impl From<&[u8]> for Template {
    fn from(bytes: &[u8]) -> Template {
        Template::from(bytes.to_vec())
    }
}

/// One change.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Op {
    /// Writes a value.
    Put {
        /// Where.
        space: Space,
        /// The key.
        key: Template,
        /// The value.
        value: Template,
    },
    /// Removes a key, if it is there.
    Delete {
        /// Where.
        space: Space,
        /// The key.
        key: Vec<u8>,
    },
    /// Adds to a value of two big-endian `i64`, see [`tally`]. Only in [`Space::Tally`], where
    /// absence and two zeros are the same: zeros are never shown.
    Add {
        /// Where.
        space: Space,
        /// The key.
        key: Template,
        /// Added to the first number.
        items: i64,
        /// Added to the second number.
        bytes: i64,
    },
    /// Removes the keys of `[from, to)`; none if `to` is not greater than `from`.
    DeleteRange {
        /// Where.
        space: Space,
        /// The first key, inclusive.
        from: Vec<u8>,
        /// The end, exclusive.
        to: Vec<u8>,
    },
}

/// A condition, asked at the commit against everything committed before it.
/// It excludes nobody: many batches may check the same key and all succeed.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Check {
    /// Where.
    pub space: Space,
    /// The key.
    pub key: Vec<u8>,
    /// What must hold.
    pub expect: Expect,
}

/// What a [`Check`] demands.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Expect {
    /// The key has no value.
    Absent,
    /// The key has a value that begins so.
    StartsWith(Vec<u8>),
}

impl Expect {
    /// Whether the value (or its absence) is as expected.
    pub fn holds(&self, value: Option<&[u8]>) -> bool {
        match self {
            Expect::Absent => value.is_none(),
            Expect::StartsWith(prefix) => value.is_some_and(|value| value.starts_with(prefix)),
        }
    }
}

/// All or nothing.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Batch {
    /// All must hold.
    pub checks: Vec<Check>,
    /// The time of commit must be before this.
    pub not_after: Option<Millis>,
    /// No snapshot is taken at a later time than the commit's before the batch is visible.
    pub holds_readers: bool,
    /// The state in which the records that must be absent were looked for: they are not looked for again, if it is still the
    /// newest.
    pub absent_at: Option<Stamp>,
    /// Applied in order.
    pub ops: Vec<Op>,
    /// Tells, after a lost answer, whether the batch was committed. Embedded engines ignore it.
    pub token: Option<[u8; 16]>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Adds a condition.
    pub fn check(&mut self, space: Space, key: impl Into<Vec<u8>>, expect: Expect) -> &mut Batch {
        self.checks.push(Check {
            space,
            key: key.into(),
            expect,
        });
        self
    }

    /// Whether it adds records or index entries. What does not may still add a little, to remove more later.
    pub(crate) fn grows(&self) -> bool {
        self.ops.iter().any(|op| match op {
            Op::Put { space, .. } => matches!(space, Space::Items | Space::Index | Space::Unique),
            Op::Delete { .. } | Op::Add { .. } | Op::DeleteRange { .. } => false,
        })
    }

    /// Demands that the commit happens before `limit`; the least of several limits counts.
    pub fn not_after(&mut self, limit: Millis) -> &mut Batch {
        self.not_after = Some(self.not_after.map_or(limit, |old| old.min(limit)));
        self
    }

    /// Makes readers wait for this batch once it is being committed: for what must hold from the very instant of the commit.
    pub fn hold_readers(&mut self) -> &mut Batch {
        self.holds_readers = true;
        self
    }

    /// Says in which state the records of its [`Expect::Absent`] were found to be absent: all of them, in this one.
    pub fn absent_at(&mut self, stamp: Stamp) -> &mut Batch {
        self.absent_at = Some(stamp);
        self
    }

    /// Adds an [`Op::Put`].
    pub fn put(
        &mut self,
        space: Space,
        key: impl Into<Template>,
        value: impl Into<Template>,
    ) -> &mut Batch {
        self.ops.push(Op::Put {
            space,
            key: key.into(),
            value: value.into(),
        });
        self
    }

    /// Adds an [`Op::Delete`].
    pub fn delete(&mut self, space: Space, key: impl Into<Vec<u8>>) -> &mut Batch {
        self.ops.push(Op::Delete {
            space,
            key: key.into(),
        });
        self
    }

    /// Adds an [`Op::Add`] in [`Space::Tally`].
    pub fn add(&mut self, key: impl Into<Template>, items: i64, bytes: i64) -> &mut Batch {
        self.ops.push(Op::Add {
            space: Space::Tally,
            key: key.into(),
            items,
            bytes,
        });
        self
    }

    /// Adds an [`Op::DeleteRange`].
    pub fn delete_range(
        &mut self,
        space: Space,
        from: impl Into<Vec<u8>>,
        to: impl Into<Vec<u8>>,
    ) -> &mut Batch {
        self.ops.push(Op::DeleteRange {
            space,
            from: from.into(),
            to: to.into(),
        });
        self
    }

    /// How many stamps behind its own it needs for its ordinals.
    pub(crate) fn further_stamps(&self) -> u64 {
        let asked = self.ops.iter().map(|op| match op {
            Op::Put { key, value, .. } => key.ordinal_max().max(value.ordinal_max()),
            Op::Add { key, .. } => key.ordinal_max(),
            Op::Delete { .. } | Op::DeleteRange { .. } => 0,
        });
        u64::from(asked.max().unwrap_or(0) >> ORDINAL_BITS)
    }

    /// Checks the batch against an engine's caps, and gives its size in bytes.
    pub(crate) fn validate(&self, caps: &crate::Caps) -> Result<usize, EngineError> {
        let key = |key: &[u8]| limit("a key", key.len(), caps.key_bytes_max);
        let mut total = 0usize;
        for op in &self.ops {
            total += match op {
                Op::Put {
                    space,
                    key: name,
                    value,
                } => {
                    name.check()?;
                    value.check()?;
                    if *space == Space::Tally && value.bytes.len() != tally::BYTES {
                        return Err(EngineError::Invalid("a sum is two numbers".to_owned()));
                    }
                    key(&name.bytes)? + limit("a value", value.bytes.len(), caps.value_bytes_max)?
                }
                Op::Delete {
                    space: _,
                    key: name,
                } => key(name)?,
                Op::Add {
                    space, key: name, ..
                } => {
                    if *space != Space::Tally {
                        return Err(EngineError::Invalid(format!(
                            "sums are kept in tally, not in {}",
                            space.name()
                        )));
                    }
                    name.check()?;
                    key(&name.bytes)? + tally::BYTES
                }
                Op::DeleteRange { space: _, from, to } => key(from)? + key(to)?,
            };
        }
        limit("a batch", total, caps.batch_bytes_max)
    }
}

fn limit(what: &str, size: usize, max: usize) -> Result<usize, EngineError> {
    if size > max {
        return Err(EngineError::TooLarge(format!(
            "{what} of {size} bytes, where {max} is the limit"
        )));
    }
    Ok(size)
}

/// The value that [`Op::Add`] keeps: two big-endian `i64`.
pub mod tally {
    /// The length of the value.
    pub const BYTES: usize = 16;

    /// The value for two numbers.
    pub fn encode(items: i64, bytes: i64) -> [u8; BYTES] {
        let both = u128::from(items as u64) << 64 | u128::from(bytes as u64);
        both.to_be_bytes()
    }

    /// The two numbers of a value; `None` if it is not one.
    pub fn decode(value: &[u8]) -> Option<(i64, i64)> {
        let both = u128::from_be_bytes(value.try_into().ok()?);
        Some(((both >> 64) as u64 as i64, both as u64 as i64))
    }

    /// The sum. It wraps, because only a wrapping sum is the same in every order and grouping.
    pub fn sum(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
        (a.0.wrapping_add(b.0), a.1.wrapping_add(b.1))
    }
}
