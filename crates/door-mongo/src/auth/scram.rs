//! SCRAM as RFC 5802 describes it, the server's side.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use lapsedb_value::{Object, Value};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Rounds of hashing with SHA-1.
const SHA1_ROUNDS: u32 = 10_000;
/// Rounds of hashing with SHA-256.
const SHA256_ROUNDS: u32 = 15_000;
/// Bytes of the salt for SHA-1.
const SHA1_SALT_BYTES: usize = 16;
/// Bytes of the salt for SHA-256.
const SHA256_SALT_BYTES: usize = 28;
/// What a client says that binds no channel: `n,,` in base64.
const NO_BINDING: &str = "biws";

/// The hash of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
}

impl Hash {
    const fn rounds(self) -> u32 {
        match self {
            Hash::Sha1 => SHA1_ROUNDS,
            Hash::Sha256 => SHA256_ROUNDS,
        }
    }

    fn salted(self, password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
        match self {
            Hash::Sha1 => {
                let mut out = vec![0; 20];
                pbkdf2::pbkdf2_hmac::<Sha1>(password, salt, rounds, &mut out);
                out
            }
            Hash::Sha256 => {
                let mut out = vec![0; 32];
                pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, rounds, &mut out);
                out
            }
        }
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Hash::Sha1 => Sha1::digest(bytes).to_vec(),
            Hash::Sha256 => Sha256::digest(bytes).to_vec(),
        }
    }

    /// The name of the mechanism that uses it.
    pub(crate) const fn mechanism(self) -> &'static str {
        match self {
            Hash::Sha1 => "SCRAM-SHA-1",
            Hash::Sha256 => "SCRAM-SHA-256",
        }
    }

    const fn salt_bytes(self) -> usize {
        match self {
            Hash::Sha1 => SHA1_SALT_BYTES,
            Hash::Sha256 => SHA256_SALT_BYTES,
        }
    }

    pub(crate) fn hmac(self, key: &[u8], bytes: &[u8]) -> Vec<u8> {
        // A key of any length is taken, so there is nothing to fail.
        match self {
            Hash::Sha1 => Hmac::<Sha1>::new_from_slice(key)
                .map(|mut mac| {
                    mac.update(bytes);
                    mac.finalize().into_bytes().to_vec()
                })
                .unwrap_or_default(),
            Hash::Sha256 => Hmac::<Sha256>::new_from_slice(key)
                .map(|mut mac| {
                    mac.update(bytes);
                    mac.finalize().into_bytes().to_vec()
                })
                .unwrap_or_default(),
        }
    }
}

/// What is kept of a password.
pub(crate) struct Credentials {
    hash: Hash,
    rounds: u32,
    salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl Credentials {
    pub(crate) fn new(hash: Hash, password: &[u8]) -> Credentials {
        Credentials::salted(hash, password, random(hash.salt_bytes()))
    }

    fn salted(hash: Hash, password: &[u8], salt: Vec<u8>) -> Credentials {
        let rounds = hash.rounds();
        let (stored_key, server_key) = keys(hash, &hash.salted(password, &salt, rounds));
        Credentials {
            hash,
            rounds,
            salt,
            stored_key,
            server_key,
        }
    }

    /// What a stranger is shown for somebody who does not exist. No password fits.
    pub(crate) fn of_nobody(hash: Hash, seed: &[u8]) -> Credentials {
        let mut salt = Hash::Sha256.hmac(seed, b"salt");
        salt.truncate(hash.salt_bytes());
        Credentials {
            hash,
            rounds: hash.rounds(),
            salt,
            stored_key: random(hash.digest(&[]).len()),
            server_key: Vec::new(),
        }
    }

    /// As the store keeps it.
    pub(crate) fn stored(&self) -> Object {
        let mut kept = Object::with_capacity(4);
        kept.push(
            "iterationCount",
            i32::try_from(self.rounds).unwrap_or(i32::MAX),
        );
        kept.push("salt", STANDARD.encode(&self.salt));
        kept.push("storedKey", STANDARD.encode(&self.stored_key));
        kept.push("serverKey", STANDARD.encode(&self.server_key));
        kept
    }

    /// As the store has kept it.
    pub(crate) fn read(hash: Hash, kept: &Value) -> Option<Credentials> {
        let bytes = |name: &str| STANDARD.decode(kept.get(name).as_str()?).ok();
        let rounds = kept.get("iterationCount").as_i64()?;
        Some(Credentials {
            hash,
            rounds: u32::try_from(rounds).ok()?,
            salt: bytes("salt")?,
            stored_key: bytes("storedKey")?,
            server_key: bytes("serverKey")?,
        })
    }

    /// Whether this is the password.
    pub(crate) fn knows(&self, password: &[u8]) -> bool {
        let salted = self.hash.salted(password, &self.salt, self.rounds);
        let (stored_key, _) = keys(self.hash, &salted);
        stored_key.ct_eq(&self.stored_key).into()
    }
}

/// The key to judge a client by, and the one to answer it with.
fn keys(hash: Hash, salted: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let client_key = hash.hmac(salted, b"Client Key");
    (hash.digest(&client_key), hash.hmac(salted, b"Server Key"))
}

fn random(length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 16);
    while bytes.len() < length {
        bytes.extend_from_slice(uuid::Uuid::new_v4().as_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A client's first message.
pub(crate) struct ClientFirst {
    pub(crate) user: String,
    bare: String,
    nonce: String,
}

impl ClientFirst {
    /// Reads `n,,n=user,r=nonce`.
    pub(crate) fn read(payload: &[u8]) -> Option<ClientFirst> {
        let text = std::str::from_utf8(payload).ok()?;
        let bare = text
            .strip_prefix("n,,")
            .or_else(|| text.strip_prefix("y,,"))?;
        let mut parts = bare.split(',');
        let user = parts.next()?.strip_prefix("n=")?;
        let nonce = parts.next()?.strip_prefix("r=")?;
        if nonce.is_empty() {
            return None;
        }
        Some(ClientFirst {
            user: user.replace("=2C", ",").replace("=3D", "="),
            bare: bare.to_owned(),
            nonce: nonce.to_owned(),
        })
    }
}

/// A conversation after the server's first message.
pub(crate) struct Conversation {
    nonce: String,
    /// The first two messages, which the proof covers.
    messages: String,
}

impl Conversation {
    /// The server's first message.
    pub(crate) fn begin(first: &ClientFirst, credentials: &Credentials) -> (Conversation, Vec<u8>) {
        let nonce = format!("{}{}", first.nonce, STANDARD.encode(random(24)));
        let message = format!(
            "r={nonce},s={},i={}",
            STANDARD.encode(&credentials.salt),
            credentials.rounds
        );
        let conversation = Conversation {
            nonce,
            messages: format!("{},{message}", first.bare),
        };
        (conversation, message.into_bytes())
    }

    /// The server's last message, if the client knows the password.
    pub(crate) fn finish(&self, payload: &[u8], credentials: &Credentials) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(payload).ok()?;
        let (unproved, proof) = text.rsplit_once(",p=")?;
        let mut parts = unproved.split(',');
        let binding = parts.next()?.strip_prefix("c=")?;
        let nonce = parts.next()?.strip_prefix("r=")?;
        if nonce != self.nonce || !(binding == NO_BINDING || binding == "eSws") {
            return None;
        }
        let proof = STANDARD.decode(proof).ok()?;
        let signed = format!("{},{unproved}", self.messages);
        let hash = credentials.hash;
        let signature = hash.hmac(&credentials.stored_key, signed.as_bytes());
        if proof.len() != signature.len() {
            return None;
        }
        let key: Vec<u8> = proof.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        let knows: bool = hash.digest(&key).ct_eq(&credentials.stored_key).into();
        let answer = hash.hmac(&credentials.server_key, signed.as_bytes());
        knows.then(|| format!("v={}", STANDARD.encode(answer)).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    /// A client's last message for a password.
    fn prove(hash: Hash, password: &[u8], first: &str, server: &str) -> String {
        let field = |tag: &str| {
            let found = server.split(',').find_map(|part| part.strip_prefix(tag));
            found.unwrap().to_owned()
        };
        let salt = STANDARD.decode(field("s=")).unwrap();
        let salted = hash.salted(password, &salt, hash.rounds());
        let key = hash.hmac(&salted, b"Client Key");
        let unproved = format!("c=biws,r={}", field("r="));
        let signed = format!("{first},{server},{unproved}");
        let signature = hash.hmac(&hash.digest(&key), signed.as_bytes());
        let proof: Vec<u8> = key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        format!("{unproved},p={}", STANDARD.encode(proof))
    }

    #[test]
    fn only_the_right_password_is_let_in() {
        for hash in [Hash::Sha1, Hash::Sha256] {
            let credentials = Credentials::new(hash, b"secret");
            let bare = "n=user,r=abc";
            let first = ClientFirst::read(format!("n,,{bare}").as_bytes()).unwrap();
            for (password, right) in [(&b"secret"[..], true), (b"Secret", false), (b"", false)] {
                let (conversation, message) = Conversation::begin(&first, &credentials);
                let server = String::from_utf8(message).unwrap();
                assert!(server.starts_with("r=abc"));
                let last = prove(hash, password, bare, &server);
                let answer = conversation.finish(last.as_bytes(), &credentials);
                assert_eq!(answer.is_some(), right);
            }
        }
    }

    #[test]
    fn the_published_example_of_sha_256() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let mut salted = vec![0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(b"pencil", &salt, 4096, &mut salted);
        let key = Hash::Sha256.hmac(&salted, b"Client Key");
        let signed = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let signature = Hash::Sha256.hmac(&Hash::Sha256.digest(&key), signed.as_bytes());
        let proof: Vec<u8> = key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        assert_eq!(
            STANDARD.encode(proof),
            "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
    }

    #[test]
    fn names_are_unescaped_and_rubbish_is_refused() {
        let first = ClientFirst::read(b"n,,n=a=2Cb=3Dc,r=x").unwrap();
        assert_eq!(first.user, "a,b=c");
        for payload in [
            &b""[..],
            b"n,,",
            b"n,,n=a",
            b"n,,n=a,r=",
            b"p=x,,n=a,r=b",
            b"\xff",
        ] {
            assert!(ClientFirst::read(payload).is_none());
        }
    }
}
