//! What is wrong with a filter, an update or a pipeline, in the numbers that drivers know.

use lapsedb_value::budget::Stop;

/// Code of a request that would hold too many bytes.
pub const EXCEEDED_MEMORY_LIMIT: i32 = 146;
/// Code of a request whose time is up.
pub const MAX_TIME_MS_EXPIRED: i32 = 50;
/// The server could not do it in time; drivers send reads again that fail so.
pub const EXCEEDED_TIME_LIMIT: i32 = 262;
/// Code of a request that somebody ended.
pub const INTERRUPTED: i32 = 11_601;
/// Code of a request that ends because the server stops.
pub const INTERRUPTED_AT_SHUTDOWN: i32 = 11_600;

/// A refusal: the code clients match on, and the text for the person who reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MqlError {
    /// MongoDB's number for it.
    pub code: i32,
    /// What was wrong, where, and what is allowed.
    pub message: String,
}

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, MqlError>;

/// Bytes of a message at most: some show a value, which may be large.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

impl MqlError {
    /// A refusal with a code.
    pub fn new(code: i32, message: impl Into<String>) -> MqlError {
        let mut message = message.into();
        if message.len() > MESSAGE_BYTES_MAX {
            message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
            message.shrink_to_fit();
            message.push('…');
        }
        MqlError { code, message }
    }

    /// Code 2, BadValue: an operator's argument cannot be used.
    pub fn bad_value(message: impl Into<String>) -> MqlError {
        MqlError::new(2, message)
    }

    /// Code 9, FailedToParse: the text is not of the language.
    pub fn failed_to_parse(message: impl Into<String>) -> MqlError {
        MqlError::new(9, message)
    }

    /// Code 14, TypeMismatch: a value has another type than the operator needs.
    pub fn type_mismatch(message: impl Into<String>) -> MqlError {
        MqlError::new(14, message)
    }
}

impl From<Stop> for MqlError {
    fn from(stop: Stop) -> MqlError {
        let code = match stop {
            Stop::Memory { .. } | Stop::Account { .. } => EXCEEDED_MEMORY_LIMIT,
            Stop::Steps { .. } | Stop::Time => MAX_TIME_MS_EXPIRED,
            Stop::Busy { .. } => EXCEEDED_TIME_LIMIT,
            Stop::Interrupted => INTERRUPTED,
            Stop::Shutdown => INTERRUPTED_AT_SHUTDOWN,
        };
        MqlError::new(code, stop.to_string())
    }
}

impl std::fmt::Display for MqlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for MqlError {}
