//! What each command needs: which actions on which resources.

use lapsedb_service::documents::{Fault, shell};
use lapsedb_service::logins::action::Action;
use lapsedb_service::logins::privilege::{Privileges, Target};
use lapsedb_service::operations::PROFILE_COLLECTION;
use lapsedb_value::{Object, Value};

use crate::auth::login::{Kind, Login};
use crate::codes;
use crate::fields::truth;
use crate::request::Request;

mod users;

/// Bytes of a command that a refusal shows.
const SHOWN_BYTES_MAX: usize = 4 * 1024;
/// Members that are never shown.
const SECRET: [&str; 3] = ["pwd", "payload", "key"];
/// Members that mostly come beside the command, and hold documents.
const LONG: [&str; 3] = ["documents", "updates", "deletes"];

/// Refuses a command that who is logged in may not run.
pub(crate) fn check(login: &Login, asked: &Request) -> Result<(), Fault> {
    let allowed = match &login.kind {
        Kind::Master => true,
        Kind::Reader => judge(&login.privileges(), login, asked),
        Kind::Stored(access) => judge(access.privileges(), login, asked),
    };
    if allowed {
        return Ok(());
    }
    let message = format!(
        "not authorized on {} to execute command {}",
        asked.database,
        shown(asked)
    );
    Err(Fault::new(codes::UNAUTHORIZED, message))
}

/// The command as text, without secrets and without its documents.
fn shown(asked: &Request) -> String {
    let mut body = Object::with_capacity(asked.body.len() + 2);
    if let Some(explained) = &asked.explained {
        body.push(
            asked.name.clone(),
            Value::Object(without_secrets(&explained.body)),
        );
    }
    for (name, value) in without_secrets(&asked.body) {
        body.push(name, value);
    }
    body.push("$db", asked.database.as_str());
    let mut text = shell::text(&Value::Object(body));
    if text.len() > SHOWN_BYTES_MAX {
        let end = text.floor_char_boundary(SHOWN_BYTES_MAX);
        text.truncate(end);
        text.push_str("...");
    }
    text
}

fn without_secrets(body: &Object) -> Object {
    let mut shown = Object::with_capacity(body.len());
    for (name, value) in body.iter() {
        if SECRET.contains(&name.as_str()) {
            shown.push(name.clone(), "xxx");
        } else if !LONG.contains(&name.as_str()) {
            shown.push(name.clone(), value.clone());
        }
    }
    shown
}

fn judge(privileges: &Privileges, login: &Login, asked: &Request) -> bool {
    let on = Rights { privileges, asked };
    match asked.command.name {
        // The service decides: from the stages as it has parsed them; from what a cursor was opened by, and by whom.
        "aggregate" | "getMore" | "killCursors" => true,
        // The last is refused by the command itself.
        "count" | "distinct" | "find" | "mapReduce" => on.collection(&[Action::Find]),
        "dataSize" => on.namespace(&asked.name, &[Action::Find]),
        "insert" => on.writes(&[Action::Insert]),
        "delete" => on.collection(&[Action::Remove]),
        "update" if on.upserts() => on.writes(&[Action::Update, Action::Insert]),
        "update" => on.writes(&[Action::Update]),
        "findAndModify" => on.modifies(),
        "explain" => on.explains(login),
        // Of what a view shows, here and at `collMod`, the service decides.
        "create" => on.collection(&[Action::CreateCollection]),
        "createIndexes" => on.collection(&[Action::CreateIndex]),
        "drop" => on.collection(&[Action::DropCollection]),
        "dropIndexes" => on.collection(&[Action::DropIndex]),
        "collMod" => on.collection(&[Action::CollMod]),
        "collStats" => on.collection(&[Action::CollStats]),
        "listIndexes" => on.collection(&[Action::ListIndexes]),
        "createSearchIndexes" => on.collection(&[Action::CreateSearchIndexes]),
        "dropSearchIndex" => on.collection(&[Action::DropSearchIndex]),
        "listSearchIndexes" => on.collection(&[Action::ListSearchIndexes]),
        "updateSearchIndex" => on.collection(&[Action::UpdateSearchIndex]),
        "validate" => on.collection(&[Action::Validate]),
        "compact" => on.collection(&[Action::Compact]),
        "reIndex" => on.collection(&[Action::ReIndex]),
        "convertToCapped" => on.collection(&[Action::ConvertToCapped]),
        "cloneCollectionAsCapped" => on.clones(),
        "renameCollection" => on.renames(),
        "planCacheClear" => on.collection(&[Action::PlanCacheWrite]),
        "planCacheListFilters" | "planCacheSetFilter" => {
            on.collection(&[Action::PlanCacheIndexFilter])
        }
        "customAction" => on.provisions(),
        "shardCollection" => on.namespace(&asked.name, &[Action::EnableSharding]),
        "enableSharding" => on.shards(),
        "dbHash" => on.database(&[Action::DbHash]),
        "dbStats" => on.database(&[Action::DbStats]),
        "dropDatabase" => on.database(&[Action::DropDatabase]),
        "listCollections" => {
            on.database(&[Action::ListCollections])
                || (on.truth("nameOnly")
                    && on.truth("authorizedCollections")
                    && privileges.know_database(&asked.database))
        }
        "profile" => on.database(&[Action::EnableProfiler]) || on.looks_at_level(),
        other => match on.on_users(login) {
            Some(allowed) => allowed,
            None => on.cluster(other),
        },
    }
}

struct Rights<'a> {
    privileges: &'a Privileges,
    asked: &'a Request,
}

impl Rights<'_> {
    fn all(&self, actions: &[Action], target: &Target) -> bool {
        actions
            .iter()
            .all(|action| self.privileges.allow(*action, target))
    }

    fn everywhere(&self, action: Action) -> bool {
        self.all(&[action], &Target::Database(String::new()))
    }

    fn database(&self, actions: &[Action]) -> bool {
        self.all(actions, &Target::Database(self.asked.database.clone()))
    }

    /// The collection that the command names by its own name; else its database.
    fn own(&self) -> Target {
        match self.asked.body.get(&self.asked.name) {
            Some(Value::String(name)) => {
                Target::Collection(self.asked.database.clone(), name.to_string())
            }
            Some(_) | None => Target::Database(self.asked.database.clone()),
        }
    }

    fn collection(&self, actions: &[Action]) -> bool {
        self.all(actions, &self.own())
    }

    /// A database and a collection in one text.
    fn namespace(&self, member: &str, actions: &[Action]) -> bool {
        let name = self.asked.body.get(member).and_then(Value::as_str);
        match name.and_then(|name| name.split_once('.')) {
            Some((database, name)) => {
                let target = Target::Collection(database.to_owned(), name.to_owned());
                self.all(actions, &target)
            }
            // What is no name is refused by the command itself.
            None => self.database(actions),
        }
    }

    /// A truth, read as the command reads it; what is none is refused there.
    fn truth(&self, member: &str) -> bool {
        self.asked.body.get(member).and_then(truth) == Some(true)
    }

    fn writes(&self, actions: &[Action]) -> bool {
        self.collection(actions)
            && (!self.truth("bypassDocumentValidation")
                || self.collection(&[Action::BypassDocumentValidation]))
    }

    fn upserts(&self) -> bool {
        let updates = self.asked.body.get("updates").and_then(Value::as_array);
        updates.unwrap_or_default().iter().any(|update| {
            !matches!(
                update.get("upsert"),
                Value::Undefined | Value::Null | Value::Bool(false)
            )
        })
    }

    fn modifies(&self) -> bool {
        let mut actions = vec![Action::Find];
        if self.truth("remove") {
            actions.push(Action::Remove);
        } else {
            actions.push(Action::Update);
        }
        if self.truth("upsert") {
            actions.push(Action::Insert);
        }
        self.writes(&actions)
    }

    /// Who may run a command may have it explained.
    fn explains(&self, login: &Login) -> bool {
        match &self.asked.explained {
            // What is no command is refused by the command itself.
            None => true,
            Some(explained) => judge(self.privileges, login, explained),
        }
    }

    /// Throughput is seen by who sees the collections, and set by who makes them.
    fn provisions(&self) -> bool {
        let action = self
            .asked
            .body
            .get(&self.asked.name)
            .and_then(Value::as_str);
        if action.is_some_and(|action| action.starts_with("Get")) {
            return self.database(&[Action::ListCollections]);
        }
        self.database(&[Action::CreateCollection, Action::CollMod])
    }

    fn shards(&self) -> bool {
        let database = self
            .asked
            .body
            .get(&self.asked.name)
            .and_then(Value::as_str);
        let target = Target::Database(database.unwrap_or_default().to_owned());
        self.all(&[Action::EnableSharding], &target)
    }

    fn renames(&self) -> bool {
        let name = |member: &str| {
            let name = self.asked.body.get(member).and_then(Value::as_str)?;
            name.split_once('.')
        };
        let (Some((from, source)), Some((to, target))) = (name(&self.asked.name), name("to"))
        else {
            // What is no name is refused by the command itself.
            return true;
        };
        let place =
            |database: &str, name: &str| Target::Collection(database.to_owned(), name.to_owned());
        let (source, target) = (place(from, source), place(to, target));
        let drops = !self.truth("dropTarget") || self.all(&[Action::DropCollection], &target);
        let renames = [Action::RenameCollectionSameDb];
        if from == to {
            // Whoever may read what has the new name, but not the old one, would read by renaming.
            let reads = |place: &Target| self.all(&[Action::Find], place);
            let reveals = reads(&target) && !reads(&source);
            let allowed = self.all(&renames, &source) && self.all(&renames, &target);
            return drops && allowed && !reveals;
        }
        drops
            && self.all(&[Action::Find, Action::DropCollection], &source)
            && self.all(&[Action::Insert, Action::CreateIndex], &target)
    }

    /// Who may read the records may know the level.
    fn looks_at_level(&self) -> bool {
        let body = &self.asked.body;
        let level = body.get(&self.asked.name).and_then(Value::as_f64);
        let changes = ["slowms", "sampleRate", "filter"];
        let records =
            Target::Collection(self.asked.database.clone(), PROFILE_COLLECTION.to_owned());
        level == Some(-1.0)
            && !changes.iter().any(|member| body.contains_key(member))
            && self.all(&[Action::Find], &records)
    }

    fn clones(&self) -> bool {
        let name = self.asked.body.get("toCollection").and_then(Value::as_str);
        let target = Target::Collection(
            self.asked.database.to_owned(),
            name.unwrap_or_default().to_owned(),
        );
        let actions = [Action::Insert, Action::CreateIndex, Action::ConvertToCapped];
        self.collection(&[Action::Find]) && self.all(&actions, &target)
    }

    /// Commands on the server as a whole. What is not listed is for who may do everything.
    fn cluster(&self, command: &str) -> bool {
        let action = match command {
            // Everybody who is logged in may, and sees what is theirs.
            "abortTransaction" | "authenticate" | "buildInfo" | "commitTransaction"
            | "configureFailPoint" | "connectionStatus" | "features" | "hello" | "isdbgrid"
            | "listCommands" | "listDatabases" | "logout" | "ping" | "saslContinue"
            | "saslStart" | "startSession" | "whatsmyuri" => return true,
            "endSessions" => return true,
            "killAllSessions" | "killAllSessionsByPattern" => Action::KillAnySession,
            "killSessions" | "refreshSessions" => return true,
            "currentOp" if self.truth("$ownOps") => return true,
            "currentOp" => Action::Inprog,
            "fsync" => Action::Fsync,
            "fsyncUnlock" => Action::Unlock,
            "getCmdLineOpts" => Action::GetCmdLineOpts,
            "getDefaultRWConcern" if self.asked.name == "setDefaultRWConcern" => {
                Action::SetDefaultRwConcern
            }
            "getDefaultRWConcern" => Action::GetDefaultRwConcern,
            "setDefaultRWConcern" => Action::SetDefaultRwConcern,
            "getLog" => Action::GetLog,
            "getParameter" => Action::GetParameter,
            "hostInfo" => Action::HostInfo,
            "killOp" => Action::Killop,
            "replSetGetConfig" => Action::ReplSetGetConfig,
            "replSetGetStatus" => Action::ReplSetGetStatus,
            "serverStatus" => Action::ServerStatus,
            "setFeatureCompatibilityVersion" => Action::SetFeatureCompatibilityVersion,
            "setParameter" => Action::SetParameter,
            "top" => Action::Top,
            _ => Action::AnyAction,
        };
        self.all(&[action], &Target::Cluster)
    }
}

#[cfg(test)]
mod actions;
#[cfg(test)]
mod cursors;
#[cfg(test)]
mod spellings;
#[cfg(test)]
mod tests;
