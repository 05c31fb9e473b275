//! Everybody who may log in: the holders of the account's keys, and those the store knows.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::{self, Access, Granted};
use lapsedb_service::{Ctx, Who};
use parking_lot::Mutex;
use subtle::ConstantTimeEq as _;

use crate::auth::login::Kind;
use crate::auth::password::{blocking, prepared};
use crate::auth::scram::{Credentials, Hash};
use crate::codes;
use crate::door::{Door, Settings};

/// The user whose password is the master key: the account's name.
const MASTER_USER: &str = "lapsedb";
/// The user whose password is the read-only key.
const READER_USER: &str = "lapsedb-reader";
/// Where a login without a database of its own is looked for.
const EXTERNAL: &str = "$external";
const ADMIN: &str = "admin";

/// Whether a name belongs to a holder of a key.
pub(crate) fn is_account(name: &str) -> bool {
    [MASTER_USER, READER_USER].contains(&name)
}

/// The account's own users, and what a stranger is shown.
pub(crate) struct Users {
    master: Key,
    reader: Option<Key>,
    /// Makes salts for users that do not exist: the same for the same name, as if they did.
    secret: Vec<u8>,
}

struct Key {
    name: &'static str,
    text: String,
    sha1: OnceLock<Arc<Credentials>>,
    sha256: OnceLock<Arc<Credentials>>,
    /// For the older mechanism, which mixes the name in: what other names of the account make of the key, the newest last.
    sha1_by_name: Mutex<VecDeque<(String, Arc<Credentials>)>>,
}

/// Other names of the account whose credentials are kept. Each account of Cosmos has one.
const NAMES_KEPT_MAX: usize = 64;

/// Who asks for a user.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    /// What the client's program calls itself.
    pub(crate) app_name: Option<&'a str>,
    /// Where the client is.
    pub(crate) client: IpAddr,
}

/// Whom a login names.
pub(crate) struct Found {
    pub(crate) credentials: Arc<Credentials>,
    /// By what right; nobody, if there is no such user.
    pub(crate) kind: Option<Kind>,
    /// There is one, but not by this mechanism: the client may try another.
    pub(crate) otherwise: bool,
}

impl Key {
    fn new(name: &'static str, text: &str) -> Key {
        Key {
            name,
            text: text.to_owned(),
            sha1: OnceLock::new(),
            sha256: OnceLock::new(),
            sha1_by_name: Mutex::default(),
        }
    }

    /// What a mechanism keeps of the key; computed at the first login, because it is meant to take long.
    async fn credentials(
        &self,
        door: &Door,
        hash: Hash,
        name: &str,
        client: IpAddr,
    ) -> Result<Arc<Credentials>, Fault> {
        if let Some(kept) = self.kept(hash, name) {
            return Ok(kept);
        }
        let own = name == self.name || hash == Hash::Sha256;
        let _turn = door.throttle.turn().await?;
        // Whoever had its turn before may have asked for the same.
        if let Some(kept) = self.kept(hash, name) {
            return Ok(kept);
        }
        if !own {
            // A stranger can make up names for ever, and each costs as much as a wrong password.
            door.throttle.check(client)?;
            door.throttle.failed(client);
        }
        // A key that cannot be prepared opens nothing: least of all to who sends nothing.
        let bytes = prepared(hash, name, &self.text)
            .ok_or_else(|| Fault::new(codes::AUTHENTICATION_FAILED, "Authentication failed."))?;
        let made = Arc::new(blocking(move || Credentials::new(hash, &bytes)).await?);
        // Who came first is kept: the salt must stay the same.
        Ok(match self.slot(hash, name) {
            Some(slot) => Arc::clone(slot.get_or_init(|| made)),
            None => {
                let mut names = self.sha1_by_name.lock();
                if names.len() >= NAMES_KEPT_MAX {
                    names.pop_front();
                }
                names.push_back((name.to_owned(), Arc::clone(&made)));
                made
            }
        })
    }

    /// Where the credentials of a name have a place of their own.
    fn slot(&self, hash: Hash, name: &str) -> Option<&OnceLock<Arc<Credentials>>> {
        match hash {
            Hash::Sha256 => Some(&self.sha256),
            Hash::Sha1 if name == self.name => Some(&self.sha1),
            Hash::Sha1 => None,
        }
    }

    /// What was computed before.
    fn kept(&self, hash: Hash, name: &str) -> Option<Arc<Credentials>> {
        if let Some(slot) = self.slot(hash, name) {
            return slot.get().map(Arc::clone);
        }
        let names = self.sha1_by_name.lock();
        let known = names.iter().find(|(known, _)| known == name);
        known.map(|(_, credentials)| Arc::clone(credentials))
    }
}

impl Users {
    pub(crate) fn new(settings: &Settings) -> Users {
        Users {
            master: Key::new(MASTER_USER, &settings.master_key),
            reader: settings
                .read_only_key
                .as_ref()
                .map(|key| Key::new(READER_USER, key)),
            secret: Hash::Sha256.hmac(settings.master_key.as_bytes(), b"strangers"),
        }
    }

    /// The key that a name stands for. By the custom of Cosmos' connection strings, a client whose program calls itself
    /// `@name@` names its account so.
    fn key(&self, name: &str, app_name: Option<&str>) -> Option<(&Key, Kind)> {
        let reader = self.reader.as_ref().filter(|reader| reader.name == name);
        if let Some(reader) = reader {
            return Some((reader, Kind::Reader));
        }
        let master = name == MASTER_USER || app_name == Some(&format!("@{name}@"));
        master.then_some((&self.master, Kind::Master))
    }

    /// Whom a name means, and what the mechanism knows of them. Nobody learns here whether there is such a user.
    pub(crate) async fn find(
        &self,
        door: &Arc<Door>,
        hash: Hash,
        (database, name): (&str, &str),
        asker: Asker<'_>,
    ) -> Result<Found, Fault> {
        let stored = if is_account(name) {
            None
        } else {
            stored(door, database, name).await?
        };
        let mut otherwise = false;
        if let Some(user) = stored {
            otherwise = true;
            let kept = user.credentials.get(hash.mechanism());
            if let Some(credentials) = kept.and_then(|kept| Credentials::read(hash, kept)) {
                return Ok(Found {
                    credentials: Arc::new(credentials),
                    // What its roles grant is read before its first command.
                    kind: Some(Kind::Stored(Access::of(&user, Granted::default()))),
                    otherwise: false,
                });
            }
        } else if let Some((key, kind)) = self.key(name, asker.app_name) {
            return Ok(Found {
                credentials: key.credentials(door, hash, name, asker.client).await?,
                kind: Some(kind),
                otherwise: false,
            });
        }
        let seed = format!("{}/{database}/{name}", hash.mechanism());
        let seed = Hash::Sha256.hmac(&self.secret, seed.as_bytes());
        Ok(Found {
            credentials: Arc::new(Credentials::of_nobody(hash, &seed)),
            kind: None,
            otherwise,
        })
    }

    /// Whom a name and a password mean.
    pub(crate) async fn check(
        &self,
        door: &Arc<Door>,
        (database, name): (&str, &str),
        password: &str,
        asker: Asker<'_>,
    ) -> Result<Option<Kind>, Fault> {
        if let Some((key, kind)) = self.key(name, asker.app_name)
            && bool::from(key.text.as_bytes().ct_eq(password.as_bytes()))
        {
            return Ok(Some(kind));
        }
        for hash in [Hash::Sha256, Hash::Sha1] {
            let unnamed = Asker {
                app_name: None,
                ..asker
            };
            let found = self.find(door, hash, (database, name), unnamed).await?;
            let Found {
                credentials, kind, ..
            } = found;
            let Some(bytes) = prepared(hash, name, password) else {
                continue;
            };
            let _turn = door.throttle.turn().await?;
            // Who waited for its turn behind others from its address may be one too many by now.
            door.throttle.check(asker.client)?;
            let knows = blocking(move || credentials.knows(&bytes)).await?;
            if let (true, Some(kind)) = (knows, kind) {
                return Ok(Some(kind));
            }
        }
        Ok(None)
    }

    /// The mechanisms a user may log in by. Who does not exist has them all.
    pub(crate) async fn mechanisms(
        &self,
        door: &Arc<Door>,
        database: &str,
        name: &str,
    ) -> Result<Vec<&'static str>, Fault> {
        let all = [Hash::Sha256.mechanism(), Hash::Sha1.mechanism()];
        let stored = if is_account(name) {
            None
        } else {
            stored(door, database, name).await?
        };
        Ok(match stored {
            Some(user) => all
                .into_iter()
                .filter(|name| user.credentials.contains_key(name))
                .collect(),
            None => all.to_vec(),
        })
    }
}

async fn stored(
    door: &Arc<Door>,
    database: &str,
    name: &str,
) -> Result<Option<logins::User>, Fault> {
    let database = if database == EXTERNAL {
        ADMIN
    } else {
        database
    };
    let ctx = Ctx::new(Arc::clone(&door.service), Who::Master);
    logins::find(&ctx, database, name).await
}

#[cfg(test)]
mod tests {
    use lapsedb_service::{Config, Service};

    use super::*;

    /// A bell is a sign that SASLprep prohibits.
    const UNPREPARABLE: &str = "a\u{7}b";

    async fn door(master_key: &str) -> Arc<Door> {
        let config = Config::in_memory(master_key.as_bytes().to_vec());
        let settings = Settings {
            auth: true,
            advertise: None,
            test_commands: false,
            master_key: master_key.to_owned(),
            read_only_key: None,
            version: String::new(),
        };
        let service = Service::open(config).await.unwrap();
        Arc::new(Door::new(service, settings, |_| ()))
    }

    /// Somebody of no name.
    const ASKER: Asker<'static> = Asker {
        app_name: None,
        client: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
    };

    /// Whether a password opens the account, by SCRAM-SHA-256 alone or as text.
    async fn opens(door: &Arc<Door>, password: &str) -> bool {
        let who = ("admin", MASTER_USER);
        let by_scram = match door.users.find(door, Hash::Sha256, who, ASKER).await {
            Ok(found) => {
                let bytes = prepared(Hash::Sha256, MASTER_USER, password);
                bytes.is_some_and(|bytes| found.credentials.knows(&bytes))
            }
            Err(fault) => {
                assert_eq!(fault.code(), Some(codes::AUTHENTICATION_FAILED));
                false
            }
        };
        let as_text = door.users.check(door, who, password, ASKER).await;
        by_scram || as_text.is_ok_and(|kind| kind.is_some())
    }

    #[test]
    fn a_key_that_cannot_be_prepared_opens_nothing() {
        lapsedb_testkit::run(async {
            let door = door(UNPREPARABLE).await;
            // The second time nothing is remembered of the first.
            for _ in 0..2 {
                let found = door
                    .users
                    .find(&door, Hash::Sha256, ("admin", MASTER_USER), ASKER);
                assert!(found.await.is_err());
                for guess in ["", "a", "ab", "b", "\u{7}"] {
                    assert!(!opens(&door, guess).await, "{guess:?}");
                }
            }
        });
    }

    #[test]
    fn a_key_that_can_be_prepared_opens_by_itself_alone() {
        lapsedb_testkit::run(async {
            let door = door("I\u{ad}X").await;
            for (guess, expected) in [("IX", true), ("I\u{ad}X", true), ("", false), ("ix", false)]
            {
                assert_eq!(opens(&door, guess).await, expected, "{guess:?}");
            }
        });
    }

    #[test]
    fn made_up_names_cost_a_stranger_its_attempts() {
        lapsedb_testkit::run(async {
            let door = door("a2V5").await;
            let find = async |number: usize| {
                let (name, app) = (format!("n{number}"), format!("@n{number}@"));
                let asker = Asker {
                    app_name: Some(&app),
                    ..ASKER
                };
                let who = ("admin", name.as_str());
                door.users.find(&door, Hash::Sha1, who, asker).await.is_ok()
            };
            // One name is hashed once, however often it logs in.
            for _ in 0..200 {
                assert!(find(0).await);
            }
            assert_eq!(door.throttle.failures(ASKER.client), 1);
            while door.throttle.failures(ASKER.client) < 10_000 {
                door.throttle.failed(ASKER.client);
            }
            assert!(!find(1).await);
            assert!(find(0).await, "what is kept costs nothing");
            assert!(door.users.master.sha1_by_name.lock().len() <= NAMES_KEPT_MAX);
        });
    }
}
