//! The account's keys: where they come from, and whether one of them is known to everybody.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::settings::{Given, Origin};
use super::{Raw, bad};

/// The key that the emulator's makers publish: known to everybody, so it protects nothing.
pub(super) const PUBLISHED_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// The keys, decoded.
pub(super) struct Keys {
    /// The master key.
    pub(super) master: Vec<u8>,
    /// The key that may only read.
    pub(super) read_only: Option<Vec<u8>>,
    /// Whether a master key was given at all.
    pub(super) own: bool,
}

impl Keys {
    /// Whether one of the keys, in whichever role, is the published one.
    pub(super) fn any_published(&self) -> bool {
        let published = published();
        self.master == published || self.read_only.as_ref() == Some(&published)
    }
}

impl Raw {
    /// All keys.
    pub(super) fn keys(&self) -> Result<Keys, String> {
        let given = match (self.0.get("key"), self.0.get("key-file")) {
            (Some(_), Some(_)) => {
                return Err(
                    "--key and --key-file cannot both be given; allowed: one of them".to_owned(),
                );
            }
            (Some(key), None) => Some(decode_given(key)?),
            (None, Some(file)) => {
                let text = std::fs::read_to_string(&file.text)
                    .map_err(|error| bad(file, &format!("a file that can be read ({error})")))?;
                let key = decode(text.trim())
                    .ok_or_else(|| bad(file, "a file that holds a key in base64"))?;
                Some(key)
            }
            (None, None) => None,
        };
        let own = given.is_some();
        let master = given.unwrap_or_else(published);
        let read_only = self.0.get("read-only-key").map(decode_given).transpose()?;
        if read_only.as_ref() == Some(&master) {
            return Err("--read-only-key must differ from the master key".to_owned());
        }
        Ok(Keys {
            master,
            read_only,
            own,
        })
    }
}

impl Raw {
    /// What is to be said of keys on the command line, which every user of the machine can read in the list of processes.
    pub(super) fn warn_of_keys(&self) -> Vec<String> {
        let instead = [
            ("key", "--key-file or LAPSEDB_KEY"),
            (
                "read-only-key",
                "LAPSEDB_READ_ONLY_KEY or the file of --config",
            ),
        ];
        let warnings = instead.iter().filter_map(|(name, instead)| {
            let given = self.0.get(name)?;
            let shown = given.origin == Origin::Flag && given.text != PUBLISHED_KEY;
            shown.then(|| {
                format!("--{name} on the command line can be read by every user of this machine; use {instead}")
            })
        });
        warnings.collect()
    }
}

fn published() -> Vec<u8> {
    decode(PUBLISHED_KEY).unwrap_or_default()
}

fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok().filter(|key| !key.is_empty())
}

fn decode_given(given: &Given) -> Result<Vec<u8>, String> {
    decode(&given.text).ok_or_else(|| bad(given, "a key in base64"))
}
