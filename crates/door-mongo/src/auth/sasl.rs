//! A login, message by message.

use std::sync::Arc;

use lapsedb_service::documents::Fault;

use crate::auth::Login;
use crate::auth::login::Kind;
use crate::auth::scram::{ClientFirst, Conversation, Credentials, Hash};
use crate::auth::users::Found;
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
    /// It is not.
    Refused,
}

/// What a client says of itself when it begins a login.
pub(crate) struct Start<'s> {
    pub(crate) mechanism: Mechanism,
    pub(crate) payload: &'s [u8],
    pub(crate) database: &'s str,
    pub(crate) app_name: Option<&'s str>,
    pub(crate) skip_empty: bool,
}

/// A client's first message.
pub(crate) async fn start(door: &Arc<Door>, start: Start<'_>) -> Result<Step, Fault> {
    let hash = match start.mechanism {
        Mechanism::Plain => return plain(door, &start).await,
        Mechanism::Scram(hash) => hash,
    };
    let Some(first) = ClientFirst::read(start.payload) else {
        return Ok(Step::Refused);
    };
    let found = door
        .users
        .find(door, hash, (start.database, &first.user), start.app_name)
        .await?;
    // Drivers guess the mechanism in their greeting, and ask for the right one when the guess is not taken up.
    if found.otherwise {
        return Ok(Step::Refused);
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

impl Session {
    /// A client's later message.
    pub(crate) fn step(mut self, payload: &[u8]) -> Step {
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
        return Ok(Step::Refused);
    };
    if !(acts_as.is_empty() || acts_as == user) {
        return Ok(Step::Refused);
    }
    let kind = door
        .users
        .check(door, (start.database, user), password, start.app_name)
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
