//! Items: one at a time, in batches, by feed and by query.

pub mod apply;
pub mod body;
pub mod changes;
pub mod delete_partition;
pub mod feed;
mod index_metrics;
mod order_rule;
pub mod patch;
pub mod query;
pub mod read;
pub mod run;
pub mod versions;

use bytes::Bytes;
use lapsedb_record::Header;
use lapsedb_store::partition_key::PartitionKey;

use crate::error::Error;

pub use body::Document;
pub use patch::Patch;
pub use run::{Mode, Ran, run};

/// One operation on one item.
#[derive(Clone, Debug)]
pub struct ItemOp {
    /// What to do.
    pub action: Action,
    /// The partition key the request named.
    pub partition: Option<PartitionKey>,
    /// Only if the item has this etag.
    pub if_match: Option<String>,
    /// Only if the item does not have this etag.
    pub if_none_match: Option<String>,
    /// Whether the client wants no document back; a read has nothing else to say.
    pub minimal: bool,
}

/// What an operation does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Makes a new item.
    Create(Document),
    /// Makes an item, or takes the place of the one that is there.
    Upsert(Document),
    /// Takes the place of the item that is there.
    Replace {
        /// The item.
        id: String,
        /// What it becomes.
        document: Document,
    },
    /// Changes parts of an item.
    Patch {
        /// The item.
        id: String,
        /// The changes.
        patch: Patch,
    },
    /// Removes an item.
    Delete {
        /// The item.
        id: String,
    },
    /// Could not be understood: fails so when its turn comes.
    Refused(Error),
    /// Reads an item within a batch.
    Read {
        /// The item.
        id: String,
    },
}

impl Action {
    /// Whether it would change something.
    #[must_use]
    pub const fn writes(&self) -> bool {
        match self {
            Action::Create(_)
            | Action::Upsert(_)
            | Action::Replace { .. }
            | Action::Patch { .. }
            | Action::Delete { .. } => true,
            Action::Refused(_) | Action::Read { .. } => false,
        }
    }
}

/// What an operation has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new item is there.
    Created,
    /// An item was replaced, patched or read.
    Ok,
    /// An item is gone.
    Deleted,
    /// The item is as the reader knows it.
    NotModified,
}

/// An item as shown to a client: it was alive when it was read or written.
#[derive(Clone, Debug)]
pub struct Item {
    /// Write time, lsn, ordinal.
    pub header: Header,
    /// The BSON body.
    pub body: Bytes,
}

/// An operation's result.
#[derive(Clone, Debug)]
pub struct OpDone {
    /// What happened.
    pub outcome: Outcome,
    /// The commit that wrote the item as it is after the operation, which its etag names; none if it is gone.
    pub lsn: Option<u64>,
    /// The item as it is after the operation; none if it is gone, or the client has it or wants it not.
    pub item: Option<Item>,
    /// What it cost.
    pub charge: f64,
}
