//! Each action and each command: a role with some actions alone may run the commands that need just these, and no other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_service::logins::action::{Action, Actions};
use lapsedb_service::logins::privilege::{Privileges, Resource};
use lapsedb_service::logins::{Access, Granted, User};
use lapsedb_value::{Object, Value};

use crate::auth::login::{Kind, Login};
use crate::auth::rights::check;
use crate::connection::Connection;
use crate::registry::COMMANDS;
use crate::request::Request;
use crate::testing::{Bench, code, document};

/// The actions that a command needs, in each of the ways to be allowed it.
pub(super) type Ways = &'static [&'static [&'static str]];

/// Who is logged in may.
const OPEN: Ways = &[&[]];

/// What rights are decided from the stages for is [`PIPELINES`].
#[rustfmt::skip]
pub(super) const ROWS: &[(&str, &str, Ways)] = &[
    ("db", r#"{"abortTransaction":1}"#, OPEN),
    ("db", r#"{"authenticate":1}"#, OPEN),
    ("db", r#"{"buildInfo":1}"#, OPEN),
    ("db", r#"{"collMod":"c"}"#, &[&["collMod"]]),
    ("db", r#"{"collStats":"c"}"#, &[&["collStats"]]),
    ("db", r#"{"commitTransaction":1}"#, OPEN),
    ("db", r#"{"compact":"c"}"#, &[&["compact"]]),
    ("admin", r#"{"configureFailPoint":"failCommand","mode":"off"}"#, OPEN),
    ("db", r#"{"connectionStatus":1}"#, OPEN),
    ("db", r#"{"convertToCapped":"c","size":1}"#, &[&["convertToCapped"]]),
    ("db", r#"{"count":"c"}"#, &[&["find"]]),
    ("db", r#"{"create":"c"}"#, &[&["createCollection"]]),
    ("db", r#"{"createIndexes":"c"}"#, &[&["createIndex"]]),
    ("db", r#"{"createRole":"r","privileges":[],"roles":[]}"#, &[&["createRole"]]),
    ("db", r#"{"createRole":"r","privileges":[],"roles":["read"]}"#, &[&["createRole", "grantRole"]]),
    ("db", r#"{"createRole":"r","privileges":[{"resource":{"db":"db","collection":""},"actions":["find"]}],"roles":[]}"#, &[&["createRole", "grantRole"]]),
    ("db", r#"{"createSearchIndexes":"c"}"#, &[&["createSearchIndexes"]]),
    ("db", r#"{"dropSearchIndex":"c"}"#, &[&["dropSearchIndex"]]),
    ("db", r#"{"listSearchIndexes":"c"}"#, &[&["listSearchIndexes"]]),
    ("db", r#"{"updateSearchIndex":"c"}"#, &[&["updateSearchIndex"]]),
    ("db", r#"{"createUser":"u","pwd":"p","roles":[]}"#, &[&["createUser"]]),
    ("db", r#"{"createUser":"u","pwd":"p","roles":["read"]}"#, &[&["createUser", "grantRole"]]),
    ("admin", r#"{"currentOp":1}"#, &[&["inprog"]]),
    ("admin", r#"{"currentOp":1,"$ownOps":true}"#, OPEN),
    ("db", r#"{"customAction":"GetCollection","collection":"c"}"#, &[&["listCollections"]]),
    ("db", r#"{"customAction":"UpdateCollection","collection":"c"}"#, &[&["createCollection", "collMod"]]),
    ("db", r#"{"dataSize":"db.c"}"#, &[&["find"]]),
    ("db", r#"{"dbStats":1}"#, &[&["dbStats"]]),
    ("db", r#"{"delete":"c"}"#, &[&["remove"]]),
    ("db", r#"{"distinct":"c"}"#, &[&["find"]]),
    ("db", r#"{"drop":"c"}"#, &[&["dropCollection"]]),
    ("db", r#"{"dropAllRolesFromDatabase":1}"#, &[&["dropRole"]]),
    ("db", r#"{"dropAllUsersFromDatabase":1}"#, &[&["dropUser"]]),
    ("db", r#"{"dropDatabase":1}"#, &[&["dropDatabase"]]),
    ("db", r#"{"dropIndexes":"c"}"#, &[&["dropIndex"]]),
    ("db", r#"{"dropRole":"r"}"#, &[&["dropRole"]]),
    ("db", r#"{"dropUser":"u"}"#, &[&["dropUser"]]),
    ("admin", r#"{"enableSharding":"db"}"#, &[&["enableSharding"]]),
    ("db", r#"{"endSessions":[]}"#, OPEN),
    ("db", r#"{"explain":{"find":"c"}}"#, &[&["find"]]),
    ("db", r#"{"explain":{"delete":"c"}}"#, &[&["remove"]]),
    ("db", r#"{"features":1}"#, OPEN),
    ("db", r#"{"find":"c"}"#, &[&["find"]]),
    ("db", r#"{"findAndModify":"c","update":{}}"#, &[&["find", "update"]]),
    ("db", r#"{"findAndModify":"c","remove":true}"#, &[&["find", "remove"]]),
    ("db", r#"{"findAndModify":"c","update":{},"upsert":true}"#, &[&["find", "update", "insert"]]),
    ("admin", r#"{"fsync":1}"#, &[&["fsync"]]),
    ("admin", r#"{"getCmdLineOpts":1}"#, &[&["getCmdLineOpts"]]),
    ("admin", r#"{"getDefaultRWConcern":1}"#, &[&["getDefaultRWConcern"]]),
    ("admin", r#"{"setDefaultRWConcern":1}"#, &[&["setDefaultRWConcern"]]),
    ("admin", r#"{"getLog":"global"}"#, &[&["getLog"]]),
    // By what a cursor was opened is [`super::cursors`].
    ("db", r#"{"getMore":1L,"collection":"c"}"#, OPEN),
    ("admin", r#"{"getParameter":"*"}"#, &[&["getParameter"]]),
    ("db", r#"{"grantPrivilegesToRole":"r","privileges":[{"resource":{"db":"db","collection":""},"actions":["find"]}]}"#, &[&["grantRole"]]),
    ("db", r#"{"grantRolesToRole":"r","roles":["read"]}"#, &[&["grantRole"]]),
    ("db", r#"{"grantRolesToUser":"u","roles":["read"]}"#, &[&["grantRole"]]),
    ("db", r#"{"hello":1}"#, OPEN),
    ("admin", r#"{"hostInfo":1}"#, &[&["hostInfo"]]),
    ("db", r#"{"insert":"c"}"#, &[&["insert"]]),
    ("db", r#"{"insert":"c","bypassDocumentValidation":true}"#, &[&["insert", "bypassDocumentValidation"]]),
    ("admin", r#"{"killAllSessions":[]}"#, &[&["killAnySession"]]),
    ("admin", r#"{"killAllSessionsByPattern":[]}"#, &[&["killAnySession"]]),
    ("db", r#"{"killCursors":"c","cursors":[]}"#, OPEN),
    ("admin", r#"{"killOp":1,"op":1}"#, &[&["killop"]]),
    ("db", r#"{"killSessions":[]}"#, OPEN),
    ("db", r#"{"listCollections":1}"#, &[&["listCollections"]]),
    ("db", r#"{"listCommands":1}"#, OPEN),
    ("admin", r#"{"listDatabases":1}"#, OPEN),
    ("db", r#"{"listIndexes":"c"}"#, &[&["listIndexes"]]),
    ("db", r#"{"logout":1}"#, OPEN),
    ("db", r#"{"mapReduce":"c"}"#, &[&["find"]]),
    ("db", r#"{"ping":1}"#, OPEN),
    ("db", r#"{"planCacheClear":"c"}"#, &[&["planCacheWrite"]]),
    ("db", r#"{"planCacheListFilters":"c"}"#, &[&["planCacheIndexFilter"]]),
    ("db", r#"{"planCacheSetFilter":"c"}"#, &[&["planCacheIndexFilter"]]),
    ("db", r#"{"profile":-1}"#, &[&["enableProfiler"], &["find"]]),
    ("db", r#"{"profile":-1,"slowms":1}"#, &[&["enableProfiler"]]),
    ("db", r#"{"profile":2}"#, &[&["enableProfiler"]]),
    ("db", r#"{"reIndex":"c"}"#, &[&["reIndex"]]),
    ("db", r#"{"refreshSessions":[]}"#, OPEN),
    ("admin", r#"{"renameCollection":"db.c","to":"db.d"}"#, &[&["renameCollectionSameDB"]]),
    ("admin", r#"{"renameCollection":"db.c","to":"db.d","dropTarget":true}"#, &[&["renameCollectionSameDB", "dropCollection"]]),
    ("admin", r#"{"renameCollection":"db.c","to":"other.d"}"#, &[&["find", "dropCollection", "insert", "createIndex"]]),
    ("admin", r#"{"replSetGetConfig":1}"#, &[&["replSetGetConfig"]]),
    ("admin", r#"{"replSetGetStatus":1}"#, &[&["replSetGetStatus"]]),
    ("db", r#"{"revokePrivilegesFromRole":"r","privileges":[{"resource":{"db":"db","collection":""},"actions":["find"]}]}"#, &[&["revokeRole"]]),
    ("db", r#"{"revokeRolesFromRole":"r","roles":["read"]}"#, &[&["revokeRole"]]),
    ("db", r#"{"revokeRolesFromUser":"u","roles":["read"]}"#, &[&["revokeRole"]]),
    ("db", r#"{"rolesInfo":1}"#, &[&["viewRole"]]),
    ("db", r#"{"saslContinue":1}"#, OPEN),
    ("db", r#"{"saslStart":1}"#, OPEN),
    ("admin", r#"{"serverStatus":1}"#, &[&["serverStatus"]]),
    ("admin", r#"{"setParameter":1}"#, &[&["setParameter"]]),
    ("admin", r#"{"shardCollection":"db.c"}"#, &[&["enableSharding"]]),
    ("db", r#"{"startSession":1}"#, OPEN),
    ("admin", r#"{"top":1}"#, &[&["top"]]),
    ("db", r#"{"update":"c","updates":[{"q":{},"u":{}}]}"#, &[&["update"]]),
    ("db", r#"{"update":"c","updates":[{"q":{},"u":{},"upsert":true}]}"#, &[&["update", "insert"]]),
    ("db", r#"{"updateRole":"r","roles":[]}"#, &[&["revokeRole"]]),
    ("db", r#"{"updateRole":"r","roles":["read"]}"#, &[&["revokeRole", "grantRole"]]),
    ("db", r#"{"updateUser":"u","pwd":"p"}"#, &[&["changePassword"]]),
    ("own", r#"{"updateUser":"u","pwd":"p"}"#, &[&["changePassword"], &["changeOwnPassword"]]),
    ("db", r#"{"updateUser":"u","customData":{}}"#, &[&["changeCustomData"]]),
    ("own", r#"{"updateUser":"u","customData":{}}"#, &[&["changeCustomData"], &["changeOwnCustomData"]]),
    ("db", r#"{"updateUser":"u","roles":["read"]}"#, &[&["revokeRole", "grantRole"]]),
    ("db", r#"{"usersInfo":1}"#, &[&["viewUser"]]),
    ("own", r#"{"usersInfo":"u"}"#, OPEN),
    ("db", r#"{"validate":"c"}"#, &[&["validate"]]),
    ("db", r#"{"whatsmyuri":1}"#, OPEN),
];

/// Pipelines, on a collection or on none.
#[rustfmt::skip]
const PIPELINES: &[(&str, &str, Ways)] = &[
    (r#""c""#, r#"{"$match":{}}"#, &[&["find"]]),
    (r#""c""#, r#"{"$lookup":{"from":"d","pipeline":[],"as":"l"}}"#, &[&["find"]]),
    (r#""c""#, r#"{"$out":"o"}"#, &[&["find", "insert", "remove"]]),
    (r#""c""#, r#"{"$merge":{"into":"m"}}"#, &[&["find", "insert", "update"]]),
    (r#""c""#, r#"{"$merge":{"into":"m","whenMatched":"fail"}}"#, &[&["find", "insert"]]),
    (r#""c""#, r#"{"$changeStream":{}}"#, &[&["find", "changeStream"]]),
    (r#""c""#, r#"{"$collStats":{"count":{}}}"#, &[&["collStats"]]),
    (r#""c""#, r#"{"$indexStats":{}}"#, &[&["indexStats"]]),
    (r#""c""#, r#"{"$planCacheStats":{}}"#, &[&["planCacheRead"]]),
    ("1", r#"{"$currentOp":{"allUsers":true}}"#, &[&["inprog"]]),
    ("1", r#"{"$currentOp":{}}"#, OPEN),
    ("1", r#"{"$listLocalSessions":{"allUsers":true}}"#, &[&["listSessions"]]),
    ("1", r#"{"$documents":[{"a":1}]}"#, OPEN),
];

fn named(names: &[&str]) -> Vec<Action> {
    let action = |name: &&str| Action::named(name).unwrap_or_else(|| panic!("no action {name}"));
    names.iter().map(action).collect()
}

/// Somebody named `u` of the database `own` with these actions on everything.
fn login(actions: &[Action]) -> Login {
    let mut granted = Granted::default();
    let everything = Actions::of(actions);
    granted.privileges.add(&Resource::Everything, everything);
    let user = User {
        name: "u".to_owned(),
        database: "own".to_owned(),
        id: [0; 16],
        credentials: Object::new(),
        roles: Vec::new(),
        custom_data: None,
    };
    Login {
        user: "u".to_owned(),
        database: "own".to_owned(),
        kind: Kind::Stored(Access::of(&user, granted)),
    }
}

/// Whether some actions are enough for a command.
fn enough(ways: Ways, actions: &[Action]) -> bool {
    let mut ways = ways.iter().map(|way| named(way));
    actions.contains(&Action::AnyAction)
        || ways.any(|way| way.iter().all(|action| actions.contains(action)))
}

/// Every single action, and of every way all actions, and all but one.
fn tried(ways: Ways) -> Vec<Vec<Action>> {
    let mut sets: Vec<Vec<Action>> = Action::ALL.iter().map(|action| vec![*action]).collect();
    sets.push(Vec::new());
    for way in ways.iter().map(|way| named(way)) {
        for at in 0..way.len() {
            let mut others = way.clone();
            others.remove(at);
            sets.push(others);
        }
        sets.push(way);
    }
    sets
}

#[test]
fn an_action_allows_the_commands_that_need_it_and_no_other() {
    let mut listed: Vec<String> = Vec::new();
    for (database, command, ways) in ROWS {
        let body = document(command);
        for actions in tried(ways) {
            let request = Request::parse((*database).to_owned(), body.clone());
            let request = request.unwrap_or_else(|refused| panic!("{:?}", refused.fault));
            let allowed = check(&login(&actions), &request).is_ok();
            assert_eq!(allowed, enough(ways, &actions), "{command} by {actions:?}");
            listed.push(request.command.name.to_owned());
        }
    }
    listed.push("aggregate".to_owned());
    for command in COMMANDS {
        let name = command.name;
        assert!(listed.iter().any(|one| one == name), "{name} has its row");
    }
}

/// Gives the role that a user has these actions on everything, and no other.
async fn give(bench: &Bench, master: &mut Connection, actions: &[Action]) {
    let mut all = Privileges::default();
    all.add(&Resource::Everything, Actions::of(actions));
    let mut update = document(r#"{"updateRole":"r"}"#);
    update.push("privileges", Value::Array(all.shown()));
    update.push("$db", "admin");
    let reply = bench.ask_raw(master, update).await;
    assert_eq!(code(&reply), 0, "{reply:?}");
}

#[tokio::test]
async fn a_role_is_changed_at_once_for_who_is_logged_in() {
    let bench = Bench::new().await;
    let mut master = bench.master();
    let role = r#"{"createRole":"r","privileges":[],"roles":[]}"#;
    bench.succeed(&mut master, "admin", role).await;
    let insert = r#"{"insert":"c","documents":[{"_id":1}]}"#;
    bench.succeed(&mut master, "db", insert).await;
    let mut user = bench.user("own", "u", &["r@admin"]).await;
    for (on, stage, ways) in PIPELINES {
        let command = format!(r#"{{"aggregate":{on},"pipeline":[{stage}],"cursor":{{}}}}"#);
        let database = if *on == "1" { "admin" } else { "db" };
        for actions in tried(ways) {
            // An action that is not for pipelines is as good as any other.
            if actions.len() == 1 && !PIPELINES.iter().any(|row| relates(row.2, actions[0])) {
                continue;
            }
            give(&bench, &mut master, &actions).await;
            let reply = bench.ask(&mut user, database, &command).await;
            let refused = code(&reply) == 13;
            let expected = !enough(ways, &actions);
            assert_eq!(refused, expected, "{command} by {actions:?}: {reply:?}");
        }
    }
}

/// Whether an action is needed in one of these ways.
fn relates(ways: Ways, action: Action) -> bool {
    let mut ways = ways.iter();
    action == Action::AnyAction || ways.any(|way| way.contains(&action.name()))
}
