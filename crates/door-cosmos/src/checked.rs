//! Headers whose values are checked on every request, used or not: what a client gets wrong it is told, not left to find out.

use http::HeaderMap;
use lapsedb_service::{Error, Result};

use crate::{format, headers};

/// The oldest API version that is understood.
const VERSION_MIN: &str = "2015-12-16";

/// What a header may say. All ignore case; an empty header says nothing, as to the service, but a version must be there.
#[derive(Clone, Copy)]
enum Allowed {
    /// One of these.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number, 0 or more.
    Count,
    /// A consistency level that is not stronger than the account's.
    Consistency,
    /// The date of an API version.
    Version,
}

/// The headers that are checked, all of which begin with `x-ms-`, and what each may say.
macro_rules! checked {
    ($($($name:literal)|+ => $allowed:expr;)*) => {
        /// What a header may say, if that is checked here.
        fn allowed(name: &str) -> Option<Allowed> {
            match name.strip_prefix("x-ms-")? {
                $($($name)|+ => Some($allowed),)*
                _ => None,
            }
        }

        /// The headers that are checked.
        #[cfg(test)]
        const CHECKED: &[&str] = &[$($(concat!("x-ms-", $name),)+)*];
    };
}

checked! {
    "version" => Allowed::Version;
    "consistency-level" => Allowed::Consistency;
    "indexing-directive" => Allowed::OneOf(&["Default", "Include", "Exclude"]);
    "documentdb-content-serialization-format" => Allowed::OneOf(&format::NAMES);
    "documentdb-responsecontinuationtokenlimitinkb" => Allowed::Count;
    "cosmos-batch-atomic"
    | "cosmos-batch-continue-on-error"
    | "cosmos-batch-ordered"
    | "cosmos-is-batch-request"
    | "cosmos-is-query-plan-request"
    | "cosmos-migrate-offer-to-autopilot"
    | "cosmos-migrate-offer-to-manual-throughput"
    | "cosmos-populate-content-response-on-write"
    | "cosmos-populateindexmetrics"
    | "cosmos-populateindexmetrics-v2"
    | "documentdb-is-upsert"
    | "documentdb-isquery"
    | "documentdb-populatepartitionstatistics"
    | "documentdb-populatequerymetrics"
    | "documentdb-populatequotainfo"
    | "documentdb-query-emit-traces"
    | "documentdb-query-enable-scan"
    | "documentdb-query-enable-low-precision-order-by"
    | "documentdb-query-enablecrosspartition"
    | "documentdb-query-iscontinuationexpected"
    | "documentdb-query-parallelizecrosspartitionquery"
    | "documentdb-script-enable-logging"
    | "exclude-system-properties" => Allowed::Flag;
}

/// Refuses a request with a header that says what is not allowed or says it more than once, or without an API version.
///
/// # Errors
/// When there is one.
pub fn check(headers: &HeaderMap) -> Result<()> {
    if !headers.contains_key(headers::VERSION) {
        return Err(Error::bad_request(
            "The required header x-ms-version is missing.",
        ));
    }
    for name in headers.keys() {
        if let Some(allowed) = allowed(name.as_str())
            && let Some(value) = headers::text(headers, name)?
        {
            check_one(name.as_str(), value.trim(), allowed)?;
        }
    }
    Ok(())
}

fn check_one(name: &str, value: &str, allowed: Allowed) -> Result<()> {
    let is_one_of = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    let refused = |hint: &str| {
        Err(Error::bad_request(format!(
            "The header {name} has the value '{value}'; {hint}."
        )))
    };
    match allowed {
        Allowed::OneOf(_) | Allowed::Flag | Allowed::Count | Allowed::Consistency
            if value.is_empty() =>
        {
            Ok(())
        }
        Allowed::OneOf(words) if is_one_of(words) => Ok(()),
        Allowed::OneOf(words) => refused(&format!("one of {} is allowed", words.join(", "))),
        Allowed::Flag if is_one_of(&["true", "false"]) => Ok(()),
        Allowed::Flag => refused("true or false is allowed"),
        Allowed::Count if value.bytes().all(|byte| byte.is_ascii_digit()) => Ok(()),
        Allowed::Count => refused("a whole number is allowed"),
        Allowed::Consistency if is_one_of(&["Session", "ConsistentPrefix", "Eventual"]) => Ok(()),
        Allowed::Consistency if is_one_of(&["Strong", "BoundedStaleness"]) => {
            Err(Error::bad_request(format!(
                "ConsistencyLevel {value} specified in the request is stronger than the account's, which is Session."
            )))
        }
        Allowed::Consistency => Err(Error::bad_request(format!(
            "The consistency level '{value}' is unknown; Session, ConsistentPrefix and Eventual are allowed."
        ))),
        Allowed::Version if is_version(value) => Ok(()),
        Allowed::Version => refused(&format!(
            "a date such as 2020-07-15, {VERSION_MIN} or later, is allowed"
        )),
    }
}

/// Whether a text is a date of an API version that is understood: later ones are, since they add and take nothing away.
fn is_version(text: &str) -> bool {
    let is_date = text.len() == VERSION_MIN.len()
        && text.bytes().zip(VERSION_MIN.bytes()).all(|(byte, form)| {
            if form == b'-' {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
    is_date && text >= VERSION_MIN
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn checked(name: &'static str, value: &'static str) -> Result<()> {
        let mut headers = HeaderMap::new();
        headers.insert(headers::VERSION, HeaderValue::from_static("2020-07-15"));
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        check(&headers)
    }

    #[test]
    fn what_clients_send_is_allowed() {
        for (name, value) in [
            ("x-ms-version", "2015-12-16"),
            ("x-ms-version", "2018-12-31"),
            ("x-ms-version", "2030-01-01"),
            ("x-ms-consistency-level", "Session"),
            ("x-ms-consistency-level", ""),
            ("x-ms-indexing-directive", "exclude"),
            ("x-ms-documentdb-content-serialization-format", "JsonText"),
            ("x-ms-documentdb-query-enable-scan", "True"),
            ("x-ms-documentdb-query-iscontinuationexpected", "False"),
            ("x-ms-documentdb-responsecontinuationtokenlimitinkb", "1"),
            (
                "x-ms-cosmos-supported-serialization-formats",
                "Invalid value",
            ),
            ("x-ms-something-new", "whatever"),
        ] {
            assert!(checked(name, value).is_ok(), "{name}: {value}");
        }
    }

    /// What a checked header may say: three values.
    fn good(name: &str) -> &'static [&'static str] {
        match allowed(name).unwrap() {
            Allowed::OneOf(words) => words,
            Allowed::Flag => &["true", "False", "TRUE"],
            Allowed::Count => &["0", "1", "4096"],
            Allowed::Consistency => &["Session", "ConsistentPrefix", "eventual"],
            Allowed::Version => &["2015-12-16", "2018-12-31", "2020-07-15"],
        }
    }

    fn with(name: &'static str, values: &[&str]) -> Result<()> {
        let mut headers = HeaderMap::new();
        headers.insert(headers::VERSION, HeaderValue::from_static("2020-07-15"));
        headers.remove(name);
        for value in values {
            let value = HeaderValue::from_str(value).unwrap();
            headers.append(HeaderName::from_static(name), value);
        }
        check(&headers)
    }

    #[test]
    fn every_checked_header_is_held_to_the_same_rules() {
        for name in CHECKED.iter().copied() {
            for value in good(name) {
                let forms = [
                    (*value).to_owned(),
                    value.to_ascii_lowercase(),
                    value.to_ascii_uppercase(),
                    format!(" {value}\t"),
                ];
                for form in &forms {
                    assert!(with(name, &[form]).is_ok(), "{name}: '{form}'");
                    let twice = with(name, &[form, form]).unwrap_err().message;
                    assert!(twice.contains("more than once"), "{name}: {twice}");
                    for other in ["", "nonsense"] {
                        assert!(with(name, &[form, other]).is_err(), "{name}: {form}");
                        assert!(with(name, &[other, form]).is_err(), "{name}: {form}");
                    }
                }
                for bad in [
                    format!("{value}{value}"),
                    format!("{value},{value}"),
                    format!("\"{value}\""),
                    format!("{value} x"),
                    format!("-{value}"),
                ] {
                    let refused = with(name, &[&bad]);
                    // Digits behind digits are a number too.
                    let number = matches!(allowed(name), Some(Allowed::Count))
                        && bad.bytes().all(|byte| byte.is_ascii_digit());
                    assert_eq!(refused.is_ok(), number, "{name}: '{bad}'");
                }
            }
            for empty in ["", " ", "\t"] {
                let version = matches!(allowed(name), Some(Allowed::Version));
                assert_eq!(with(name, &[empty]).is_err(), version, "{name}");
            }
            for bad in ["nonsense", "null", "-1", "1.5"] {
                let refused = with(name, &[bad]).unwrap_err().message;
                let named = refused.contains(name) || name == "x-ms-consistency-level";
                assert!(named, "{name}: '{bad}': {refused}");
            }
        }
        assert!(check(&HeaderMap::new()).is_err());
    }

    #[test]
    fn other_values_are_refused_with_what_is_allowed() {
        for (name, value, hint) in [
            ("x-ms-version", "2015-01-01", "2015-12-16"),
            ("x-ms-version", "latest", "2020-07-15"),
            ("x-ms-version", "2020-07-15T00", "2020-07-15"),
            ("x-ms-consistency-level", "Perfect", "Eventual"),
            ("x-ms-consistency-level", "Strong", "Session"),
            ("x-ms-indexing-directive", "\"Invalid Value\"", "Exclude"),
            (
                "x-ms-documentdb-content-serialization-format",
                "Not a valid value",
                "JsonText",
            ),
            ("x-ms-documentdb-query-enable-scan", "Not a boolean", "true"),
            ("x-ms-exclude-system-properties", "1", "true"),
            (
                "x-ms-documentdb-responsecontinuationtokenlimitinkb",
                "-1",
                "whole number",
            ),
        ] {
            let error = checked(name, value).unwrap_err();
            assert!(error.message.contains(hint), "{name}: {}", error.message);
        }
    }
}
