//! Where in the query text something stands.

/// A stretch of the query text, in UTF-16 code units, as the clients count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first unit.
    pub start: u32,
    /// The first unit after it.
    pub end: u32,
}

impl Span {
    /// The stretch from the start of this one to the end of the other.
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start,
            end: other.end.max(self.start),
        }
    }
}
