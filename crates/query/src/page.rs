//! Where a page ends, as a text that outlives the server. The text begins with its version and with a mark of what it is a page of;
//! other versions and other marks are refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::plan::Track;

const VERSION: &str = "Q3~";

/// Where the next page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Rows that came before and were left out.
    pub skipped: u64,
    /// Rows that came before and were shown.
    pub emitted: u64,
    /// The place itself.
    pub place: Place,
}

/// A place between two rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before an item on a track, or behind so many rows of it.
    At {
        /// What the place is a place of.
        track: Track,
        /// The item.
        place: Vec<u8>,
        /// Rows of the item that have been shown or left out.
        rows: u32,
    },
    /// Behind the row with this key, in a result whose rows are sorted by their keys.
    After(Vec<u8>),
}

impl Position {
    /// The text for clients, with the mark of what the page is a page of.
    #[must_use]
    pub fn text(&self, mark: u32) -> String {
        let mut bytes = mark.to_be_bytes().to_vec();
        match &self.place {
            Place::At { track, place, rows } => {
                match track {
                    Track::Ordinal => bytes.push(b'o'),
                    Track::Items => bytes.push(b'i'),
                    Track::Index(index) => {
                        bytes.push(b'x');
                        bytes.extend_from_slice(&index.to_be_bytes());
                    }
                }
                bytes.extend_from_slice(&rows.to_be_bytes());
                self.push_counts(&mut bytes);
                bytes.extend_from_slice(place);
            }
            Place::After(key) => {
                bytes.push(b'k');
                self.push_counts(&mut bytes);
                bytes.extend_from_slice(key);
            }
        }
        format!("{VERSION}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Reads a text; none if it is not one of this version and with this mark.
    #[must_use]
    pub fn parse(text: &str, mark: u32) -> Option<Position> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(VERSION)?).ok()?;
        let mut rest = bytes.as_slice();
        if take_u32(&mut rest)? != mark {
            return None;
        }
        let (kind, mut rest) = rest.split_first()?;
        let track = match kind {
            b'o' => Some(Track::Ordinal),
            b'i' => Some(Track::Items),
            b'x' => Some(Track::Index(take_u64(&mut rest)?)),
            b'k' => None,
            _ => return None,
        };
        let rows = match track {
            Some(_) => take_u32(&mut rest)?,
            None => 0,
        };
        let skipped = take_u64(&mut rest)?;
        let emitted = take_u64(&mut rest)?;
        let place = match track {
            Some(track) => Place::At {
                track,
                place: rest.to_vec(),
                rows,
            },
            None => Place::After(rest.to_vec()),
        };
        Some(Position {
            skipped,
            emitted,
            place,
        })
    }

    fn push_counts(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.skipped.to_be_bytes());
        bytes.extend_from_slice(&self.emitted.to_be_bytes());
    }
}

fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_be_bytes(*number))
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_position_is_read_back() {
        let at = |track| Place::At {
            track,
            place: vec![0, 255, 7],
            rows: 3,
        };
        for place in [
            at(Track::Ordinal),
            at(Track::Items),
            at(Track::Index(u64::MAX)),
            Place::After(Vec::new()),
            Place::After(vec![1; 2000]),
        ] {
            let position = Position {
                skipped: 5,
                emitted: u64::MAX,
                place,
            };
            let text = position.text(7);
            assert_eq!(Position::parse(&text, 8), None);
            assert_eq!(Position::parse(&text, 7), Some(position));
        }
    }

    #[test]
    fn foreign_texts_are_refused() {
        for text in [
            "",
            "Q3~",
            "Q1~R5",
            "Q1~I0~0~0~00",
            "Q2~awAAAAAAAAAAAAAAAAAAAAE",
            "Q3~!",
            "Q3~AAAAAA",
            "Q3~AAAAAGs",
            "Q3~AAAAAHo",
            "Q4~AAAAAGsA",
            "{}",
        ] {
            assert_eq!(Position::parse(text, 0), None, "{text}");
        }
    }
}
