//! Documents: the verbs of the Mongo door. `docs/decisions/0010-mongo-documents.md` says how they lie in the store.

mod aggregate;
mod convert;
mod count;
mod counted;
mod create;
pub(crate) mod dateless;
mod delete;
mod distinct;
mod drop;
mod explain;
pub mod fault;
mod find;
mod find_and_modify;
pub(crate) mod foreign;
pub mod id;
mod incoming;
pub(crate) mod indexes;
mod insert;
pub(crate) mod kept;
pub(crate) mod language;
mod listing;
pub(crate) mod look;
pub(crate) mod make;
mod members;
mod modify;
pub mod namespace;
mod needed;
mod object_id;
pub(crate) mod other_door;
mod partial;
pub(crate) mod plan;
mod pour;
mod prepare;
mod profile;
mod provision;
mod rename;
mod rights;
pub(crate) mod rules;
mod scan;
mod search;
pub mod shell;
mod sorted;
mod sources;
mod state;
mod stats;
mod ttl_monitor;
mod unfinished;
mod update;
mod validate;
pub(crate) mod views;
mod walk;
pub(crate) mod work;
pub(crate) mod writable;
pub(crate) mod writing;

pub use aggregate::{Aggregate, aggregate};
pub use convert::convert_to_capped;
pub use count::{Count, count};
pub use create::{CREATE_OPTIONS, create};
pub use delete::{Delete, delete};
pub use distinct::{Distinct, distinct};
pub use drop::{Dropped, drop_collection, drop_database};
pub use explain::{Explains, explain, explain_pipeline};
pub use fault::{Fault, Result};
pub use find::{Find, find};
pub use find_and_modify::{FindAndModify, Modified, clash, find_and_modify};
pub use incoming::{Incoming, RawDocument, read_all};
pub use indexes::{
    ChangedIndex, CreatedIndexes, IndexChange, WhichIndexes, change_index, create_indexes,
    drop_indexes, list_indexes,
};
pub use insert::{Insert, insert};
pub use language::{Terms, matches};
pub use lapsedb_mql::stages::{no_search, stage_names};
pub use listing::{
    DatabaseStats, ListedCollection, ListedDatabase, Listing, database_stats, list_collections,
    list_databases,
};
pub use look::exists;
pub use make::make_plain;
pub use modify::{MODIFY_OPTIONS, modify};
pub use namespace::Namespace;
pub use object_id::object_id;
pub use plan::Hint;
pub use profile::{has_profile, make_profile, record_profile};
pub use provision::{Making, Provisioned, provision, provisioned};
pub use rename::rename;
pub use rights::{Needs, knows};
pub use state::State;
pub use stats::collection_stats;
pub use update::{Change, update};
pub use validate::{Validated, validate};
pub use views::{change_view, is_view};
pub use work::{Gone, Work};
pub use writing::{WriteFault, Wrote};

pub(crate) use aggregate::{Recipe, is_enough, running};
pub(crate) use look::Look;
pub(crate) use needed::Needed;
pub(crate) use partial::partial_filters;
pub(crate) use unfinished::Unfinished;
pub(crate) use walk::{Row, STEP_ROWS_OF_ALL, Walk};
pub(crate) use writing::Writing;

/// Bytes of a document at most.
pub const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Documents of a first batch when the client does not say.
pub const FIRST_BATCH_DOCUMENTS: usize = 101;
/// Writes of one command at most.
pub const WRITES_MAX: usize = 100_000;
/// Levels of nesting in a document at most.
pub const DEPTH_MAX: usize = 180;
