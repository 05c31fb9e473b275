//! Signs requests as the client libraries do.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;

/// The published key of the emulator: what a server takes when none was given.
pub const EMULATOR_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// Signs with one key.
#[derive(Clone)]
pub struct Signer {
    key: Hmac<Sha256>,
}

impl Signer {
    /// A signer with a key in base64.
    #[must_use]
    pub fn new(key: &str) -> Signer {
        let key = STANDARD.decode(key).expect("the key is base64");
        Signer {
            key: Hmac::<Sha256>::new_from_slice(&key).expect("a key of any length will do"),
        }
    }

    /// The `authorization` of a request to a path (without its query) at a date.
    #[must_use]
    pub fn authorization(&self, verb: &str, path: &str, date: &str) -> String {
        let (kind, link) = resource(path);
        let mut mac = self.key.clone();
        let verb = verb.to_ascii_lowercase();
        let date = date.to_ascii_lowercase();
        for part in [verb.as_str(), &kind, &link, &date, ""] {
            mac.update(part.as_bytes());
            mac.update(b"\n");
        }
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        let signature = signature
            .replace('+', "%2B")
            .replace('/', "%2F")
            .replace('=', "%3D");
        format!("type%3Dmaster%26ver%3D1.0%26sig%3D{signature}")
    }
}

/// RFC 1123, as `x-ms-date` wants it, so many seconds from the wall's time.
#[must_use]
pub fn http_date(seconds_from_now: i64) -> String {
    #[allow(
        clippy::disallowed_methods,
        reason = "a client signs with the wall's date"
    )]
    let now = Timestamp::now().as_second();
    Timestamp::from_second(now + seconds_from_now)
        .expect("a time within the calendar")
        .strftime("%a, %d %b %Y %H:%M:%S GMT")
        .to_string()
}

/// Resource type and link of a path: the rule that reproduces the signatures of the client libraries.
fn resource(path: &str) -> (String, String) {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(decode)
        .collect();
    match parts.as_slice() {
        [] => (String::new(), String::new()),
        [only] => (only.to_ascii_lowercase(), String::new()),
        [offers, rid] if offers == "offers" => ("offers".into(), rid.to_ascii_lowercase()),
        [front @ .., operations, _] if operations == "operations" => {
            ("colls".into(), front.join("/"))
        }
        parts if parts.len() % 2 == 0 => {
            (parts[parts.len() - 2].to_ascii_lowercase(), parts.join("/"))
        }
        [front @ .., last] => (last.to_ascii_lowercase(), front.join("/")),
    }
}

/// Undoes percent encoding; what is not UTF-8 becomes a replacement sign and will not verify, as it should.
fn decode(segment: &str) -> String {
    let bytes = segment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes
            .get(at + 1..at + 3)
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match hex {
            Some(byte) if bytes[at] == b'%' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_signature_comes_out() {
        let text = Signer::new(EMULATOR_KEY).authorization(
            "GET",
            "/dbs/db/colls/c/docs/1/",
            "Sun, 15 Nov 2026 17:51:40 GMT",
        );
        assert!(
            text.ends_with("sig%3DqbCDE%2BycVqOE2qvVTCILA1UdXUxua1B0wg3skW11J84%3D"),
            "{text}"
        );
    }

    #[test]
    fn resources_are_found_by_position() {
        let of = |path| {
            let (kind, link) = resource(path);
            format!("{kind} {link}")
        };
        assert_eq!(of("/"), " ");
        assert_eq!(of("/dbs"), "dbs ");
        assert_eq!(of("/dbs/colls/colls"), "colls dbs/colls");
        assert_eq!(of("/dbs/d/colls/c%20d?x=1"), "colls dbs/d/colls/c d");
        assert_eq!(of("/offers/AbC="), "offers abc=");
        assert_eq!(
            of("/dbs/d/colls/c/operations/partitionkeydelete"),
            "colls dbs/d/colls/c"
        );
    }
}
