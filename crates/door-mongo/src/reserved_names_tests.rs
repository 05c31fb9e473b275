//! Reserved names: every command that names a collection to write to, with names of each kind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_value::{Object, Value};

use crate::connection::Connection;
use crate::registry::COMMANDS;
use crate::testing::{Bench, code, document};

/// The names that are tried. Clients may use the last one as any other.
const NAMES: [&str; 5] = [
    "system.profile",
    "system.views",
    "system.foo",
    "a.system.b",
    "system.js",
];

/// The codes for these names, as mongod 6.0.5 has answered them, but that nobody makes `system.views` here: it is there as soon
/// as there is a view. `@` is the name.
type Row = (&'static str, &'static str, [i64; 5]);

const WRITTEN: [i64; 5] = [73, 73, 73, 2, 0];
const MISSING: [i64; 5] = [26; 5];

#[rustfmt::skip]
const TARGETS: &[Row] = &[
    ("db", r#"{"aggregate":"src","pipeline":[{"$out":"@"}],"cursor":{}}"#, [17385, 17385, 17385, 20, 17385]),
    ("other", r#"{"aggregate":"src","pipeline":[{"$out":{"db":"db","coll":"@"}}],"cursor":{}}"#, [17385, 17385, 17385, 20, 17385]),
    ("db", r#"{"aggregate":"src","pipeline":[{"$merge":"@"}],"cursor":{}}"#, [31319, 31319, 31319, 2, 31319]),
    ("db", r#"{"aggregate":"none","pipeline":[{"$merge":{"into":{"db":"db","coll":"@"}}}],"cursor":{}}"#, [31319, 31319, 31319, 2, 31319]),
    ("db", r#"{"collMod":"@","validator":{}}"#, MISSING),
    ("db", r#"{"convertToCapped":"@","size":4096}"#, MISSING),
    ("db", r#"{"create":"@"}"#, [0, 73, 73, 2, 0]),
    ("db", r#"{"create":"@","capped":true,"size":4096}"#, [0, 73, 73, 2, 0]),
    ("db", r#"{"create":"@","viewOn":"src","pipeline":[]}"#, [73, 73, 73, 2, 73]),
    ("db", r#"{"create":"@","timeseries":{"timeField":"t"}}"#, [73, 73, 73, 2, 73]),
    ("db", r#"{"createIndexes":"@","indexes":[{"key":{"a":1},"name":"a"}]}"#, WRITTEN),
    ("db", r#"{"customAction":"CreateCollection","collection":"@"}"#, WRITTEN),
    ("db", r#"{"delete":"@","deletes":[{"q":{},"limit":0}]}"#, WRITTEN),
    ("db", r#"{"drop":"@"}"#, [0; 5]),
    ("db", r#"{"dropIndexes":"@","index":"*"}"#, MISSING),
    ("db", r#"{"explain":{"aggregate":"src","pipeline":[{"$out":"@"}],"cursor":{}}}"#, [17385, 17385, 17385, 20, 17385]),
    ("db", r#"{"findAndModify":"@","query":{"_id":1},"update":{"a":1},"upsert":true}"#, WRITTEN),
    ("db", r#"{"findAndModify":"@","query":{"_id":1},"remove":true}"#, WRITTEN),
    ("db", r#"{"insert":"@","documents":[{"_id":1}]}"#, WRITTEN),
    ("admin", r#"{"renameCollection":"db.src","to":"db.@"}"#, [20, 20, 20, 20, 0]),
    ("admin", r#"{"renameCollection":"db.src","to":"db.@","dropTarget":true}"#, [20, 20, 20, 20, 0]),
    ("admin", r#"{"renameCollection":"db.@","to":"db.new"}"#, [20, 20, 20, 20, 26]),
    ("admin", r#"{"shardCollection":"db.@","key":{"_id":1}}"#, WRITTEN),
    ("db", r#"{"update":"@","updates":[{"q":{"_id":1},"u":{"a":1}}]}"#, WRITTEN),
    ("db", r#"{"update":"@","updates":[{"q":{"_id":1},"u":{"a":1},"upsert":true}]}"#, WRITTEN),
];

/// Commands that write to no collection that they name.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "abortTransaction", "authenticate", "buildInfo", "collStats", "commitTransaction", "compact", "configureFailPoint", "connectionStatus",
    "count", "createRole", "createSearchIndexes", "createUser", "currentOp", "dataSize", "dbStats", "distinct",
    "dropAllRolesFromDatabase", "dropAllUsersFromDatabase", "dropDatabase", "dropRole", "dropSearchIndex", "dropUser",
    "enableSharding", "endSessions", "features", "find", "fsync", "getCmdLineOpts", "getDefaultRWConcern", "getLog", "getMore",
    "getParameter", "grantPrivilegesToRole", "grantRolesToRole", "grantRolesToUser", "hello", "hostInfo", "killAllSessions",
    "killAllSessionsByPattern", "killCursors", "killOp", "killSessions", "listCollections", "listCommands", "listDatabases",
    "listIndexes", "listSearchIndexes", "logout", "mapReduce", "ping", "planCacheClear", "planCacheListFilters",
    "planCacheSetFilter", "profile", "reIndex", "refreshSessions", "replSetGetConfig", "replSetGetStatus",
    "revokePrivilegesFromRole", "revokeRolesFromRole", "revokeRolesFromUser", "rolesInfo", "saslContinue", "saslStart",
    "serverStatus", "setParameter", "startSession", "top", "updateRole", "updateSearchIndex", "updateUser", "usersInfo",
    "validate", "whatsmyuri",
];

/// The collections of the database.
async fn names(bench: &Bench, master: &mut Connection) -> Vec<String> {
    let list = r#"{"listCollections":1,"nameOnly":true}"#;
    let reply = bench.succeed(master, "db", list).await;
    let listed = reply.get("cursor").unwrap().get("firstBatch").clone();
    let listed = listed.as_array().unwrap();
    let name = |one: &Value| one.get("name").as_str().unwrap().to_owned();
    let mut names: Vec<_> = listed.iter().map(name).collect();
    names.sort();
    names
}

async fn prepared() -> (Bench, Connection) {
    let bench = Bench::open_to_all().await;
    let mut master = bench.master();
    for database in ["db", "other"] {
        let insert = r#"{"insert":"src","documents":[{"_id":1}]}"#;
        bench.succeed(&mut master, database, insert).await;
    }
    (bench, master)
}

#[tokio::test]
async fn no_way_to_write_takes_a_reserved_name() {
    for (database, command, codes) in TARGETS {
        for (name, expected) in NAMES.iter().zip(codes) {
            let (bench, mut master) = prepared().await;
            let command = command.replace('@', name);
            let reply = bench.ask(&mut master, database, &command).await;
            assert_eq!(code(&reply), *expected, "{database} {command}: {reply:?}");
            if *expected != 0 {
                assert_eq!(names(&bench, &mut master).await, ["src"], "{command}");
            }
        }
    }
}

#[test]
fn every_command_is_tried_or_writes_to_no_collection() {
    let first = |command: &str| document(command).keys().next().unwrap().to_string();
    let tried: Vec<_> = TARGETS.iter().map(|row| first(row.1)).collect();
    for command in COMMANDS {
        let is_tried = tried.iter().any(|name| name == command.name);
        let is_other = OTHERS.contains(&command.name);
        assert!(is_tried != is_other, "{}", command.name);
    }
}

#[tokio::test]
async fn pipelines_write_to_no_database_of_the_server() {
    let (bench, mut master) = prepared().await;
    for (stage, expected) in [
        (r#"{"$out":{"db":"admin","coll":"x"}}"#, 31_321),
        (r#"{"$out":{"db":"local","coll":"x"}}"#, 31_321),
        (r#"{"$merge":{"into":{"db":"config","coll":"x"}}}"#, 31_320),
    ] {
        let command = format!(r#"{{"aggregate":"src","pipeline":[{stage}],"cursor":{{}}}}"#);
        let reply = bench.ask(&mut master, "db", &command).await;
        assert_eq!(code(&reply), expected, "{stage}");
    }
}

#[tokio::test]
async fn records_of_the_profiler_are_dropped_and_made_but_not_changed() {
    let (bench, mut master) = prepared().await;
    let capped = r#"{"create":"system.profile","capped":true,"size":1048576}"#;
    for (database, command, expected) in [
        ("db", capped, 0),
        ("db", r#"{"insert":"system.profile","documents":[{}]}"#, 73),
        (
            "db",
            r#"{"convertToCapped":"system.profile","size":4096}"#,
            2,
        ),
        (
            "db",
            r#"{"createIndexes":"system.profile","indexes":[{"key":{"a":1},"name":"a"}]}"#,
            73,
        ),
        (
            "admin",
            r#"{"renameCollection":"db.system.profile","to":"db.x"}"#,
            20,
        ),
        (
            "admin",
            r#"{"renameCollection":"db.src","to":"db.system.profile","dropTarget":true}"#,
            20,
        ),
        ("db", r#"{"profile":2}"#, 0),
        ("db", r#"{"drop":"system.profile"}"#, 20),
        ("db", r#"{"profile":0}"#, 0),
        ("db", r#"{"drop":"system.profile"}"#, 0),
        // One that is not capped would grow without end.
        ("db", r#"{"create":"system.profile"}"#, 0),
        ("db", r#"{"profile":1}"#, 48),
        ("db", r#"{"drop":"system.profile"}"#, 0),
        ("db", r#"{"profile":2}"#, 0),
    ] {
        let reply = bench.ask(&mut master, database, command).await;
        assert_eq!(code(&reply), expected, "{command}: {reply:?}");
    }
}

/// The level at which a database is profiled.
async fn level(bench: &Bench, master: &mut Connection) -> Option<i64> {
    let reply = bench.succeed(master, "db", r#"{"profile":-1}"#).await;
    reply.get("was").and_then(Value::as_i64)
}

#[tokio::test]
async fn a_database_that_is_not_dropped_is_profiled_on() {
    let (bench, mut master) = prepared().await;
    bench.succeed(&mut master, "db", r#"{"profile":2}"#).await;
    let mut within = document(r#"{"dropDatabase":1}"#);
    let mut id = Object::new();
    let bytes = vec![1; 16];
    id.push("id", Value::Binary { subtype: 4, bytes });
    within.push("lsid", id);
    within.push("txnNumber", Value::Int64(1));
    within.push("startTransaction", true);
    within.push("autocommit", false);
    within.push("$db", "db");
    let reply = bench.ask_raw(&mut master, within).await;
    assert_eq!(code(&reply), 263);
    assert_eq!(level(&bench, &mut master).await, Some(2));
    for (refused, expected) in [
        (r#"{"dropDatabase":1,"none":1}"#, 40_415),
        (r#"{"dropDatabase":2}"#, 5_255_100),
    ] {
        let reply = bench.ask(&mut master, "db", refused).await;
        assert_eq!(code(&reply), expected, "{refused}");
        assert_eq!(level(&bench, &mut master).await, Some(2), "{refused}");
    }
    bench
        .succeed(&mut master, "db", r#"{"dropDatabase":1}"#)
        .await;
    assert_eq!(level(&bench, &mut master).await, Some(0));
    assert!(names(&bench, &mut master).await.is_empty());
}
