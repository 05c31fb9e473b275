//! Options of stages that read something else than a collection, parsed once for who decides on rights and for who reads.

use lapsedb_value::{Object, Value};

use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::sessions::{SessionId, Which};

/// What `$currentOp` is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CurrentOp {
    /// The operations of everybody, not only of who asks.
    pub(crate) all_users: bool,
    /// Also connections that wait for their client.
    pub(crate) idle: bool,
    /// Also cursors that wait for their client.
    pub(crate) idle_cursors: bool,
    /// Also transactions that wait for their client.
    pub(crate) idle_sessions: bool,
}

impl Default for CurrentOp {
    fn default() -> CurrentOp {
        CurrentOp {
            all_users: false,
            idle: false,
            idle_cursors: false,
            idle_sessions: true,
        }
    }
}

impl CurrentOp {
    /// Reads the options of the stage.
    ///
    /// # Errors
    /// When one of them is unknown or wrong.
    pub(crate) fn read(options: &Object) -> Result<CurrentOp> {
        let mut read = CurrentOp::default();
        for (name, value) in options {
            let Some(truth) = value.as_bool() else {
                return Err(Fault::new(
                    code::FAILED_TO_PARSE,
                    format!(
                        "The '{name}' parameter of the $currentOp stage must be a boolean value"
                    ),
                ));
            };
            match name.as_str() {
                "allUsers" => read.all_users = truth,
                "idleConnections" => read.idle = truth,
                "idleCursors" => read.idle_cursors = truth,
                "idleSessions" => read.idle_sessions = truth,
                // Nothing is cut short, and there are no shards.
                "localOps" | "truncateOps" | "targetAllNodes" | "backtrace" => {}
                _ => {
                    return Err(Fault::new(
                        code::FAILED_TO_PARSE,
                        format!("Unrecognized option '{name}' in $currentOp stage."),
                    ));
                }
            }
        }
        Ok(read)
    }
}

/// Whose sessions are listed.
pub(crate) struct ListedSessions {
    pub(crate) which: Which,
    /// Only sessions of who asks.
    pub(crate) own: bool,
}

/// Reads the options of `$listSessions` and `$listLocalSessions`: sessions of who asks, of everybody, or of some users.
///
/// # Errors
/// When one of them is unknown or wrong.
pub(crate) fn listed_sessions(
    ctx: &Ctx,
    session: Option<&SessionId>,
    options: &Object,
) -> Result<ListedSessions> {
    let wrong = |message: &str| Err(Fault::new(code::FAILED_TO_PARSE, message));
    let own = ctx.session_owner();
    let mut which = match (own, session) {
        (Some(own), _) => Which::Users(vec![own]),
        (None, Some(session)) => Which::Users(vec![session.user]),
        // Nobody has to log in, or the master key was shown.
        (None, None) => Which::All,
    };
    let mut is_own = true;
    for (name, value) in options.iter() {
        match (name.as_str(), value) {
            ("allUsers", Value::Bool(true)) if options.len() == 1 => {
                (which, is_own) = (Which::All, false);
            }
            ("allUsers", Value::Bool(false)) => {}
            ("users", Value::Array(users)) if options.len() == 1 => {
                let digest = |user: &Value| {
                    let text = |name: &str| user.get(name).as_str().map(str::to_owned);
                    Some(SessionId::user(&text("user")?, &text("db")?))
                };
                let Some(users) = users.iter().map(digest).collect::<Option<Vec<_>>>() else {
                    return wrong("users of $listSessions are documents with 'user' and 'db'");
                };
                is_own = users.iter().all(|user| Some(*user) == own);
                which = Which::Users(users);
            }
            _ => return wrong("$listSessions takes either allUsers or users"),
        }
    }
    Ok(ListedSessions { which, own: is_own })
}
