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

impl Segment {
    /// The name, if the step goes into a member.
    pub fn member(&self) -> Option<&str> {
        match self {
            Segment::Member(name) => Some(name),
            Segment::Elements => None,
        }
    }
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

/// Steps a path may have; as deep as documents may nest.
pub const SEGMENTS_MAX: usize = crate::json::DEPTH_CEILING;

impl Path {
    /// A path from its steps.
    pub fn new(segments: Vec<Segment>) -> Path {
        Path(segments)
    }

    /// Reads `/a/b`, `/"a-b"`, `/tags/[]/name`; a final `/?` is allowed and means nothing.
    pub fn parse_pointer(text: &str) -> Result<Path, PathError> {
        match Path::parse_policy(text)? {
            (path, End::Bare | End::Scalar) => Ok(path),
            (_, End::Subtree) => Err(PathError {
                text: text.to_owned(),
            }),
        }
    }

    /// Reads a path of an indexing policy, which may end in `/?` or `/*`.
    ///
    /// Inside quotes a backslash stands before a quote or a backslash that is meant literally.
    pub fn parse_policy(text: &str) -> Result<(Path, End), PathError> {
        split(text).ok_or_else(|| PathError {
            text: text.to_owned(),
        })
    }

    /// Reads an RFC 6901 pointer, as patch operations use it: `/a~1b/0/-`. Whether a step is a
    /// name or an index depends on the document, so the steps stay text; none at all is the root.
    pub fn parse_rfc6901(text: &str) -> Result<Vec<Str>, PathError> {
        let refused = || PathError {
            text: text.to_owned(),
        };
        let mut steps = text.split('/');
        if steps.next() != Some("") {
            return Err(refused());
        }
        let steps: Option<Vec<Str>> = steps.map(unescape_step).collect();
        steps
            .filter(|steps| steps.len() <= SEGMENTS_MAX)
            .ok_or_else(refused)
    }

    /// The steps in order.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The names in order, unless the path goes through `[]`.
    pub fn members(&self) -> Option<Vec<&str>> {
        self.0.iter().map(Segment::member).collect()
    }

    /// The value at the path; [`Value::Undefined`] if there is none, or if the path goes through
    /// `[]` and so means many.
    pub fn get<'a>(&self, root: &'a Value) -> &'a Value {
        self.0.iter().fold(root, |value, segment| match segment {
            Segment::Member(name) => value.get(name),
            Segment::Elements => Value::undefined(),
        })
    }

    /// Calls back with every value at the path, through all elements where the path says `[]`.
    /// What is absent is not called for.
    pub fn visit<'a>(&self, root: &'a Value, each: &mut impl FnMut(&'a Value)) {
        visit(&self.0, root, each);
    }
}

fn visit<'a>(segments: &[Segment], value: &'a Value, each: &mut impl FnMut(&'a Value)) {
    match segments {
        [] if value.is_undefined() => {}
        [] => each(value),
        [Segment::Member(name), rest @ ..] => match value.get(name) {
            Value::Undefined => {}
            member => visit(rest, member, each),
        },
        [Segment::Elements, rest @ ..] => {
            for element in value.as_array().unwrap_or_default() {
                visit(rest, element, each);
            }
        }
    }
}

fn split(text: &str) -> Option<(Path, End)> {
    let mut segments = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        rest = rest.strip_prefix('/')?;
        match rest {
            "?" => return Some((Path(segments), End::Scalar)),
            "*" => return Some((Path(segments), End::Subtree)),
            _ => {}
        }
        if segments.len() == SEGMENTS_MAX {
            return None;
        }
        let (segment, after) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted_name(&rest[1..], quote)?,
            _ => plain_segment(rest)?,
        };
        segments.push(segment);
        rest = after;
    }
    // A path has at least one step or says by its end that it means the whole document.
    (!segments.is_empty()).then_some((Path(segments), End::Bare))
}

fn plain_segment(text: &str) -> Option<(Segment, &str)> {
    let end = text.find('/').unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    match name {
        "" | "?" | "*" => None,
        "[]" => Some((Segment::Elements, after)),
        _ if name.contains('"') => None,
        _ => Some((Segment::Member(Str::new(name)), after)),
    }
}

/// A name up to its closing quote, single or double as the opening one, which is taken already.
fn quoted_name(text: &str, quote: char) -> Option<(Segment, &str)> {
    let mut name = Str::default();
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            _ if sign == quote => return Some((Segment::Member(name), &text[at + 1..])),
            '\\' => name.push(signs.next().map(|(_, literal)| literal)?),
            _ => name.push(sign),
        }
    }
    None
}

fn unescape_step(step: &str) -> Option<Str> {
    let mut plain = Str::with_capacity(step.len());
    let mut signs = step.chars();
    while let Some(sign) = signs.next() {
        plain.push(match sign {
            '~' => match signs.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            _ => sign,
        });
    }
    Some(plain)
}

impl fmt::Display for Path {
    /// The path as it is read; names are quoted where they have to be.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.0 {
            match segment {
                Segment::Elements => f.write_str("/[]")?,
                Segment::Member(name) if is_plain(name) => write!(f, "/{name}")?,
                Segment::Member(name) => {
                    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
                    write!(f, "/\"{escaped}\"")?;
                }
            }
        }
        Ok(())
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
