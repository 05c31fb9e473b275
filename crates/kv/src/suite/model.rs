//! The simplest thing that an engine could be.

use std::collections::BTreeMap;

use crate::*;

#[derive(Clone, Default, PartialEq, Debug)]
pub struct Model {
    pub rows: BTreeMap<(Space, Vec<u8>), Vec<u8>>,
}

impl Model {
    pub fn admits(&self, batch: &Batch, now: Millis) -> Result<(), CommitError> {
        if batch.not_after.is_some_and(|limit| limit <= now) {
            return Err(CommitError::TooLate);
        }
        for check in &batch.checks {
            let value = self.rows.get(&(check.space, check.key.clone()));
            let holds = match &check.expect {
                Expect::Absent => value.is_none(),
                Expect::StartsWith(prefix) => value.is_some_and(|value| value.starts_with(prefix)),
            };
            if !holds {
                return Err(CommitError::Conflict);
            }
        }
        Ok(())
    }

    pub fn apply(&mut self, batch: &Batch, stamp: u64, now: Millis) {
        for op in &batch.ops {
            match op {
                Op::Put { space, key, value } => {
                    let row = (*space, finished(key, stamp, now));
                    self.rows.insert(row, finished(value, stamp, now));
                }
                Op::Delete { space, key } => {
                    self.rows.remove(&(*space, key.clone()));
                }
                Op::Add {
                    space,
                    key,
                    items,
                    bytes,
                } => {
                    let row = (*space, finished(key, stamp, now));
                    let old = self
                        .rows
                        .get(&row)
                        .map_or((0, 0), |value| tally::decode(value).unwrap());
                    self.rows
                        .insert(row, tally::encode(old.0 + items, old.1 + bytes).to_vec());
                }
                Op::DeleteRange { space, from, to } => {
                    self.rows
                        .retain(|(s, key), _| s != space || key < from || key >= to);
                }
            }
        }
        if !batch.ops.is_empty() {
            self.rows.insert(
                (Space::Meta, super::FLOOR_KEY.to_vec()),
                now.to_be_bytes().to_vec(),
            );
        }
        self.rows
            .retain(|(space, _), value| *space != Space::Tally || *value != [0; 16]);
    }

    pub fn scan(&self, scan: &Scan) -> Page {
        let inside = |key: &[u8]| {
            key >= scan.from.as_slice() && (scan.to.is_empty() || key < scan.to.as_slice())
        };
        let mut all: Vec<_> = self
            .rows
            .iter()
            .filter(|((space, key), _)| *space == scan.space && inside(key))
            .collect();
        if scan.reverse {
            all.reverse();
        }
        let mut page = Page::default();
        let mut bytes = 0;
        for ((_, key), value) in all {
            if !page.rows.is_empty()
                && (page.rows.len() >= scan.rows_max || bytes >= scan.bytes_max)
            {
                page.more = true;
                break;
            }
            bytes += key.len() + value.len();
            page.rows.push((key.clone().into(), value.clone().into()));
        }
        page
    }
}

/// Written apart from `Template::finish`, so that the two check each other.
fn finished(template: &Template, stamp: u64, now: Millis) -> Vec<u8> {
    let mut bytes = template.bytes.clone();
    for (offset, fill) in &template.fills {
        let number = match fill {
            Fill::Stamp => stamp,
            Fill::Ordinal(index) => stamp * 1024 + u64::from(*index),
            Fill::Seconds { plus, unit } => (now / 1000 + plus) / unit,
            Fill::Millis => now,
        };
        bytes.splice(*offset as usize..*offset as usize + 8, number.to_be_bytes());
    }
    bytes
}

/// Everything a snapshot shows.
pub fn contents(snapshot: &impl Snapshot) -> Model {
    let mut model = Model::default();
    for space in Space::ALL {
        let page = super::wait(snapshot.scan(Scan::prefix(space, b""))).unwrap();
        assert!(!page.more);
        model.rows.extend(
            page.rows
                .into_iter()
                .map(|(key, value)| ((space, key.to_vec()), value.to_vec())),
        );
    }
    model
}
