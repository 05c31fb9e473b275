//! Where a stream may be resumed: the place of an event in the log, as text.

use lapsedb_store::EventPlace;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::shell;

/// Code of a token that is none of ours.
const INVALID_RESUME_TOKEN: i32 = 260;
/// Code of a token without its text.
const NO_DATA: i32 = 40_647;
/// Code of a token whose text is empty.
const EMPTY: i32 = 40_649;
/// What a token of an ended stream begins with.
const ENDED: &str = "FF";
const GOING: &str = "82";
/// How long the text is.
const DIGITS: usize = 22;
/// How long it is where it is of a part of an event.
const PART_DIGITS: usize = 26;

/// What a token leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The place of the event.
    pub(crate) place: EventPlace,
    /// Whether the stream had ended there.
    pub(crate) ended: bool,
    /// Which part of the event it is of, if that was split.
    pub(crate) part: Option<u16>,
}

/// The token of a place.
pub(crate) fn write(place: EventPlace, ended: bool) -> Object {
    let kind = if ended { ENDED } else { GOING };
    let mut token = Object::with_capacity(1);
    token.push(
        "_data",
        format!("{kind}{:016X}{:04X}", place.lsn, place.index),
    );
    token
}

/// The token of a part of the event at a place.
pub(crate) fn write_part(place: EventPlace, part: u16) -> Object {
    let mut token = Object::with_capacity(1);
    token.push(
        "_data",
        format!("{GOING}{:016X}{:04X}{part:04X}", place.lsn, place.index),
    );
    token
}

/// Where a token leads to.
///
/// # Errors
/// When it is none of ours.
pub(crate) fn read(token: &Object) -> Result<Token> {
    let bad = || {
        Fault::new(
            INVALID_RESUME_TOKEN,
            "The resume token is not one that this server has given",
        )
    };
    let Some(data) = token.get("_data").and_then(Value::as_str) else {
        return Err(Fault::new(
            NO_DATA,
            format!(
                "Bad resume token: _data of missing or of wrong type. Expected string, got {}",
                shell::text(&Value::Object(token.clone()))
            ),
        ));
    };
    if data.is_empty() {
        return Err(Fault::new(EMPTY, "invalid empty resume token"));
    }
    if data.len() % 2 != 0 || !data.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "resume token string was not a valid hex string",
        ));
    }
    let number = |range: std::ops::Range<usize>| {
        let digits = data.get(range).ok_or_else(bad)?;
        u64::from_str_radix(digits, 16).map_err(|_| bad())
    };
    if data.len() != DIGITS && data.len() != PART_DIGITS {
        return Err(bad());
    }
    let ended = match data.get(..2) {
        Some(ENDED) => true,
        Some(GOING) => false,
        Some(_) | None => return Err(bad()),
    };
    let place = EventPlace {
        lsn: number(2..18)?,
        index: u16::try_from(number(18..22)?).map_err(|_| bad())?,
    };
    let part = match data.len() {
        PART_DIGITS => Some(u16::try_from(number(22..26)?).map_err(|_| bad())?),
        _ => None,
    };
    if part.is_some() && ended {
        return Err(bad());
    }
    Ok(Token { place, ended, part })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn tokens_lead_back_to_their_place() {
        for place in [
            EventPlace { lsn: 0, index: 0 },
            EventPlace {
                lsn: u64::MAX,
                index: u16::MAX,
            },
            EventPlace { lsn: 77, index: 3 },
        ] {
            for ended in [false, true] {
                let part = None;
                let token = Token { place, ended, part };
                assert_eq!(read(&write(place, ended)).unwrap(), token);
            }
            let read = read(&write_part(place, 3)).unwrap();
            assert_eq!((read.place, read.ended, read.part), (place, false, Some(3)));
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for (data, code) in [
            ("82nonsense", 9),
            ("", 40_649),
            ("8200", 260),
            ("7700000000000000000000", 260),
        ] {
            let mut token = Object::new();
            token.push("_data", data);
            assert_eq!(read(&token).unwrap_err().code(), Some(code), "{data}");
        }
        assert_eq!(read(&Object::new()).unwrap_err().code(), Some(40_647));
    }

    #[test]
    fn later_places_have_greater_tokens() {
        let text = |lsn, index| match write(EventPlace { lsn, index }, false).get("_data") {
            Some(Value::String(text)) => text.clone(),
            _ => panic!("no text"),
        };
        assert!(text(1, 5) < text(2, 0) && text(2, 0) < text(2, 1) && text(255, 0) < text(256, 0));
    }
}
