//! Collections (containers): made, read, listed, replaced, deleted; their ranges and their conflicts.

mod client_encryption;
pub(crate) mod computed;
mod conflicts;
mod create;
pub mod definition;
mod delete;
pub(crate) mod index;
mod list;
mod ranges;
mod read;
mod replace;
pub(crate) mod search;
mod spatial;

use lapsedb_record::{Secs, Setting};

pub use conflicts::{conflict, conflicts};
pub use create::create;
pub use definition::Definition;
pub use delete::delete;
pub use list::list;
pub use ranges::{Ranges, ranges};
pub use read::{CollectionRead, CollectionUsage, read};
pub use replace::replace;

use crate::error::Error;

impl From<definition::Invalid> for Error {
    fn from(invalid: definition::Invalid) -> Error {
        Error::bad_request(invalid.0)
    }
}

/// What a checked default TTL means.
pub(crate) fn setting_of(default_ttl: Option<i64>) -> Setting {
    match default_ttl {
        None => Setting::Off,
        // The only negative value a definition lets through is -1.
        Some(seconds) => u64::try_from(seconds)
            .map_or(Setting::On, |seconds| Setting::OnWithDefault(Secs(seconds))),
    }
}
