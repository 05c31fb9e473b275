//! Paths into documents: `/a/b`, `/"a-b"/?`, `/tags/[]/name`.

use std::fmt;

use crate::{Str, Value};

/// One step into a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// Into the member of that name.
    Member(Str),
    /// Into every element of an array, written `[]`.
    Elements,
}

/// A way into a document; empty means the document itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Vec<Segment>);

/// What a path in an indexing policy ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Nothing: the path itself.
    Bare,
    /// `/?`: the scalar at the path.
    Scalar,
    /// `/*`: everything below the path.
    Subtree,
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    /// The text that was refused.
    pub text: String,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The path '{}' is not valid.", self.text)
    }
}

impl std::error::Error for PathError {}

impl Path {
    /// A path from its steps.
    pub fn new(segments: Vec<Segment>) -> Path {
        Path(segments)
    }

    /// Reads `/a/b`, `/"a-b"`, `/tags/[]/name`; a final `/?` is allowed and means nothing.
    pub fn parse_pointer(text: &str) -> Result<Path, PathError> {
        match Path::parse_policy(text)? {
            (path, End::Bare | End::Scalar) => Ok(path),
            (_, End::Subtree) => Err(PathError { text: text.to_owned() }),
        }
    }

    /// Reads a path of an indexing policy, which may end in `/?` or `/*`.
    pub fn parse_policy(text: &str) -> Result<(Path, End), PathError> {
        Err(PathError { text: text.to_owned() })
    }

    /// The steps in order.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The value at the path; [`Value::Undefined`] if there is none, or if the path goes through
    /// `[]` and so means many.
    pub fn get<'a>(&self, root: &'a Value) -> &'a Value {
        let _ = root;
        Value::undefined()
    }

    /// Calls back with every value at the path, through all elements where the path says `[]`.
    pub fn visit<'a>(&self, root: &'a Value, each: &mut impl FnMut(&'a Value)) {
        let _ = (root, each);
    }
}
