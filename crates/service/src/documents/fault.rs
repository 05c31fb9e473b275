//! What the verbs on documents answer when they do not succeed.
//!
//! Clients of this language match on numbers, so what the language itself refuses carries one; everything else is one of
//! the kinds that all verbs share, and the door says which number it is.

use lapsedb_mql::MqlError;
use lapsedb_store::StoreError;
use lapsedb_value::Object;
use lapsedb_value::budget::Stop;

use crate::error::{Error, Kind};

/// A failure.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The language refuses it.
    Said {
        /// The number clients match on.
        code: i32,
        /// What was wrong, where, and what is allowed.
        message: String,
        /// Further members of the answer, such as the key that is taken.
        info: Object,
    },
    /// It failed as any verb may.
    Other(Error),
}

/// A verb's result.
pub type Result<T> = std::result::Result<T, Fault>;

impl Fault {
    /// A refusal with a number.
    #[must_use]
    pub fn new(code: i32, message: impl Into<String>) -> Fault {
        Fault::Said {
            code,
            message: message.into(),
            info: Object::new(),
        }
    }

    /// A refusal with a number and more to say.
    #[must_use]
    pub fn with(code: i32, message: impl Into<String>, info: Object) -> Fault {
        Fault::Said {
            code,
            message: message.into(),
            info,
        }
    }

    /// Not a failure yet: the store has changed, and the statement is to be decided anew.
    pub(crate) fn again() -> Fault {
        Fault::Other(crate::service::always_slower())
    }

    /// Whether the statement is to be decided anew.
    pub(crate) fn is_again(&self) -> bool {
        match self {
            Fault::Said { .. } => false,
            Fault::Other(error) => matches!(error.kind, Kind::RetryWith),
        }
    }

    /// Whether what failed may have been done all the same.
    pub(crate) fn is_unknown(&self) -> bool {
        match self {
            Fault::Said { .. } => false,
            Fault::Other(error) => matches!(error.kind, Kind::OutcomeUnknown),
        }
    }

    /// The number, if the language refused it.
    #[must_use]
    pub const fn code(&self) -> Option<i32> {
        match self {
            Fault::Said { code, .. } => Some(*code),
            Fault::Other(_) => None,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Other(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Other(error.into())
    }
}

impl From<lapsedb_value::bson::BsonError> for Fault {
    fn from(error: lapsedb_value::bson::BsonError) -> Fault {
        Fault::Other(StoreError::from(error).into())
    }
}

impl From<Stop> for Fault {
    fn from(stop: Stop) -> Fault {
        MqlError::from(stop).into()
    }
}

impl From<MqlError> for Fault {
    fn from(error: MqlError) -> Fault {
        Fault::new(error.code, error.message)
    }
}

/// The numbers that the verbs themselves use; those of the language's own parts come with its refusals.
pub mod code {
    #![allow(missing_docs, reason = "the names are those of the published list")]
    pub const INTERNAL_ERROR: i32 = 1;
    pub const BAD_VALUE: i32 = 2;
    pub const GRAPH_CONTAINS_CYCLE: i32 = 5;
    pub const FAILED_TO_PARSE: i32 = 9;
    pub const USER_NOT_FOUND: i32 = 11;
    pub const UNAUTHORIZED: i32 = 13;
    pub const TYPE_MISMATCH: i32 = 14;
    pub const OVERFLOW: i32 = 15;
    pub const INVALID_LENGTH: i32 = 16;
    pub const ILLEGAL_OPERATION: i32 = 20;
    pub const NAMESPACE_NOT_FOUND: i32 = 26;
    pub const INDEX_NOT_FOUND: i32 = 27;
    pub const ROLE_NOT_FOUND: i32 = 31;
    pub const CURSOR_NOT_FOUND: i32 = 43;
    pub const NAMESPACE_EXISTS: i32 = 48;
    pub const INVALID_ROLE_MODIFICATION: i32 = 49;
    pub const MAX_TIME_MS_EXPIRED: i32 = 50;
    pub const INTERRUPTED: i32 = 11_601;
    pub const DOLLAR_PREFIXED_FIELD_NAME: i32 = 52;
    pub const INVALID_ID_FIELD: i32 = 53;
    pub const IMMUTABLE_FIELD: i32 = 66;
    pub const CANNOT_CREATE_INDEX: i32 = 67;
    pub const INVALID_OPTIONS: i32 = 72;
    pub const INVALID_NAMESPACE: i32 = 73;
    pub const INDEX_OPTIONS_CONFLICT: i32 = 85;
    pub const INDEX_KEY_SPECS_CONFLICT: i32 = 86;
    pub const LOCK_TIMEOUT: i32 = 24;
    pub const WRITE_CONCERN_FAILED: i32 = 64;
    pub const WRITE_CONFLICT: i32 = 112;
    pub const COMMAND_NOT_SUPPORTED: i32 = 115;
    pub const CONFLICTING_OPERATION_IN_PROGRESS: i32 = 117;
    pub const DOCUMENT_VALIDATION_FAILURE: i32 = 121;
    pub const VIEW_DEPTH_LIMIT_EXCEEDED: i32 = 165;
    pub const COMMAND_NOT_SUPPORTED_ON_VIEW: i32 = 166;
    pub const OPTION_NOT_SUPPORTED_ON_VIEW: i32 = 167;
    pub const INVALID_PIPELINE_OPERATOR: i32 = 168;
    pub const CANNOT_INDEX_PARALLEL_ARRAYS: i32 = 171;
    pub const COMMAND_FAILED: i32 = 125;
    pub const INCOMPLETE_TRANSACTION_HISTORY: i32 = 217;
    pub const TRANSACTION_TOO_OLD: i32 = 225;
    pub const SNAPSHOT_TOO_OLD: i32 = 239;
    pub const SNAPSHOT_UNAVAILABLE: i32 = 246;
    pub const TRANSACTION_TOO_LARGE: i32 = 257;
    pub const TOO_MANY_SESSIONS: i32 = 261;
    pub const NO_SUCH_TRANSACTION: i32 = 251;
    pub const TRANSACTION_COMMITTED: i32 = 256;
    pub const NOT_SUPPORTED_IN_TRANSACTION: i32 = 263;
    pub const NO_QUERY_EXECUTION_PLANS: i32 = 291;
    pub const MEMORY_LIMIT: i32 = 292;
    pub const BSON_OBJECT_TOO_LARGE: i32 = 10_334;
    pub const DUPLICATE_KEY: i32 = 11_000;
    pub const DATABASE_DIFFER_CASE: i32 = 13_297;
    pub const AMBIGUOUS_INDEX_PATH: i32 = 16_746;
    pub const ROLE_EXISTS: i32 = 51_002;
    pub const USER_EXISTS: i32 = 51_003;
}
