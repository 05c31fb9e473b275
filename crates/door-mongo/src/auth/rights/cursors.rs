//! Cursors that stay open when rights are taken away: the next batch needs what the first one needed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_value::{Object, Value};

use crate::auth::rights::actions::ROWS;
use crate::connection::Connection;
use crate::testing::{Bench, code, document};

const UNAUTHORIZED: i64 = 13;
const CURSOR_NOT_FOUND: i64 = 43;

/// Privileges on collections of the database, of the whole of it, of every database, and of the cluster.
const FIND_C: &str = r#"{"resource":{"db":"db","collection":"c"},"actions":["find"]}"#;
const FIND_D: &str = r#"{"resource":{"db":"db","collection":"d"},"actions":["find"]}"#;
const FIND_V: &str = r#"{"resource":{"db":"db","collection":"v"},"actions":["find"]}"#;
const LIST_INDEXES: &str = r#"{"resource":{"db":"db","collection":"c"},"actions":["listIndexes"]}"#;
const INDEX_STATS: &str = r#"{"resource":{"db":"db","collection":"c"},"actions":["indexStats"]}"#;
const COLL_STATS: &str = r#"{"resource":{"db":"db","collection":"c"},"actions":["collStats"]}"#;
const PLAN_CACHE: &str = r#"{"resource":{"db":"db","collection":"c"},"actions":["planCacheRead"]}"#;
const CHANGES_C: &str = r#"{"resource":{"db":"db","collection":"c"},"actions":["changeStream"]}"#;
const CHANGES_DB: &str = r#"{"resource":{"db":"db","collection":""},"actions":["changeStream"]}"#;
const FIND_DB: &str = r#"{"resource":{"db":"db","collection":""},"actions":["find"]}"#;
const CHANGES: &str = r#"{"resource":{"db":"","collection":""},"actions":["changeStream"]}"#;
const FIND: &str = r#"{"resource":{"db":"","collection":""},"actions":["find"]}"#;
const LIST: &str = r#"{"resource":{"db":"db","collection":""},"actions":["listCollections"]}"#;
const INPROG: &str = r#"{"resource":{"cluster":true},"actions":["inprog"]}"#;
const SESSIONS: &str = r#"{"resource":{"cluster":true},"actions":["listSessions"]}"#;

/// A command that opens a cursor: its database, itself, what it needs, and what one may have besides that does not help.
type Opens = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

#[rustfmt::skip]
const OPENS: &[Opens] = &[
    ("db", r#"{"find":"c","batchSize":0}"#, &[FIND_C], &[LIST_INDEXES, COLL_STATS]),
    ("db", r#"{"find":"c","batchSize":0,"sort":{"a":1}}"#, &[FIND_C], &[LIST_INDEXES]),
    ("db", r#"{"find":"v","batchSize":0}"#, &[FIND_V], &[FIND_C]),
    ("db", r#"{"aggregate":"c","pipeline":[],"cursor":{"batchSize":0}}"#, &[FIND_C], &[LIST_INDEXES, COLL_STATS]),
    ("db", r#"{"aggregate":"c","pipeline":[{"$lookup":{"from":"d","pipeline":[],"as":"l"}}],"cursor":{"batchSize":0}}"#, &[FIND_C, FIND_D], &[]),
    ("db", r#"{"aggregate":"c","pipeline":[{"$unionWith":"d"}],"cursor":{"batchSize":0}}"#, &[FIND_C, FIND_D], &[]),
    ("db", r#"{"aggregate":"c","pipeline":[{"$indexStats":{}}],"cursor":{"batchSize":0}}"#, &[INDEX_STATS], &[FIND_C]),
    ("db", r#"{"aggregate":"c","pipeline":[{"$collStats":{}}],"cursor":{"batchSize":0}}"#, &[COLL_STATS], &[FIND_C]),
    ("db", r#"{"aggregate":"c","pipeline":[{"$planCacheStats":{}}],"cursor":{"batchSize":0}}"#, &[PLAN_CACHE], &[FIND_C]),
    ("db", r#"{"aggregate":"c","pipeline":[{"$changeStream":{}}],"cursor":{"batchSize":0}}"#, &[CHANGES_C, FIND_C], &[]),
    ("db", r#"{"aggregate":1,"pipeline":[{"$changeStream":{}}],"cursor":{"batchSize":0}}"#, &[CHANGES_DB, FIND_DB], &[FIND_C, CHANGES_C]),
    ("admin", r#"{"aggregate":1,"pipeline":[{"$changeStream":{"allChangesForCluster":true}}],"cursor":{"batchSize":0}}"#, &[CHANGES, FIND], &[CHANGES_DB, FIND_DB]),
    ("admin", r#"{"aggregate":1,"pipeline":[{"$currentOp":{"allUsers":true,"idleConnections":true}}],"cursor":{"batchSize":0}}"#, &[INPROG], &[]),
    ("db", r#"{"aggregate":1,"pipeline":[{"$listLocalSessions":{"allUsers":true}}],"cursor":{"batchSize":0}}"#, &[SESSIONS], &[]),
    ("db", r#"{"listCollections":1,"cursor":{"batchSize":0}}"#, &[LIST], &[FIND_DB]),
    ("db", r#"{"listCollections":1,"nameOnly":true,"cursor":{"batchSize":0}}"#, &[LIST], &[FIND_DB]),
    ("db", r#"{"listIndexes":"c","cursor":{"batchSize":0}}"#, &[LIST_INDEXES], &[FIND_C]),
];

/// Ways to take a privilege from who has it by the role `r`, each with how it is given back.
const TAKEN: &[(&str, &str)] = &[
    (
        r#"{"revokePrivilegesFromRole":"r","privileges":[@]}"#,
        r#"{"grantPrivilegesToRole":"r","privileges":[@]}"#,
    ),
    (
        r#"{"updateRole":"r","privileges":[]}"#,
        r#"{"grantPrivilegesToRole":"r","privileges":[@]}"#,
    ),
    (
        r#"{"revokeRolesFromUser":"u","roles":["r"]}"#,
        r#"{"grantRolesToUser":"u","roles":["r"]}"#,
    ),
    (
        r#"{"updateUser":"u","roles":["rest"]}"#,
        r#"{"updateUser":"u","roles":["r","rest"]}"#,
    ),
    (r#"{"dropRole":"r"}"#, ""),
    (r#"{"dropAllRolesFromDatabase":1}"#, ""),
];

struct Setting {
    bench: Bench,
    master: Connection,
    user: Connection,
}

impl Setting {
    /// Somebody who may do what a command needs by the role `r`, and something else by another one.
    async fn new(needs: &[&str], rest: &[&str]) -> Setting {
        let bench = Bench::new().await;
        let mut master = bench.master();
        for command in [
            r#"{"insert":"c","documents":[{"_id":1,"a":1},{"_id":2,"a":2}]}"#,
            r#"{"insert":"d","documents":[{"_id":1}]}"#,
            r#"{"create":"v","viewOn":"c","pipeline":[]}"#,
        ] {
            bench.succeed(&mut master, "db", command).await;
        }
        for (role, privileges) in [("r", needs), ("rest", rest)] {
            let privileges = privileges.join(",");
            let create =
                format!(r#"{{"createRole":"{role}","privileges":[{privileges}],"roles":[]}}"#);
            bench.succeed(&mut master, "admin", &create).await;
        }
        let user = bench.user("admin", "u", &["r@admin", "rest@admin"]).await;
        Setting {
            bench,
            master,
            user,
        }
    }

    async fn administer(&mut self, command: &str) {
        self.bench.succeed(&mut self.master, "admin", command).await;
    }

    async fn more(&mut self, database: &str, cursor: i64, of: &str) -> i64 {
        let mut body = Object::new();
        body.push("getMore", Value::Int64(cursor));
        body.push("collection", of);
        body.push("batchSize", 1);
        if self.bench.door.service.documents_state().is_stream(cursor) {
            body.push("maxTimeMS", 1);
        }
        body.push("$db", database);
        code(&self.bench.ask_raw(&mut self.user, body).await)
    }
}

/// The number of a cursor and the collection to name with it.
fn opened(reply: &Object) -> (i64, String) {
    let cursor = reply.get("cursor").unwrap();
    let namespace = cursor.get("ns").as_str().unwrap();
    let (_, of) = namespace.split_once('.').unwrap();
    (cursor.get("id").as_i64().unwrap(), of.to_owned())
}

#[tokio::test]
async fn the_next_batch_needs_each_right_that_the_first_one_needed() {
    for (database, command, needs, rest) in OPENS {
        for taken in *needs {
            let mut setting = Setting::new(needs, rest).await;
            let reply = setting
                .bench
                .ask(&mut setting.user, database, command)
                .await;
            assert_eq!(code(&reply), 0, "{command}: {reply:?}");
            let (cursor, of) = opened(&reply);
            assert_ne!(cursor, 0, "{command}");
            let (take, give) = TAKEN[0];
            setting.administer(&take.replace('@', taken)).await;
            let refused = setting.more(database, cursor, &of).await;
            assert_eq!(refused, UNAUTHORIZED, "{command} without {taken}");
            setting.administer(&give.replace('@', taken)).await;
            let fetched = setting.more(database, cursor, &of).await;
            assert_eq!(fetched, 0, "{command} is open still");
        }
    }
}

#[tokio::test]
async fn a_right_may_be_taken_in_every_way_that_there_is() {
    for (take, give) in TAKEN {
        let mut setting = Setting::new(&[FIND_C], &[LIST_INDEXES]).await;
        let find = r#"{"find":"c","batchSize":0}"#;
        let reply = setting.bench.succeed(&mut setting.user, "db", find).await;
        let (cursor, of) = opened(&reply);
        setting.administer(&take.replace('@', FIND_C)).await;
        assert_eq!(
            setting.more("db", cursor, &of).await,
            UNAUTHORIZED,
            "{take}"
        );
        if !give.is_empty() {
            setting.administer(&give.replace('@', FIND_C)).await;
            assert_eq!(setting.more("db", cursor, &of).await, 0, "{give}");
        }
    }
    let mut setting = Setting::new(&[FIND_C], &[]).await;
    let find = r#"{"find":"c","batchSize":0}"#;
    let reply = setting.bench.succeed(&mut setting.user, "db", find).await;
    setting.administer(r#"{"dropUser":"u"}"#).await;
    let (cursor, of) = opened(&reply);
    assert_eq!(setting.more("db", cursor, &of).await, UNAUTHORIZED);
}

#[tokio::test]
async fn every_command_that_opens_a_cursor_is_tried() {
    let bench = Bench::new().await;
    let tried: Vec<_> = OPENS.iter().map(|row| first(row.1)).collect();
    for (database, command, _) in ROWS {
        let mut master = bench.master();
        let insert = r#"{"insert":"c","documents":[{"_id":1},{"_id":2}]}"#;
        bench.ask(&mut master, "db", insert).await;
        let reply = bench.ask(&mut master, database, command).await;
        if reply.contains_key("cursor") {
            let name = first(command);
            assert!(tried.contains(&name) || name == "getMore", "{command}");
        }
    }
}

fn first(command: &str) -> String {
    document(command).keys().next().unwrap().to_string()
}

#[tokio::test]
async fn names_that_were_chosen_by_rights_are_shown_to_the_end() {
    let mut setting = Setting::new(&[FIND_C, FIND_D], &[]).await;
    let list = r#"{"listCollections":1,"nameOnly":true,"authorizedCollections":true,"cursor":{"batchSize":1}}"#;
    let reply = setting.bench.succeed(&mut setting.user, "db", list).await;
    let (cursor, of) = opened(&reply);
    setting
        .administer(r#"{"updateRole":"r","privileges":[]}"#)
        .await;
    assert_eq!(setting.more("db", cursor, &of).await, 0);
}

#[tokio::test]
async fn an_open_transaction_is_committed_but_does_nothing_more() {
    let write = r#"{"resource":{"db":"db","collection":"c"},"actions":["find","insert"]}"#;
    let mut setting = Setting::new(&[write], &[]).await;
    let mut id = Object::new();
    id.push(
        "id",
        Value::Binary {
            subtype: 4,
            bytes: vec![1; 16],
        },
    );
    let within = |command: &str, database: &str, start: bool| {
        let mut body = document(command);
        body.push("lsid", id.clone());
        body.push("txnNumber", Value::Int64(1));
        if start {
            body.push("startTransaction", true);
        }
        body.push("autocommit", false);
        body.push("$db", database);
        body
    };
    let insert = within(r#"{"insert":"c","documents":[{"_id":3}]}"#, "db", true);
    let reply = setting.bench.ask_raw(&mut setting.user, insert).await;
    assert_eq!(code(&reply), 0, "{reply:?}");
    setting
        .administer(r#"{"updateRole":"r","privileges":[]}"#)
        .await;
    for (command, database, expected) in [
        (r#"{"find":"c"}"#, "db", UNAUTHORIZED),
        (
            r#"{"insert":"c","documents":[{"_id":4}]}"#,
            "db",
            UNAUTHORIZED,
        ),
        (r#"{"commitTransaction":1}"#, "admin", 0),
    ] {
        let body = within(command, database, false);
        let reply = setting.bench.ask_raw(&mut setting.user, body).await;
        assert_eq!(code(&reply), expected, "{command}: {reply:?}");
    }
    let count = r#"{"count":"c"}"#;
    let reply = setting
        .bench
        .succeed(&mut setting.master, "db", count)
        .await;
    assert_eq!(reply.get("n").and_then(Value::as_i64), Some(3));
}

#[tokio::test]
async fn who_has_the_right_to_closes_cursors_of_others() {
    let mut setting = Setting::new(&[FIND_C], &[]).await;
    let find = r#"{"find":"c","batchSize":0}"#;
    let reply = setting.bench.succeed(&mut setting.user, "db", find).await;
    let (cursor, of) = opened(&reply);
    let kill = format!(r#"{{"killCursors":"c","cursors":[{cursor}L]}}"#);
    for (at, (actions, expected)) in [
        ("find", UNAUTHORIZED),
        ("killCursors", UNAUTHORIZED),
        ("killAnyCursor", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let role = format!(
            r#"{{"createRole":"k{at}","privileges":[{{"resource":{{"db":"db","collection":"c"}},"actions":["{actions}"]}}],"roles":[]}}"#
        );
        setting.administer(&role).await;
        let name = format!("other{at}");
        let role = format!("k{at}@admin");
        let mut other = setting.bench.user("admin", &name, &[&role]).await;
        let reply = setting.bench.ask(&mut other, "db", &kill).await;
        assert_eq!(code(&reply), expected, "{actions}");
    }
    assert_eq!(
        setting.more("db", cursor, &of).await,
        CURSOR_NOT_FOUND,
        "it is closed"
    );
    // One's own are closed without any right, and who closes what is not there hurts nobody.
    let reply = setting.bench.succeed(&mut setting.user, "db", find).await;
    let (cursor, _) = opened(&reply);
    setting
        .administer(r#"{"updateRole":"r","privileges":[]}"#)
        .await;
    for expected in ["cursorsKilled", "cursorsNotFound"] {
        let kill = format!(r#"{{"killCursors":"c","cursors":[{cursor}L]}}"#);
        let reply = setting.bench.succeed(&mut setting.user, "db", &kill).await;
        let named = reply.get(expected).and_then(Value::as_array).unwrap();
        assert_eq!(named.len(), 1, "{expected}: {reply:?}");
    }
}
