//! What a verb answers when it does not succeed: one coarse list of kinds, by what the caller should do.

use lapsedb_store::StoreError;

use crate::charge;
use crate::limits::QUERY_MILLIS_MAX;

/// A kind of failure. Each door says what it looks like on its wire; a new kind does not compile until both do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request is wrong in itself.
    BadRequest,
    /// The partition key in the document is not the one the request named.
    PartitionKeyMismatch,
    /// The request was meant for a collection that has been replaced by another of the same name.
    CollectionChanged,
    /// The query text is wrong: code and place.
    BadQuery {
        /// The service's code, such as `SC1001`.
        code: &'static str,
        /// First character of the offending text.
        start: usize,
        /// First character behind it.
        end: usize,
    },
    /// Nobody we know asked.
    Unauthorized,
    /// Who asked may not do this.
    Forbidden,
    /// The addressed thing is not there.
    NotFound,
    /// The item that was to be read is not there, which the service's gateway says in words of its own.
    ItemNotFound,
    /// What the addressed thing would belong to is not there.
    OwnerNotFound,
    /// The client has seen more of the log than there is here.
    SessionNotAvailable,
    /// It is there already, or a unique key is taken.
    Conflict,
    /// There is a database of that name already.
    DatabaseNameTaken,
    /// A condition of the request does not hold.
    PreconditionFailed,
    /// Larger than is allowed.
    TooLarge,
    /// The answer of a batch has no room for what the operation would show: it may be sent again in another batch.
    AnswerTooLarge,
    /// Over the provisioned throughput.
    Throttled {
        /// When to try again.
        retry_after_ms: u64,
    },
    /// The named partition key range does not exist.
    RangeGone,
    /// Another operation of the same batch failed.
    FailedDependency,
    /// Other writers were always faster.
    RetryWith,
    /// The address exists, but not for this method.
    MethodNotAllowed,
    /// We do not do this (yet).
    NotImplemented,
    /// Our fault, or damaged data.
    Internal,
    /// The engine cannot take it now.
    Unavailable,
    /// The disk has no room for more.
    NoSpace,
    /// The engine failed while it wrote: the write may have been made.
    OutcomeUnknown,
    /// All requests together hold as much memory as they may, and this one was stopped.
    NoMemory,
    /// It took longer than is allowed.
    TimedOut,
}

/// A failure.
#[derive(Clone, Debug)]
pub struct Error {
    /// What the caller should do.
    pub kind: Kind,
    /// What was wrong, where, and what is allowed.
    pub message: String,
    /// The request units it cost all the same, if the verb says; see [`Error::cost`].
    pub charge: Option<f64>,
    /// How far the log had come, where clients follow their sessions by it.
    pub lsn: Option<u64>,
}

/// A verb's result.
pub type Result<T> = std::result::Result<T, Error>;

impl std::fmt::Display for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl Error {
    /// A failure of a kind with a message.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            charge: None,
            lsn: None,
        }
    }

    /// The request is wrong in itself.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Error {
        Error::new(Kind::BadRequest, message)
    }

    /// The addressed thing is not there.
    #[must_use]
    pub fn not_found() -> Error {
        Error::new(
            Kind::NotFound,
            "Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found",
        )
    }

    /// The item that was to be read is not there. A write that finds none is [`Error::not_found`], as in the service.
    #[must_use]
    pub fn item_not_found() -> Error {
        Error::new(
            Kind::ItemNotFound,
            "Entity with the specified id does not exist in the system. More info: https://aka.ms/cosmosdb-tsg-not-found",
        )
    }

    /// The database or collection of the address is not there.
    #[must_use]
    pub fn owner_not_found() -> Error {
        Error::new(Kind::OwnerNotFound, "Owner resource does not exist")
    }

    /// The log has not come as far as the client's session.
    #[must_use]
    pub fn session_not_available() -> Error {
        Error::new(
            Kind::SessionNotAvailable,
            "The read session is not available for the input session token.",
        )
    }

    /// Something of that name is there already.
    #[must_use]
    pub fn conflict() -> Error {
        Error::new(
            Kind::Conflict,
            "Entity with the specified id already exists in the system., ResourceType: Document",
        )
    }

    /// A condition of the request does not hold.
    #[must_use]
    pub fn precondition_failed() -> Error {
        Error::new(
            Kind::PreconditionFailed,
            "One of the specified pre-condition is not met. Learn more: https://aka.ms/CosmosDB/sql/errors/precondition-failed",
        )
    }

    /// Who asked may not do this.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Error {
        Error::new(Kind::Forbidden, message)
    }

    /// The request units it cost: those that the verb says, or the usual figure of a failed request.
    #[must_use]
    pub fn cost(&self) -> f64 {
        self.charge.unwrap_or(charge::FAILED)
    }

    /// The same failure with how far the log had come.
    #[must_use]
    pub const fn at(mut self, lsn: u64) -> Error {
        self.lsn = Some(lsn);
        self
    }

    /// The same failure with its cost.
    #[must_use]
    pub fn charged(mut self, charge: f64) -> Error {
        self.charge = Some(charge);
        self
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        match error {
            StoreError::Retry => Error::new(
                Kind::RetryWith,
                "Other writers were always faster; try again.",
            ),
            StoreError::Corrupt(text) => {
                Error::new(Kind::Internal, format!("Stored data is damaged: {text}"))
            }
            StoreError::Engine(text) => Error::new(
                Kind::Unavailable,
                format!("The storage engine failed: {text}"),
            ),
            StoreError::TooLarge(text) => Error::new(
                Kind::TooLarge,
                format!("The write is too large: {text}. Write less at once."),
            ),
            StoreError::NoSpace(text) => Error::new(
                Kind::NoSpace,
                format!("The disk of the server is full; reads and deletes go on: {text}"),
            ),
            StoreError::Unknown(text) => Error::new(
                Kind::OutcomeUnknown,
                format!(
                    "It is not known whether the write was made; read before you send it again. The storage engine failed: {text}"
                ),
            ),
        }
    }
}

impl Error {
    /// A query that must see everything before its first row has not seen it in time.
    pub(crate) fn query_timed_out() -> Error {
        Error::new(
            Kind::TimedOut,
            format!(
                "The query took longer than {QUERY_MILLIS_MAX} ms; a filter on an indexed path makes it read less."
            ),
        )
    }
}

impl From<lapsedb_sql::SqlError> for Error {
    fn from(error: lapsedb_sql::SqlError) -> Error {
        if error.code == lapsedb_sql::error::INTERRUPTED {
            return Error::query_timed_out();
        }
        if error.code == lapsedb_sql::error::NO_MEMORY {
            return Error::new(Kind::NoMemory, error.message);
        }
        if error.code == lapsedb_sql::error::STOPPED {
            return Error::new(Kind::Unavailable, error.message);
        }
        if error.code.is_empty() {
            return Error::bad_request(error.message);
        }
        Error::new(
            Kind::BadQuery {
                code: error.code,
                start: error.start,
                end: error.end,
            },
            error.message,
        )
    }
}
