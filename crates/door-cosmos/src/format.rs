//! In which form a body goes back: JSON text, or Cosmos binary JSON if the client asks for it.
//!
//! A client knows binary JSON by its first byte, so nothing in the head of an answer names the format, and text is right for
//! whoever also takes text. What is asked for where is as the service has it: a list of supported formats counts for single items
//! and queries, the name of one format for feeds too. Errors are text, which clients read as such whatever they asked for.

use http::HeaderMap;
use lapsedb_value::json::{self, DEPTH_CEILING, Limits};
use lapsedb_value::{Value, cosmos_binary};

use crate::headers;

/// The form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON text.
    Text,
    /// Cosmos binary JSON.
    Binary,
}

/// What a body is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A single item.
    Item,
    /// Rows of a query.
    Rows,
    /// A feed of items or of changes.
    Feed,
}

/// Names of formats, as headers say them.
const TEXT: &str = "JsonText";
const BINARY: &str = "CosmosBinary";
const HYBRID_ROW: &str = "HybridRow";

/// All that are known.
pub const NAMES: [&str; 3] = [TEXT, BINARY, HYBRID_ROW];

impl Format {
    /// The format that a request asks for.
    #[must_use]
    pub fn wanted(headers: &HeaderMap, subject: Subject) -> Format {
        let named = headers.get(&headers::CONTENT_SERIALIZATION_FORMAT);
        let named = named.and_then(|value| value.to_str().ok()).map(str::trim);
        match (named, subject) {
            (Some(name), _) if name.eq_ignore_ascii_case(BINARY) => Format::Binary,
            (Some(name), _) if name.eq_ignore_ascii_case(TEXT) => Format::Text,
            (_, Subject::Item | Subject::Rows) if supports_binary(headers) => Format::Binary,
            (_, Subject::Item | Subject::Rows | Subject::Feed) => Format::Text,
        }
    }

    /// A body that has been written as text, in this format.
    #[must_use]
    pub fn of_text(self, text: Vec<u8>) -> Vec<u8> {
        const LIMITS: Limits = Limits {
            depth_max: DEPTH_CEILING,
            duplicates_refused: &[],
        };
        match self {
            Format::Text => text,
            Format::Binary => match json::parse(&text, &LIMITS) {
                Ok(value) => self.of_value(&value, text.len()),
                // Clients tell the formats apart by themselves.
                Err(_) => text,
            },
        }
    }

    /// A value in this format; about so many bytes.
    #[must_use]
    pub fn of_value(self, value: &Value, capacity: usize) -> Vec<u8> {
        match self {
            Format::Text => {
                let mut body = Vec::with_capacity(capacity);
                json::write(value, &mut body);
                body
            }
            Format::Binary => {
                let mut body = cosmos_binary::begin(capacity);
                cosmos_binary::write(value, &mut body);
                body
            }
        }
    }
}

/// Whether binary JSON is in the list of formats that the client supports. A list with a name that nobody knows says nothing.
fn supports_binary(headers: &HeaderMap) -> bool {
    let mut binary = false;
    for list in headers.get_all(&headers::SUPPORTED_SERIALIZATION_FORMATS) {
        let Ok(list) = list.to_str() else {
            return false;
        };
        for entry in list.split(',') {
            // What a client supports of a format beyond its first version follows a plus sign.
            let name = entry.split('+').next().unwrap_or_default().trim();
            if !NAMES.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                return false;
            }
            binary |= name.eq_ignore_ascii_case(BINARY);
        }
    }
    binary
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn wanted(name: HeaderName, value: &'static str) -> [Format; 3] {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        [Subject::Item, Subject::Rows, Subject::Feed]
            .map(|subject| Format::wanted(&headers, subject))
    }

    #[test]
    fn a_list_counts_for_items_and_queries() {
        for list in [
            "CosmosBinary",
            "COSMOSBINARY",
            "JsonText,CosmosBinary",
            "JsonText, CosmosBinary",
            "CosmosBinary, HybridRow",
            "JsonText, CosmosBinary, HybridRow",
            "CosmosBinary+UInt64,JsonText",
        ] {
            let formats = wanted(headers::SUPPORTED_SERIALIZATION_FORMATS, list);
            let expected = [Format::Binary, Format::Binary, Format::Text];
            assert_eq!(formats, expected, "{list}");
        }
    }

    #[test]
    fn a_list_that_is_not_understood_means_text() {
        for list in [
            "",
            "jsontext",
            "HybridRow",
            "Invalid value",
            ", ,",
            ",,",
            "JsonText CosmosBinary",
            ",JsonText|CosmosBinary",
            "CosmosBinary, ",
            "CosmosBinary, Json",
        ] {
            let formats = wanted(headers::SUPPORTED_SERIALIZATION_FORMATS, list);
            assert_eq!(formats, [Format::Text; 3], "{list}");
        }
    }

    #[test]
    fn the_name_of_a_format_counts_everywhere_and_before_a_list() {
        let named = headers::CONTENT_SERIALIZATION_FORMAT;
        assert_eq!(wanted(named.clone(), "cosmosbinary"), [Format::Binary; 3]);
        assert_eq!(wanted(named.clone(), "JsonText"), [Format::Text; 3]);
        assert_eq!(wanted(named.clone(), "HybridRow"), [Format::Text; 3]);
        let mut headers = HeaderMap::new();
        headers.insert(named, HeaderValue::from_static(TEXT));
        let list = HeaderValue::from_static(BINARY);
        headers.insert(headers::SUPPORTED_SERIALIZATION_FORMATS, list);
        assert_eq!(Format::wanted(&headers, Subject::Rows), Format::Text);
    }
}
