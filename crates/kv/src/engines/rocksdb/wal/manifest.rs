//! What RocksDB's manifest says of the logs: which of them will be replayed, and which were synced up to where.
//!
//! The manifest is written in the format of a log. Each record is an edit, a list of fields, each a tag and what belongs to it; numbers
//! are of variable length. Only what concerns logs is kept. All of these numbers only grow, so a manifest whose end
//! cannot be read makes more logs count, never fewer.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use super::block::{self, BLOCK_BYTES, Part};
use crate::engine::{EngineError, Space};

/// Names the manifest.
const CURRENT: &str = "CURRENT";
/// The column families of a store: one of each kind of data, and RocksDB's own.
const FAMILIES: usize = Space::ALL.len() + 1;
/// Tags from here on are followed by the length of their field, so that one that is not known can be skipped.
const WITH_LENGTH: u32 = 1 << 13;

/// What is known of the logs.
#[derive(Debug, Default)]
pub struct Manifest {
    /// Logs with a smaller number are not replayed. None if that is not known.
    pub replayed_from: Option<u64>,
    /// By the number of a log that is no longer written: how much of it was synced, in bytes.
    pub synced: BTreeMap<u64, u64>,
    /// Some column family has its writes up to this log, exclusively, in tables.
    pub in_tables: u64,
}

/// Reads the manifest of a folder. One that is missing or cannot be understood says nothing: RocksDB judges it when it opens the store.
pub fn read(files: &Path) -> Result<Manifest, EngineError> {
    let get = |name: &str| match std::fs::read(files.join(name)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(EngineError::Io(format!(
            "{}: {error}",
            files.join(name).display()
        ))),
    };
    let Some(current) = get(CURRENT)? else {
        return Ok(Manifest::default());
    };
    let Some(name) = std::str::from_utf8(&current)
        .ok()
        .and_then(|name| name.strip_suffix('\n'))
        .filter(|name| name.starts_with("MANIFEST-") && !name.contains('/'))
    else {
        return Ok(Manifest::default());
    };
    Ok(get(name)?.map_or_else(Manifest::default, |bytes| of_bytes(&bytes)))
}

fn of_bytes(bytes: &[u8]) -> Manifest {
    let mut state = State::default();
    let mut group = Vec::new();
    for record in records(bytes) {
        let Some(edit) = Edit::decode(&record) else {
            // It may say anything, even that a number is smaller: nothing is known then.
            return Manifest::default();
        };
        // Edits of a group count once the last one is there.
        let remaining = edit.remaining_in_group;
        group.push(edit);
        if remaining == 0 {
            group.drain(..).for_each(|edit| state.apply(edit));
        }
    }
    state.manifest()
}

/// The whole records before the first fault.
fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    for block in bytes.chunks(BLOCK_BYTES) {
        let mut at = 0;
        loop {
            let fragment = match block::fragment(block, at) {
                Ok(Some(fragment)) => fragment,
                Ok(None) => break,
                Err(_) => return records,
            };
            at = fragment.next;
            match (fragment.part, &mut open) {
                (Part::Full, None) => records.push(fragment.payload.to_vec()),
                (Part::First, None) => open = Some(fragment.payload.to_vec()),
                (Part::Middle, Some(record)) => record.extend(fragment.payload),
                (Part::Last, Some(record)) => {
                    record.extend(fragment.payload);
                    records.extend(open.take());
                }
                (Part::Full | Part::First, Some(_))
                | (Part::Middle | Part::Last, None)
                | (Part::Aside, _) => return records,
            }
        }
    }
    records
}

/// What all edits together say.
#[derive(Default)]
struct State {
    /// By column family: logs with a smaller number hold nothing for it that is not in tables.
    families: BTreeMap<u32, u64>,
    /// Logs with a smaller number are not kept.
    kept_from: u64,
    synced: BTreeMap<u64, u64>,
}

impl State {
    fn apply(&mut self, edit: Edit) {
        if edit.is_drop {
            self.families.remove(&edit.family);
        } else if edit.is_add || edit.log.is_some() {
            let log = self.families.entry(edit.family).or_default();
            *log = (*log).max(edit.log.unwrap_or(0));
        }
        self.kept_from = self.kept_from.max(edit.kept_from.unwrap_or(0));
        for (log, bytes) in edit.synced {
            let known = self.synced.entry(log).or_default();
            *known = (*known).max(bytes);
        }
        if let Some(from) = edit.forgotten_before {
            self.synced = self.synced.split_off(&from);
        }
    }

    fn manifest(self) -> Manifest {
        let families = self.families.values();
        let unflushed = families.clone().min().copied().unwrap_or(0);
        let in_tables = families.max().copied().unwrap_or(0);
        // Without all column families the smallest number may be missing.
        let is_all = self.families.len() >= FAMILIES;
        Manifest {
            replayed_from: is_all.then_some(unflushed.max(self.kept_from)),
            synced: self.synced,
            in_tables,
        }
    }
}

/// One edit, as far as it concerns logs.
#[derive(Default)]
struct Edit {
    /// Of which column family it tells.
    family: u32,
    is_add: bool,
    is_drop: bool,
    log: Option<u64>,
    kept_from: Option<u64>,
    /// Edits of the same group that follow.
    remaining_in_group: u32,
    synced: Vec<(u64, u64)>,
    /// What is known of older logs is to be forgotten.
    forgotten_before: Option<u64>,
}

impl Edit {
    fn decode(record: &[u8]) -> Option<Edit> {
        let mut edit = Edit::default();
        let mut fields = Fields(record);
        while !fields.0.is_empty() {
            let tag = fields.number32()?;
            edit.field(tag, &mut fields)?;
        }
        Some(edit)
    }

    fn field(&mut self, tag: u32, fields: &mut Fields<'_>) -> Option<()> {
        match tag {
            // The comparator's name.
            1 => drop(fields.bytes()?),
            2 => self.log = Some(fields.number()?),
            // The next file's number, the last sequence number in tables, the log before.
            3 | 4 | 9 => drop(fields.number()?),
            // Where compactions go on in a level.
            5 => drop((fields.number32()?, fields.bytes()?)),
            // A table that is deleted: its level and number.
            6 => drop((fields.number32()?, fields.number()?)),
            10 => self.kept_from = Some(fields.number()?),
            103 => self.table(fields)?,
            200 => self.family = fields.number32()?,
            201 => {
                fields.bytes()?;
                self.is_add = true;
            }
            202 => self.is_drop = true,
            // The largest number of a column family.
            203 => drop(fields.number32()?),
            300 => self.remaining_in_group = fields.number32()?,
            // These three have numbers of this range, but no length.
            8194..=8197 => return None,
            8199 => self.log_was_synced(fields.bytes()?)?,
            8200 => self.forgotten_before = Some(Fields(fields.bytes()?).number()?),
            tag if tag & WITH_LENGTH != 0 => drop(fields.bytes()?),
            _ => return None,
        }
        Some(())
    }

    /// A new table: level, number, size, smallest and largest key, smallest and largest sequence number, then fields of its own.
    fn table(&mut self, fields: &mut Fields<'_>) -> Option<()> {
        fields.number32()?;
        fields.number()?;
        fields.number()?;
        fields.bytes()?;
        fields.bytes()?;
        fields.number()?;
        fields.number()?;
        loop {
            match fields.number32()? {
                1 => return Some(()),
                // From which log on they are kept, in 8 bytes.
                3 => {
                    let number = fields.bytes()?.try_into().ok()?;
                    self.kept_from = Some(u64::from_le_bytes(number));
                }
                _ => drop(fields.bytes()?),
            }
        }
    }

    /// A log's number, then fields of its own, of which the synced length is the only one.
    fn log_was_synced(&mut self, bytes: &[u8]) -> Option<()> {
        let mut fields = Fields(bytes);
        let log = fields.number()?;
        loop {
            match fields.number32()? {
                1 => return Some(()),
                2 => self.synced.push((log, fields.number()?)),
                _ => return None,
            }
        }
    }
}

/// What is left of an edit.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Seven bits a byte, the lowest first; the eighth says that more follow.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn number32(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}
