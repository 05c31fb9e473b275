//! What can go wrong below the verbs.

use lapsedb_kv::{CommitError, EngineError};
use lapsedb_record::Corrupt;

/// A failure of the store, by what the caller should do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store has changed since it was read: run the verb again.
    #[error("the store changed meanwhile")]
    Retry,
    /// Stored bytes are damaged: report it, serve nothing.
    #[error("stored data is damaged: {0}")]
    Corrupt(String),
    /// The engine cannot do it now.
    #[error("the engine failed: {0}")]
    Engine(String),
    /// The disk has no room for more; reading and removing go on.
    #[error("the disk is full: {0}")]
    NoSpace(String),
    /// One write is larger than the engine takes.
    #[error("{0}")]
    TooLarge(String),
    /// The outcome of a commit is not known.
    #[error("it is not known whether a commit was made: {0}")]
    Unknown(String),
}

/// The store's result.
pub type Result<T> = std::result::Result<T, StoreError>;

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> StoreError {
        match error {
            EngineError::Corrupt(text) => StoreError::Corrupt(text),
            EngineError::NoSpace(text) => StoreError::NoSpace(text),
            EngineError::TooLarge(text) => StoreError::TooLarge(text),
            other => StoreError::Engine(other.to_string()),
        }
    }
}

impl From<Corrupt> for StoreError {
    fn from(error: Corrupt) -> StoreError {
        StoreError::Corrupt(error.to_string())
    }
}

impl From<lapsedb_value::bson::BsonError> for StoreError {
    fn from(error: lapsedb_value::bson::BsonError) -> StoreError {
        StoreError::Corrupt(error.to_string())
    }
}

impl From<CommitError> for StoreError {
    fn from(error: CommitError) -> StoreError {
        match error {
            CommitError::Conflict | CommitError::TooLate | CommitError::Retryable(_) => {
                StoreError::Retry
            }
            CommitError::Unknown(error) => StoreError::Unknown(error.to_string()),
            CommitError::Failed(error) => error.into(),
        }
    }
}
