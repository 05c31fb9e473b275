//! What is refused where other machines can reach the server. On a loopback address everything is allowed.

use std::net::IpAddr;

use super::keys::Keys;
use super::{Mongo, Protocol, Raw};

/// The shortest key that other machines may try to guess, in bytes.
const KEY_BYTES_MIN: usize = 32;

/// What the port speaks, by the setting's words.
const PROTOCOLS: [(&str, Protocol); 3] = [
    ("http", Protocol::Http),
    ("https", Protocol::Https),
    ("both", Protocol::Both),
];

impl Raw {
    /// What the ports speak: beyond loopback TLS alone, unless it is said that plain text is wanted.
    pub(super) fn protocol(&self, bind: IpAddr) -> Result<Protocol, String> {
        let plain_text = self.switch("insecure-plaintext")? || bind.is_loopback();
        let default = if plain_text {
            Protocol::Both
        } else {
            Protocol::Https
        };
        let protocol = self.choice("protocol", &PROTOCOLS, default)?;
        match (protocol, self.0.get("protocol")) {
            (Protocol::Http | Protocol::Both, Some(given)) if !plain_text => Err(format!(
                "{given} would send keys and data in plain text, because --bind {bind} is not a loopback address; \
                 use --protocol https, or allow it with --insecure-plaintext"
            )),
            (Protocol::Http | Protocol::Https | Protocol::Both, _) => Ok(protocol),
        }
    }
}

/// Refuses what would protect nothing against other machines.
pub(super) fn check(bind: IpAddr, keys: &Keys, mongo: Option<&Mongo>) -> Result<(), String> {
    if bind.is_loopback() {
        return Ok(());
    }
    let beyond = format!("--bind {bind} is not a loopback address");
    if keys.any_published() {
        return Err(format!(
            "{beyond}, so the published emulator key would protect nothing; give a key of your own with --key-file or \
             LAPSEDB_KEY"
        ));
    }
    for (key, name) in [
        (Some(&keys.master), "the master key"),
        (keys.read_only.as_ref(), "the read-only key"),
    ] {
        if let Some(key) = key.filter(|key| key.len() < KEY_BYTES_MIN) {
            return Err(format!(
                "{beyond}, and {name} has {} bytes; allowed: at least {KEY_BYTES_MIN}, such as `openssl rand -base64 64` makes",
                key.len()
            ));
        }
    }
    if mongo.is_some_and(|mongo| !mongo.auth) {
        return Err(format!(
            "{beyond}, so --mongo-auth off would let everybody in; allowed: --mongo-auth on, or --mongo-port off"
        ));
    }
    Ok(())
}
