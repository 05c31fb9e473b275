//! A login, message by message.

use subtle::ConstantTimeEq as _;

use crate::auth::scram::{ClientFirst, Conversation, Hash};
use crate::auth::{Login, User, Users};

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
    hash: Hash,
    user: String,
    database: String,
    conversation: Conversation,
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
    /// It is not.
    Refused,
}

impl Users {
    /// A client's first message.
    pub(crate) fn start(
        &self,
        mechanism: Mechanism,
        payload: &[u8],
        database: &str,
        skip_empty: bool,
    ) -> Step {
        match mechanism {
            Mechanism::Plain => self.plain(payload, database),
            Mechanism::Scram(hash) => {
                let Some(first) = ClientFirst::read(payload) else {
                    return Step::Refused;
                };
                let user = self.find(&first.user).unwrap_or(&self.nobody);
                let (conversation, message) = Conversation::begin(&first, user.credentials(hash));
                let session = Session {
                    hash,
                    user: first.user,
                    database: database.to_owned(),
                    conversation,
                    skip_empty,
                    proved: None,
                };
                Step::Goes(Box::new(session), message)
            }
        }
    }

    /// A client's later message.
    pub(crate) fn step(&self, mut session: Session, payload: &[u8]) -> Step {
        if let Some(login) = session.proved {
            return if payload.is_empty() {
                Step::In(login, Vec::new())
            } else {
                Step::Refused
            };
        }
        let user = self.find(&session.user).unwrap_or(&self.nobody);
        let finished = session
            .conversation
            .finish(payload, user.credentials(session.hash));
        match (finished, self.find(&session.user)) {
            (Some(message), Some(user)) => {
                let login = login(user, &session.database);
                if session.skip_empty {
                    return Step::In(login, message);
                }
                session.proved = Some(login);
                Step::Goes(Box::new(session), message)
            }
            (Some(_) | None, _) => Step::Refused,
        }
    }

    fn plain(&self, payload: &[u8], database: &str) -> Step {
        let mut parts = payload.split(|byte| *byte == 0);
        let (_, user, password) = (parts.next(), parts.next(), parts.next());
        let found = user
            .and_then(|name| std::str::from_utf8(name).ok())
            .and_then(|name| self.find(name));
        let given = password.unwrap_or_default();
        match found {
            Some(user) if bool::from(user.password.as_bytes().ct_eq(given)) => {
                Step::In(login(user, database), Vec::new())
            }
            Some(_) | None => Step::Refused,
        }
    }
}

fn login(user: &User, database: &str) -> Login {
    Login {
        user: user.name.clone(),
        database: database.to_owned(),
        read_only: user.read_only,
    }
}
