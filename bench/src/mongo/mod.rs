//! The Mongo door under load, next to a real mongod where there is one.

mod bson;
mod client;
mod document;
mod mongod;
mod sender;
mod target;

pub use document::Document;
pub use mongod::find as find_mongod;
pub use target::Target;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Read a document by its `_id`, as drivers ask for it.
    Finds,
    /// The same without a session and a cluster time.
    PlainFinds,
    /// Insert a document, acknowledged after it is in the journal.
    Inserts,
    /// The same as a write that may be sent again, which drivers make by default.
    RetryableInserts,
    /// Add one to a field of a document by its `_id`.
    Updates,
    /// Sum up the documents that an index names.
    Aggregates,
    /// Insert a thousand documents in one command.
    Bulks,
    /// Read the whole collection through a cursor.
    Scans,
    /// Count all documents, as drivers do.
    Counts,
    /// The first ten in the order of a field without an index.
    Sorts,
}

impl Load {
    /// All of them, as the command line and as the table calls them.
    pub const ALL: [(Load, &str, &str); 10] = [
        (Load::Finds, "finds", "find by _id"),
        (Load::PlainFinds, "plain-finds", "find by _id, no session"),
        (Load::Inserts, "inserts", "insert, j: true"),
        (
            Load::RetryableInserts,
            "retryable-inserts",
            "retryable insert, j: true",
        ),
        (Load::Updates, "updates", "$inc by _id, j: true"),
        (Load::Aggregates, "aggregates", "$match and $group by index"),
        (Load::Bulks, "bulks", "insert of 1000, j: true"),
        (Load::Scans, "scans", "cursor over all"),
        (Load::Counts, "counts", "countDocuments({})"),
        (Load::Sorts, "sorts", "sort and limit 10, no index"),
    ];

    /// What is measured if nothing else is asked for.
    pub const DEFAULT: [Load; 8] = [
        Load::Finds,
        Load::Inserts,
        Load::Updates,
        Load::Aggregates,
        Load::Bulks,
        Load::Scans,
        Load::Counts,
        Load::Sorts,
    ];

    /// As the table calls it.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(load, ..)| *load == self);
        found.map_or("", |(_, _, name)| name)
    }

    /// Whether one connection already keeps a server busy, so that more would only wait for each other.
    pub fn is_heavy(self) -> bool {
        match self {
            Load::Finds
            | Load::PlainFinds
            | Load::Inserts
            | Load::RetryableInserts
            | Load::Updates
            | Load::Aggregates => false,
            Load::Bulks | Load::Scans | Load::Counts | Load::Sorts => true,
        }
    }
}
