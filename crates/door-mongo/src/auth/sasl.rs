//! A login, message by message.

use std::net::IpAddr;
use std::sync::Arc;

use lapsedb_service::documents::Fault;

use crate::auth::Login;
use crate::auth::login::Kind;
use crate::auth::scram::{ClientFirst, Conversation, Credentials, Hash};
use crate::auth::users::{Asker, Found};
use crate::door::Door;

/// How a client logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// SCRAM with a hash.
    Scram(Hash),
    /// The password itself, over TLS only.
    Plain,
}

impl Mechanism {
    /// The mechanism of a name.
    pub(crate) fn named(name: &str) -> Option<Mechanism> {
        match name {
            "SCRAM-SHA-1" => Some(Mechanism::Scram(Hash::Sha1)),
            "SCRAM-SHA-256" => Some(Mechanism::Scram(Hash::Sha256)),
            "PLAIN" => Some(Mechanism::Plain),
            _ => None,
        }
    }
}

/// A login under way.
pub(crate) struct Session {
    user: String,
    database: String,
    conversation: Conversation,
    credentials: Arc<Credentials>,
    /// By what right; nobody, if there is no such user.
    kind: Option<Kind>,
    /// The server's last word also ends the conversation.
    skip_empty: bool,
    /// The client has proved itself, but has one more empty message to send.
    proved: Option<Login>,
}

/// What follows a client's message.
pub(crate) enum Step {
    /// The conversation goes on.
    Goes(Box<Session>, Vec<u8>),
    /// The client is in.
    In(Login, Vec<u8>),
    /// It is not: what it has shown is wrong.
    Refused,
    /// It is not, but has shown nothing that could be wrong: this is no login, or none by this mechanism.
    Malformed,
}

/// What a client says of itself when it begins a login.
pub(crate) struct Start<'s> {
    pub(crate) mechanism: Mechanism,
    pub(crate) payload: &'s [u8],
    pub(crate) database: &'s str,
    /// Where the client is.
    pub(crate) client: IpAddr,
    pub(crate) app_name: Option<&'s str>,
    pub(crate) skip_empty: bool,
}

/// A client's first message.
pub(crate) async fn start(door: &Arc<Door>, start: Start<'_>) -> Result<Step, Fault> {
    door.throttle.check(start.client)?;
    let hash = match start.mechanism {
        Mechanism::Plain => {
            let step = plain(door, &start).await?;
            step.count(door, start.client);
            return Ok(step);
        }
        Mechanism::Scram(hash) => hash,
    };
    let Some(first) = ClientFirst::read(start.payload) else {
        return Ok(Step::Malformed);
    };
    let asker = Asker {
        app_name: start.app_name,
        client: start.client,
    };
    let found = door
        .users
        .find(door, hash, (start.database, &first.user), asker)
        .await?;
    // Drivers guess the mechanism in their greeting, and ask for the right one when the guess is not taken up.
    if found.otherwise {
        return Ok(Step::Malformed);
    }
    let Found {
        credentials, kind, ..
    } = found;
    let (conversation, message) = Conversation::begin(&first, &credentials);
    let session = Session {
        user: first.user,
        database: start.database.to_owned(),
        conversation,
        credentials,
        kind,
        skip_empty: start.skip_empty,
        proved: None,
    };
    Ok(Step::Goes(Box::new(session), message))
}

impl Step {
    fn count(&self, door: &Door, client: IpAddr) {
        match self {
            Step::Refused => door.throttle.failed(client),
            Step::Goes(..) | Step::In(..) | Step::Malformed => {}
        }
    }
}

impl Session {
    /// A client's later message.
    pub(crate) fn step(self, door: &Door, client: IpAddr, payload: &[u8]) -> Result<Step, Fault> {
        door.throttle.check(client)?;
        let step = self.next(payload);
        step.count(door, client);
        Ok(step)
    }

    fn next(mut self, payload: &[u8]) -> Step {
        if let Some(login) = self.proved {
            return if payload.is_empty() {
                Step::In(login, Vec::new())
            } else {
                Step::Refused
            };
        }
        let finished = self.conversation.finish(payload, &self.credentials);
        match (finished, self.kind.take()) {
            (Some(message), Some(kind)) => {
                let login = Login {
                    user: self.user.clone(),
                    database: self.database.clone(),
                    kind,
                };
                if self.skip_empty {
                    return Step::In(login, message);
                }
                self.proved = Some(login);
                Step::Goes(Box::new(self), message)
            }
            (Some(_) | None, _) => Step::Refused,
        }
    }
}

/// Reads `authorization NUL user NUL password`.
async fn plain(door: &Arc<Door>, start: &Start<'_>) -> Result<Step, Fault> {
    let text = std::str::from_utf8(start.payload).unwrap_or_default();
    let mut parts = text.splitn(3, '\0');
    let (Some(acts_as), Some(user), Some(password)) = (parts.next(), parts.next(), parts.next())
    else {
        return Ok(Step::Malformed);
    };
    if !(acts_as.is_empty() || acts_as == user) {
        return Ok(Step::Malformed);
    }
    let asker = Asker {
        app_name: start.app_name,
        client: start.client,
    };
    let kind = door
        .users
        .check(door, (start.database, user), password, asker)
        .await?;
    Ok(match kind {
        Some(kind) => {
            // A stored user is found in its own database, which this mechanism does not name.
            let database = match &kind {
                Kind::Stored(access) => access.database(),
                Kind::Master | Kind::Reader => start.database,
            };
            let login = Login {
                user: user.to_owned(),
                database: database.to_owned(),
                kind,
            };
            Step::In(login, Vec::new())
        }
        None => Step::Refused,
    })
}

#[cfg(test)]
mod tests {
    use lapsedb_service::{Config, Service};

    use super::*;
    use crate::codes;
    use crate::door::Settings;

    async fn door() -> Arc<Door> {
        let config = Config::in_memory(b"key".to_vec());
        let settings = Settings {
            auth: true,
            advertise: None,
            test_commands: false,
            master_key: "a2V5".to_owned(),
            read_only_key: None,
            version: String::new(),
        };
        let service = Service::open(config).await.unwrap();
        Arc::new(Door::new(service, settings, |_| ()))
    }

    fn begun(mechanism: Mechanism, payload: &[u8], last: u8) -> Start<'_> {
        Start {
            mechanism,
            payload,
            database: "admin",
            client: IpAddr::from([10, 0, 0, last]),
            app_name: None,
            skip_empty: true,
        }
    }

    /// Whether the address may still try.
    async fn may_try(door: &Arc<Door>, last: u8) -> bool {
        let right = start(door, begun(Mechanism::Plain, b"\0lapsedb\0a2V5", last)).await;
        match right {
            Ok(Step::In(..)) => true,
            Ok(Step::Goes(..) | Step::Refused | Step::Malformed) => panic!("the key is right"),
            Err(fault) => {
                assert_eq!(fault.code(), Some(codes::AUTHENTICATION_FAILED));
                false
            }
        }
    }

    #[test]
    fn after_many_wrong_passwords_an_address_has_to_wait() {
        lapsedb_testkit::run(async {
            let door = door().await;
            let client = IpAddr::from([10, 0, 0, 1]);
            let wrong = start(&door, begun(Mechanism::Plain, b"\0lapsedb\0wrong", 1)).await;
            assert!(matches!(wrong, Ok(Step::Refused)));
            assert_eq!(door.throttle.failures(client), 1);
            assert!(may_try(&door, 1).await);
            // More than come back while the test runs.
            while door.throttle.failures(client) < 10_000 {
                door.throttle.failed(client);
            }
            assert!(
                !may_try(&door, 1).await,
                "the right password is refused too"
            );
            assert!(may_try(&door, 2).await, "another address is not concerned");
        });
    }

    #[test]
    fn a_wrong_proof_counts_and_what_proves_nothing_does_not() {
        lapsedb_testkit::run(async {
            let door = door().await;
            let scram = Mechanism::Scram(Hash::Sha256);
            let client = IpAddr::from([10, 0, 0, 1]);
            for _ in 0..200 {
                let step = start(&door, begun(scram, b"n,,n=lapsedb", 1)).await;
                assert!(matches!(step, Ok(Step::Malformed)));
                let step = start(&door, begun(scram, b"n,,n=lapsedb,r=x", 1)).await;
                assert!(matches!(step, Ok(Step::Goes(..))));
            }
            let mut wrong = 0;
            while may_try(&door, 1).await {
                wrong += 1;
                assert!(wrong < 100_000);
                let begun = start(&door, begun(scram, b"n,,n=lapsedb,r=x", 1)).await;
                if let Ok(Step::Goes(session, _)) = begun {
                    let step = session.step(&door, client, b"c=biws,r=x,p=AAAA");
                    assert!(!matches!(step, Ok(Step::Goes(..) | Step::In(..))));
                }
            }
            assert!(may_try(&door, 2).await);
        });
    }
}
