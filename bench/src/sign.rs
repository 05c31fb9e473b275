//! Signs requests as the client libraries do: a fresh signature for each, with the date of the second.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;

/// The published key of the emulator: what a server takes when none was given.
const EMULATOR_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// Holds the key in the form in which signing costs least, and the text of the current second.
pub struct Signer {
    key: Hmac<Sha256>,
    second: u64,
    date: String,
    date_lower: String,
}

impl Signer {
    /// A signer with the emulator's key.
    pub fn new() -> Result<Self> {
        let key = STANDARD
            .decode(EMULATOR_KEY)
            .context("the key is not base64")?;
        let key = Hmac::<Sha256>::new_from_slice(&key).context("the key has a wrong length")?;
        Ok(Self {
            key,
            second: u64::MAX,
            date: String::new(),
            date_lower: String::new(),
        })
    }

    /// The values of `x-ms-date` and `authorization`; `verb` and `kind` in lower case.
    pub fn sign(&mut self, verb: &str, kind: &str, link: &str) -> Result<(&str, String)> {
        #[expect(
            clippy::disallowed_methods,
            reason = "a client signs with the wall's date"
        )]
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        if now.as_secs() != self.second {
            self.second = now.as_secs();
            let seconds = i64::try_from(self.second).unwrap_or(i64::MAX);
            self.date = http_date(seconds)?;
            self.date_lower = self.date.to_ascii_lowercase();
        }
        let signature = self.signature(verb, kind, link);
        Ok((&self.date, signature))
    }

    fn signature(&self, verb: &str, kind: &str, link: &str) -> String {
        let mut mac = self.key.clone();
        for part in [verb, kind, link, &self.date_lower, ""] {
            mac.update(part.as_bytes());
            mac.update(b"\n");
        }
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        let mut text = String::with_capacity(96);
        text.push_str("type%3Dmaster%26ver%3D1.0%26sig%3D");
        for sign in signature.chars() {
            match sign {
                '+' => text.push_str("%2B"),
                '/' => text.push_str("%2F"),
                '=' => text.push_str("%3D"),
                _ => text.push(sign),
            }
        }
        text
    }
}

/// RFC 1123, as the header wants it.
fn http_date(seconds: i64) -> Result<String> {
    let time = Timestamp::from_second(seconds).context("a time out of range")?;
    Ok(time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_signature_comes_out() {
        let mut signer = Signer::new().unwrap();
        signer.date_lower = http_date(1_794_765_100).unwrap().to_ascii_lowercase();
        assert_eq!(signer.date_lower, "sun, 15 nov 2026 17:51:40 gmt");
        let text = signer.signature("get", "docs", "dbs/db/colls/c/docs/1");
        let expected = "qbCDE%2BycVqOE2qvVTCILA1UdXUxua1B0wg3skW11J84%3D";
        assert_eq!(
            text,
            format!("type%3Dmaster%26ver%3D1.0%26sig%3D{expected}")
        );
    }
}
