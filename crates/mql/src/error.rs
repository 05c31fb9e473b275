//! What is wrong with a filter, an update or a pipeline, in the numbers that drivers know.

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

impl MqlError {
    /// A refusal with a code.
    pub fn new(code: i32, message: impl Into<String>) -> MqlError {
        MqlError {
            code,
            message: message.into(),
        }
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

impl std::fmt::Display for MqlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for MqlError {}
