//! Logging in: SCRAM with both hashes, and plain over TLS.

mod sasl;
mod scram;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Digest as _;

use crate::door::Settings;

pub(crate) use sasl::{Mechanism, Session, Step};
use scram::{Credentials, Hash};

/// The user whose password is the master key.
pub(crate) const MASTER_USER: &str = "lapsedb";
/// The user whose password is the read-only key.
pub(crate) const READER_USER: &str = "lapsedb-reader";

/// Who has logged in.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) user: String,
    /// The database the login named.
    pub(crate) database: String,
    pub(crate) read_only: bool,
}

/// Everybody who may log in.
pub(crate) struct Users {
    users: Vec<User>,
    /// Answers for users that do not exist, so that nobody learns who does.
    nobody: User,
}

struct User {
    name: String,
    password: String,
    read_only: bool,
    sha1: std::sync::OnceLock<Credentials>,
    sha256: std::sync::OnceLock<Credentials>,
}

impl User {
    fn new(name: &str, password: &str, read_only: bool) -> User {
        User {
            name: name.to_owned(),
            password: password.to_owned(),
            read_only,
            sha1: std::sync::OnceLock::new(),
            sha256: std::sync::OnceLock::new(),
        }
    }

    /// What a mechanism keeps of the password; computed at the first login, because it is meant to take long.
    fn credentials(&self, hash: Hash) -> &Credentials {
        match hash {
            Hash::Sha1 => self.sha1.get_or_init(|| {
                let text = format!("{}:mongo:{}", self.name, self.password);
                let digest = md5::Md5::digest(text.as_bytes());
                let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                Credentials::new(hash, hex.as_bytes())
            }),
            Hash::Sha256 => self
                .sha256
                .get_or_init(|| Credentials::new(hash, self.password.as_bytes())),
        }
    }
}

impl Users {
    pub(crate) fn new(settings: &Settings) -> Users {
        let mut users = vec![User::new(MASTER_USER, &settings.master_key, false)];
        if let Some(key) = &settings.read_only_key {
            users.push(User::new(READER_USER, key, true));
        }
        let random = STANDARD.encode(uuid::Uuid::new_v4().as_bytes());
        Users {
            users,
            nobody: User::new("", &random, true),
        }
    }

    fn find(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|user| user.name == name)
    }
}
