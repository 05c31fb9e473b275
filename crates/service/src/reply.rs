//! What the verbs of catalog resources are asked under which conditions, and what they answer.

use lapsedb_store::{Collection, Database, MetaDone, View};
use lapsedb_value::{Str, Value};

use crate::error::{Error, Result};
use crate::resource;

/// What a request makes its answer depend on.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// Only if the resource has this etag.
    pub if_match: Option<String>,
    /// Only if the resource does not have this etag.
    pub if_none_match: Option<String>,
}

impl Conditions {
    /// Refuses a change of a resource that is not as the client knows it.
    ///
    /// # Errors
    /// When the etag is another one.
    pub fn allow_change(&self, lsn: u64) -> Result<()> {
        match &self.if_match {
            Some(condition) if !resource::etag_matches(condition, lsn) => {
                Err(Error::precondition_failed())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether the reader has this version already.
    #[must_use]
    pub fn known(&self, lsn: u64) -> bool {
        self.if_none_match
            .as_deref()
            .is_some_and(|condition| resource::etag_matches(condition, lsn))
    }
}

/// What a resource belongs to: clients follow their sessions by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its path by names; empty for the account.
    pub path: String,
    /// Its `_rid`; empty for the account.
    pub rid: Str,
}

impl Owner {
    /// The account itself.
    #[must_use]
    pub fn account() -> Owner {
        Owner::default()
    }

    /// A database.
    #[must_use]
    pub fn database(database: &Database) -> Owner {
        Owner {
            path: format!("dbs/{}", database.id),
            rid: resource::database_rid(database),
        }
    }

    /// A collection.
    #[must_use]
    pub fn collection(database: &Database, collection: &Collection) -> Owner {
        Owner {
            path: format!("dbs/{}/colls/{}", database.id, collection.id),
            rid: resource::collection_rid(collection),
        }
    }
}

/// What a verb has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The resource is new.
    Created,
    /// The resource took the place of another.
    Replaced,
    /// The resource was read.
    Read,
    /// The reader has this version already.
    NotModified,
    /// The resource is gone.
    Deleted,
}

/// A verb's answer about one resource.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What happened.
    pub outcome: Outcome,
    /// The resource as clients see it; undefined if it is gone.
    pub value: Value,
    /// How far the log has come.
    pub lsn: u64,
    /// What the resource belongs to.
    pub owner: Owner,
}

impl Reply {
    /// A resource that was read; not sent again to who has it.
    #[must_use]
    pub fn read(
        view: &View,
        conditions: &Conditions,
        owner: Owner,
        lsn: u64,
        value: Value,
    ) -> Reply {
        let outcome = if conditions.known(lsn) {
            Outcome::NotModified
        } else {
            Outcome::Read
        };
        Reply {
            outcome,
            value,
            lsn: view.lsn(),
            owner,
        }
    }

    /// A resource that was written.
    #[must_use]
    pub const fn written(outcome: Outcome, done: &MetaDone, owner: Owner, value: Value) -> Reply {
        Reply {
            outcome,
            value,
            lsn: done.lsn,
            owner,
        }
    }

    /// A resource that is gone.
    #[must_use]
    pub const fn deleted(done: &MetaDone, owner: Owner) -> Reply {
        Reply {
            outcome: Outcome::Deleted,
            value: Value::Undefined,
            lsn: done.lsn,
            owner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn conditions(if_match: Option<&str>, if_none_match: Option<&str>) -> Conditions {
        Conditions {
            if_match: if_match.map(str::to_owned),
            if_none_match: if_none_match.map(str::to_owned),
        }
    }

    #[test]
    fn a_change_needs_the_etag_it_names() {
        let own = resource::etag(7);
        let other = resource::etag(8);
        let bare = own.trim_matches('"');
        for allowed in [None, Some("*"), Some(own.as_str()), Some(bare)] {
            assert!(
                conditions(allowed, None).allow_change(7).is_ok(),
                "{allowed:?}"
            );
        }
        for refused in [other.as_str(), "", "\"\"", "7"] {
            let error = conditions(Some(refused), None).allow_change(7).unwrap_err();
            assert_eq!(error.kind, Kind::PreconditionFailed, "{refused:?}");
        }
    }

    #[test]
    fn a_reader_that_names_the_etag_has_it() {
        let own = resource::etag(7);
        assert!(conditions(None, Some(&own)).known(7));
        assert!(!conditions(None, Some(&own)).known(8));
        assert!(!conditions(None, None).known(7));
    }
}
