//! The verbs: all a door may call. Knows no wire.

pub mod access;
mod attempts;
mod background;
mod caught;
mod changes;
pub mod charge;
pub mod client_encryption_keys;
pub mod collections;
pub mod continuation;
mod counting;
mod counts;
pub mod ctx;
pub mod cursors;
pub mod databases;
pub mod documents;
pub mod error;
pub mod feed;
mod figures;
pub mod items;
pub mod limits;
pub mod logins;
mod maintain;
mod named;
pub mod names;
pub mod offers;
pub mod operations;
mod purge;
pub mod remote;
pub mod reply;
pub mod resource;
pub mod scripts;
mod service;
pub mod sessions;
mod sweep;
pub mod throughput;
pub mod token;
pub mod ttl;
mod turns;
pub mod users;

pub use access::Who;
pub use background::{Work, WorkState};
pub use caught::{Panicked, caught};
pub use counting::{COUNTED_BYTES_MIN, Counting};
pub use counts::Counts;
pub use ctx::{Ctx, Scope};
pub use error::{Error, Kind, Result};
pub use figures::Figure;
pub use lapsedb_record::{Clock, Header, Millis, Secs};
pub use lapsedb_store::keys::address_of;
pub use lapsedb_store::partition_key::{EpkRange, PartitionKey};
pub use lapsedb_store::{
    Collection, Database, Event, EventImage, EventKind, LiveItem, OpenError, Place, verify,
};
pub use maintain::Gauges;
pub use service::{Config, REQUEST_TIME_MAX, Service};
pub use turns::{EVALUATIONS_MAX, in_turns, out_of_the_way};
