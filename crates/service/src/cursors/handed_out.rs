//! What a cursor has handed out, so that a pipeline that is run anew hands out only the rest.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use lapsedb_mql::stages::{Pipeline, Provenance};
use lapsedb_value::bson;

use crate::documents::fault::{Fault, Result};
use crate::documents::id::ID;

/// Rows that are remembered at most.
const ROWS_MAX: u64 = 1_000_000;
/// Code of a cursor that cannot go on.
const QUERY_PLAN_KILLED: i32 = 175;

/// By what a row is known when the pipeline is run anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum KnownBy {
    /// It is never run anew.
    #[default]
    Nothing,
    /// The stored document that it stems from; else its `_id`, which a group keeps whatever it has gathered; else all it says.
    Id,
    /// All it says: rows that an `$unwind` has made of one have the same `_id`, and some of them may be gone.
    Content,
}

/// The rows of a cursor so far.
#[derive(Default)]
pub(crate) struct HandedOut {
    known_by: KnownBy,
    rows: u64,
    /// How many rows there were of each kind.
    known: HashMap<u64, u32>,
    /// How many rows of each kind are still passed over, after the pipeline was run anew.
    passed_over: HashMap<u64, u32>,
    hasher: RandomState,
}

impl HandedOut {
    /// Nothing yet of a pipeline. Which rows there will be is remembered, if it may have to be run anew.
    pub(crate) fn new(pipeline: &Pipeline) -> HandedOut {
        HandedOut {
            known_by: match (pipeline.mixes(), pipeline.unwinds_mixed()) {
                (false, _) => KnownBy::Nothing,
                (true, false) => KnownBy::Id,
                (true, true) => KnownBy::Content,
            },
            ..HandedOut::default()
        }
    }

    /// Whether the pipeline can be run anew for the rest.
    pub(crate) fn remembers(&self) -> bool {
        self.known_by != KnownBy::Nothing
    }

    /// How many rows were handed out.
    pub(crate) const fn rows(&self) -> u64 {
        self.rows
    }

    /// By what a row is known when the pipeline is run anew.
    ///
    /// # Errors
    /// When the row is no document.
    pub(crate) fn kind(&self, body: &Bytes, provenance: &Provenance) -> Result<u64> {
        let by_id = match self.known_by {
            KnownBy::Nothing => return Ok(0),
            KnownBy::Id => true,
            KnownBy::Content => false,
        };
        let id = bson::find(body, &[ID])?.filter(|_| by_id);
        Ok(match (provenance.stored().filter(|_| by_id), id) {
            (Some(stored), _) => self.hasher.hash_one((0u8, stored.number)),
            (None, Some(id)) => self.hasher.hash_one((1u8, id.kind(), id.bytes())),
            (None, None) => self.hasher.hash_one((2u8, body)),
        })
    }

    /// Whether a row was handed out before the pipeline was run anew; each one counts once.
    pub(crate) fn passes_over(&mut self, kind: u64) -> bool {
        match self.passed_over.get_mut(&kind) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            Some(_) | None => false,
        }
    }

    /// A row was handed out.
    pub(crate) fn add(&mut self, kind: u64) {
        self.rows += 1;
        if self.remembers() && self.rows < ROWS_MAX {
            *self.known.entry(kind).or_default() += 1;
        }
    }

    /// The pipeline is run anew.
    ///
    /// # Errors
    /// When there were more rows than are remembered, or the rest cannot be told from them.
    pub(crate) fn again(self, pipeline: &Pipeline) -> Result<HandedOut> {
        let why = match self.rows {
            0 => None,
            _ if !pipeline.is_repeatable() => Some("whose buckets depend on all documents".into()),
            ROWS_MAX.. => Some(format!("of which {ROWS_MAX} documents were handed out")),
            _ => None,
        };
        if let Some(why) = why {
            return Err(Fault::new(
                QUERY_PLAN_KILLED,
                format!(
                    "documents that the rest of the result was computed from have expired, or TTL settings have changed; a result {why} cannot be computed anew from there on: run the aggregation again"
                ),
            ));
        }
        Ok(HandedOut {
            passed_over: self.known.clone(),
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use lapsedb_mql::filter::Options;
    use lapsedb_value::{Object, Value};

    use super::*;

    fn mixing() -> Pipeline {
        let (mut stage, union) = (Object::new(), Value::from("c"));
        stage.push("$unionWith", union);
        Pipeline::parse(&[Value::Object(stage)], &Options::default()).unwrap()
    }

    #[test]
    fn each_row_is_passed_over_once() {
        let mut rows = HandedOut::new(&mixing());
        for kind in [1, 1, 2] {
            assert!(!rows.passes_over(kind));
            rows.add(kind);
        }
        let mut rows = rows.again(&mixing()).unwrap();
        let passed = [1, 1, 1, 2, 3].map(|kind| rows.passes_over(kind));
        assert_eq!(passed, [true, true, false, true, false]);
    }

    #[test]
    fn too_many_rows_are_not_remembered() {
        let mut rows = HandedOut::new(&mixing());
        rows.rows = ROWS_MAX - 1;
        rows.add(1);
        assert!(rows.known.is_empty());
        let refused = rows.again(&mixing()).err().unwrap();
        assert_eq!(refused.code(), Some(QUERY_PLAN_KILLED));
    }
}
