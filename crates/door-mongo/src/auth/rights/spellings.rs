//! Every command and every stage, asked by somebody without the right to it, however it is spelled: refused, with nothing
//! changed and nothing shown.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_service::documents::stage_names;
use lapsedb_value::{Object, Value};

use crate::connection::Connection;
use crate::registry::{COMMANDS, Login as Wanted};
use crate::testing::{Bench, code, document};

const UNAUTHORIZED: i64 = 13;
const DUPLICATE: i64 = 40_413;
/// What the one document that is not to be seen holds.
const SECRET: &str = "the-secret";
/// Databases whose names look like that of the one that is not open.
const LOOKALIKES: [&str; 3] = ["Victim", "VICTIM", "victim2"];

/// A command, and what somebody without rights sends of it.
enum Row {
    /// It needs a right on the database named.
    Needed(&'static str, &'static str, &'static str),
    /// Who is logged in may run it: it does nothing to others, and shows nothing of them.
    Open(&'static str, &'static str, &'static str),
}

use Row::{Needed, Open};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Open("abortTransaction", "admin", r#"{"abortTransaction":1}"#),
    Needed("aggregate", "victim", r#"{"aggregate":"secrets","pipeline":[],"cursor":{}}"#),
    Open("authenticate", "admin", r#"{"authenticate":1,"mechanism":"none"}"#),
    Open("buildInfo", "admin", r#"{"buildInfo":1}"#),
    Needed("collMod", "victim", r#"{"collMod":"secrets","validationLevel":"off"}"#),
    Needed("collStats", "victim", r#"{"collStats":"secrets"}"#),
    Open("commitTransaction", "admin", r#"{"commitTransaction":1}"#),
    Needed("compact", "victim", r#"{"compact":"secrets"}"#),
    Open("configureFailPoint", "admin", r#"{"configureFailPoint":"failCommand","mode":"off"}"#),
    Open("connectionStatus", "admin", r#"{"connectionStatus":1}"#),
    Needed("convertToCapped", "victim", r#"{"convertToCapped":"secrets","size":4096}"#),
    Needed("count", "victim", r#"{"count":"secrets"}"#),
    Needed("create", "victim", r#"{"create":"new"}"#),
    Needed("createIndexes", "victim", r#"{"createIndexes":"secrets","indexes":[{"key":{"a":1},"name":"a"}]}"#),
    Needed("createRole", "victim", r#"{"createRole":"taken","privileges":[],"roles":["read"]}"#),
    Needed("createSearchIndexes", "victim", r#"{"createSearchIndexes":"secrets"}"#),
    Needed("createUser", "victim", r#"{"createUser":"mallory","pwd":"p","roles":["read"]}"#),
    Needed("currentOp", "admin", r#"{"currentOp":1}"#),
    Needed("customAction", "victim", r#"{"customAction":"CreateCollection","collection":"new"}"#),
    Needed("dataSize", "victim", r#"{"dataSize":"victim.secrets"}"#),
    Needed("dbStats", "victim", r#"{"dbStats":1}"#),
    Needed("delete", "victim", r#"{"delete":"secrets","deletes":[{"q":{},"limit":0}]}"#),
    Needed("distinct", "victim", r#"{"distinct":"secrets","key":"s"}"#),
    Needed("drop", "victim", r#"{"drop":"secrets"}"#),
    Needed("dropAllRolesFromDatabase", "victim", r#"{"dropAllRolesFromDatabase":1}"#),
    Needed("dropAllUsersFromDatabase", "victim", r#"{"dropAllUsersFromDatabase":1}"#),
    Needed("dropDatabase", "victim", r#"{"dropDatabase":1}"#),
    Needed("dropIndexes", "victim", r#"{"dropIndexes":"secrets","index":"*"}"#),
    Needed("dropRole", "victim", r#"{"dropRole":"hers"}"#),
    Needed("dropSearchIndex", "victim", r#"{"dropSearchIndex":"secrets"}"#),
    Needed("dropUser", "victim", r#"{"dropUser":"owner"}"#),
    Needed("enableSharding", "admin", r#"{"enableSharding":"victim"}"#),
    Open("endSessions", "admin", r#"{"endSessions":[]}"#),
    Needed("explain", "victim", r#"{"explain":{"find":"secrets"}}"#),
    Open("features", "admin", r#"{"features":1}"#),
    Needed("find", "victim", r#"{"find":"secrets"}"#),
    Needed("findAndModify", "victim", r#"{"findAndModify":"secrets","query":{},"update":{"a":1}}"#),
    Needed("fsync", "admin", r#"{"fsync":1}"#),
    Needed("getCmdLineOpts", "admin", r#"{"getCmdLineOpts":1}"#),
    Needed("getDefaultRWConcern", "admin", r#"{"getDefaultRWConcern":1}"#),
    Needed("getLog", "admin", r#"{"getLog":"global"}"#),
    Open("getMore", "victim", r#"{"getMore":1L,"collection":"secrets"}"#),
    Needed("getParameter", "admin", r#"{"getParameter":"*"}"#),
    Needed("grantPrivilegesToRole", "victim", r#"{"grantPrivilegesToRole":"hers","privileges":[{"resource":{"db":"victim","collection":"secrets"},"actions":["insert"]}]}"#),
    Needed("grantRolesToRole", "victim", r#"{"grantRolesToRole":"hers","roles":["readWrite"]}"#),
    Needed("grantRolesToUser", "victim", r#"{"grantRolesToUser":"owner","roles":["dbAdmin"]}"#),
    Open("hello", "admin", r#"{"hello":1}"#),
    Needed("hostInfo", "admin", r#"{"hostInfo":1}"#),
    Needed("insert", "victim", r#"{"insert":"secrets","documents":[{"_id":2}]}"#),
    Needed("killAllSessions", "admin", r#"{"killAllSessions":[]}"#),
    Needed("killAllSessionsByPattern", "admin", r#"{"killAllSessionsByPattern":[]}"#),
    Open("killCursors", "victim", r#"{"killCursors":"secrets","cursors":[1L]}"#),
    Needed("killOp", "admin", r#"{"killOp":1,"op":1}"#),
    Open("killSessions", "admin", r#"{"killSessions":[]}"#),
    Needed("listCollections", "victim", r#"{"listCollections":1}"#),
    Open("listCommands", "admin", r#"{"listCommands":1}"#),
    Open("listDatabases", "admin", r#"{"listDatabases":1}"#),
    Needed("listIndexes", "victim", r#"{"listIndexes":"secrets"}"#),
    Needed("listSearchIndexes", "victim", r#"{"listSearchIndexes":"secrets"}"#),
    Open("logout", "admin", r#"{"logout":1}"#),
    Needed("mapReduce", "victim", r#"{"mapReduce":"secrets"}"#),
    Open("ping", "admin", r#"{"ping":1}"#),
    Needed("planCacheClear", "victim", r#"{"planCacheClear":"secrets"}"#),
    Needed("planCacheListFilters", "victim", r#"{"planCacheListFilters":"secrets"}"#),
    Needed("planCacheSetFilter", "victim", r#"{"planCacheSetFilter":"secrets"}"#),
    Needed("profile", "victim", r#"{"profile":-1}"#),
    Needed("reIndex", "victim", r#"{"reIndex":"secrets"}"#),
    Open("refreshSessions", "admin", r#"{"refreshSessions":[]}"#),
    Needed("renameCollection", "admin", r#"{"renameCollection":"victim.secrets","to":"victim.taken"}"#),
    Needed("replSetGetConfig", "admin", r#"{"replSetGetConfig":1}"#),
    Needed("replSetGetStatus", "admin", r#"{"replSetGetStatus":1}"#),
    Needed("revokePrivilegesFromRole", "victim", r#"{"revokePrivilegesFromRole":"hers","privileges":[{"resource":{"db":"victim","collection":"secrets"},"actions":["find"]}]}"#),
    Needed("revokeRolesFromRole", "victim", r#"{"revokeRolesFromRole":"hers","roles":["read"]}"#),
    Needed("revokeRolesFromUser", "victim", r#"{"revokeRolesFromUser":"owner","roles":["read"]}"#),
    Needed("rolesInfo", "victim", r#"{"rolesInfo":1}"#),
    Open("saslContinue", "admin", r#"{"saslContinue":1,"conversationId":1}"#),
    Open("saslStart", "admin", r#"{"saslStart":1,"mechanism":"none"}"#),
    Needed("serverStatus", "admin", r#"{"serverStatus":1}"#),
    Needed("setParameter", "admin", r#"{"setParameter":1,"ttlMonitorEnabled":true}"#),
    Needed("shardCollection", "admin", r#"{"shardCollection":"victim.new","key":{"a":1}}"#),
    Open("startSession", "admin", r#"{"startSession":1}"#),
    Needed("top", "admin", r#"{"top":1}"#),
    Needed("update", "victim", r#"{"update":"secrets","updates":[{"q":{},"u":{"$set":{"a":1}}}]}"#),
    Needed("updateRole", "victim", r#"{"updateRole":"hers","roles":[]}"#),
    Needed("updateSearchIndex", "victim", r#"{"updateSearchIndex":"secrets"}"#),
    Needed("updateUser", "victim", r#"{"updateUser":"owner","pwd":"taken"}"#),
    Needed("usersInfo", "victim", r#"{"usersInfo":1}"#),
    Needed("validate", "victim", r#"{"validate":"secrets"}"#),
    Open("whatsmyuri", "admin", r#"{"whatsmyuri":1}"#),
];

impl Row {
    fn name(&self) -> &'static str {
        match self {
            Needed(name, ..) | Open(name, ..) => name,
        }
    }
}

/// Two databases: on `open` eve does what she likes, on `victim` nothing. Views lead from one to another.
async fn bench() -> (Bench, Connection) {
    let bench = Bench::new().await;
    let mut master = bench.master();
    let secret = format!(r#"{{"insert":"secrets","documents":[{{"_id":1,"s":"{SECRET}"}}]}}"#);
    for (database, command) in [
        ("victim", secret.as_str()),
        (
            "victim",
            r#"{"create":"v1","viewOn":"secrets","pipeline":[]}"#,
        ),
        ("victim", r#"{"create":"v2","viewOn":"v1","pipeline":[]}"#),
        ("victim", r#"{"create":"taken"}"#),
        (
            "victim",
            r#"{"createRole":"hers","privileges":[{"resource":{"db":"victim","collection":"secrets"},"actions":["find"]}],"roles":["read"]}"#,
        ),
        (
            "victim",
            r#"{"createUser":"owner","pwd":"p","roles":["read"]}"#,
        ),
        ("open", r#"{"insert":"c","documents":[{"_id":1}]}"#),
        ("open", r#"{"create":"v","viewOn":"c","pipeline":[]}"#),
    ] {
        bench.succeed(&mut master, database, command).await;
    }
    let roles = ["readWrite@open", "dbAdmin@open"];
    let eve = bench.user("open", "eve", &roles).await;
    (bench, eve)
}

/// All that is stored, and all that is known of users.
async fn state(bench: &Bench) -> String {
    let mut master = bench.master();
    let users = r#"{"usersInfo":{"forAllDBs":true},"showCredentials":true}"#;
    let users = bench.succeed(&mut master, "admin", users).await;
    let mut state = format!("{:?}", users.get("users"));
    for database in ["victim", "open", "admin"] {
        let roles = r#"{"rolesInfo":1,"showPrivileges":true}"#;
        let roles = bench.succeed(&mut master, database, roles).await;
        state += &format!("\n{:?}", roles.get("roles"));
    }
    let databases = r#"{"listDatabases":1,"nameOnly":true}"#;
    let databases = bench.succeed(&mut master, "admin", databases).await;
    for database in databases.get("databases").unwrap().as_array().unwrap() {
        let name = database.get("name").as_str().unwrap();
        let list = r#"{"listCollections":1,"cursor":{}}"#;
        let list = bench.succeed(&mut master, name, list).await;
        state += &format!("\n{name} {:?}", list.get("cursor"));
        let collections = list.get("cursor").unwrap().get("firstBatch");
        for collection in collections.as_array().unwrap() {
            let collection = collection.get("name").as_str().unwrap();
            let found = format!(r#"{{"find":"{collection}"}}"#);
            let found = bench.succeed(&mut master, name, &found).await;
            let indexes = format!(r#"{{"listIndexes":"{collection}"}}"#);
            let indexes = bench.ask(&mut master, name, &indexes).await;
            let parts = (found.get("cursor"), indexes.get("cursor"));
            state += &format!("\n{name}.{collection} {parts:?}");
        }
    }
    state
}

/// Asserts that a command was refused and showed nothing.
fn assert_refused(reply: &Object, allowed: &[i64], asked: &str) {
    assert!(allowed.contains(&code(reply)), "{asked}: {reply:?}");
    assert!(!format!("{reply:?}").contains(SECRET), "{asked}: {reply:?}");
}

/// Codes of commands that could not be parsed: nothing was asked of the store.
const NOT_PARSED: &[i64] = &[UNAUTHORIZED, DUPLICATE, 20, 59, 73];

/// The same command in other words. Only the first one says what it is in plain words.
fn spellings(database: &str, command: &str) -> Vec<Object> {
    let body = document(command);
    let name = body.keys().next().unwrap().clone();
    let with = |body: &Object, databases: &[&str]| {
        let mut whole = body.clone();
        for database in databases {
            whole.push("$db", *database);
        }
        whole
    };
    let mut all = vec![
        with(&body, &["open", database]),
        with(&body, &[database, "open"]),
    ];
    // The database stands first, or in the middle.
    let mut first = Object::new();
    first.push("$db", database);
    body.iter()
        .for_each(|(name, value)| first.push(name.clone(), value.clone()));
    all.push(first);
    // A name in other letters.
    let mut capitals = Object::new();
    for (at, (name, value)) in body.iter().enumerate() {
        let upper = name.to_uppercase();
        capitals.push(
            if at == 0 {
                upper.as_str()
            } else {
                name.as_str()
            },
            value.clone(),
        );
    }
    all.push(with(&capitals, &[database]));
    // Each member a second time, with something harmless before or behind what is meant.
    for (member, _) in &body {
        for harmless in [
            Value::from("c"),
            Value::Bool(false),
            Value::Array(Vec::new()),
        ] {
            let mut behind = body.clone();
            behind.push(member.clone(), harmless.clone());
            all.push(with(&behind, &[database]));
            let mut before = Object::new();
            for (name, value) in &body {
                if name == member {
                    before.push(name.clone(), harmless.clone());
                }
                before.push(name.clone(), value.clone());
            }
            all.push(with(&before, &[database]));
        }
    }
    all.extend(explanations(database, &name, &body));
    all
}

/// A command inside explain, in every way to say which database is meant.
fn explanations(database: &str, name: &str, body: &Object) -> Vec<Object> {
    let explain = |inner: Object, database: &str| {
        let mut explain = Object::new();
        explain.push("explain", inner);
        explain.push("$db", database);
        explain
    };
    let mut first = Object::new();
    first.push("$db", database);
    body.iter()
        .for_each(|(name, value)| first.push(name.clone(), value.clone()));
    let mut last = body.clone();
    last.push("$db", database);
    let mut twice = body.clone();
    twice.push(name, "c");
    let mut nested = Object::new();
    nested.push("explain", body.clone());
    let mut two = Object::new();
    two.push("explain", document(r#"{"find":"c"}"#));
    two.push("explain", body.clone());
    two.push("$db", database);
    let inner = [body.clone(), first, last.clone(), twice, nested];
    let mut all: Vec<_> = inner
        .into_iter()
        .map(|inner| explain(inner, database))
        .collect();
    // Meant for another database than it is sent to: what is executed must be what is judged.
    all.push(explain(last, "open"));
    all.push(two);
    all
}

#[tokio::test]
async fn every_command_is_refused_without_its_right_however_it_is_spelled() {
    let known: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
    let listed: Vec<_> = ROWS.iter().map(Row::name).collect();
    assert_eq!(known, listed, "each command has its row");
    let (bench, mut eve) = bench().await;
    let before = state(&bench).await;
    for row in ROWS {
        let Needed(name, database, command) = row else {
            continue;
        };
        let reply = bench.ask(&mut eve, database, command).await;
        assert_refused(&reply, &[UNAUTHORIZED], command);
        let mut nobody = bench.connection(None);
        let reply = bench.ask(&mut nobody, database, command).await;
        assert_refused(&reply, &[UNAUTHORIZED], command);
        for body in spellings(database, command) {
            let text = format!("{body:?}");
            let reply = bench.ask_raw(&mut eve, body).await;
            assert_refused(&reply, NOT_PARSED, &text);
        }
        let aliases = COMMANDS
            .iter()
            .find(|one| one.name == *name)
            .unwrap()
            .aliases;
        for alias in aliases {
            let command = command.replacen(name, alias, 1);
            let reply = bench.ask(&mut eve, database, &command).await;
            assert_refused(&reply, &[UNAUTHORIZED], &command);
        }
        for other in LOOKALIKES.iter().filter(|_| *database == "victim") {
            let command = command.replace("victim.", &format!("{other}."));
            let reply = bench.ask(&mut eve, other, &command).await;
            assert_refused(&reply, &[UNAUTHORIZED], &command);
        }
        for dotted in ["victim.secrets", "open.c", "", "victim\0"] {
            let reply = bench.ask(&mut eve, dotted, command).await;
            let codes = if *database == "admin" {
                NOT_PARSED
            } else {
                &[UNAUTHORIZED, 73]
            };
            assert_refused(&reply, codes, command);
        }
        assert_eq!(state(&bench).await, before, "{command}");
    }
}

#[tokio::test]
async fn commands_that_are_open_to_all_change_nothing_and_show_nothing() {
    let (bench, _) = bench().await;
    let eve = bench.user("open", "eve2", &["readWrite@open"]).await.login;
    let before = state(&bench).await;
    for row in ROWS {
        let Open(name, database, command) = row else {
            continue;
        };
        let mut connection = bench.connection(eve.clone());
        let reply = bench.ask(&mut connection, database, command).await;
        let shown = format!("{reply:?}");
        assert!(
            !shown.contains(SECRET) && !shown.contains("victim"),
            "{command}: {shown}"
        );
        let mut nobody = bench.connection(None);
        let reply = bench.ask(&mut nobody, database, command).await;
        let wanted = COMMANDS.iter().find(|one| one.name == *name).unwrap().login;
        if wanted == Wanted::Needed {
            assert_refused(&reply, &[UNAUTHORIZED], command);
        }
    }
    assert_eq!(state(&bench).await, before);
}

/// A stage, and what a plain use of it says.
#[rustfmt::skip]
const STAGES: &[(&str, &str)] = &[
    ("$addFields", r#"{"a":1}"#),
    ("$bucket", r#"{"groupBy":"$a","boundaries":[0,1],"default":5}"#),
    ("$bucketAuto", r#"{"groupBy":"$a","buckets":2}"#),
    ("$changeStream", r#"{}"#),
    ("$collStats", r#"{"count":{}}"#),
    ("$count", r#""n""#),
    ("$currentOp", r#"{"allUsers":true}"#),
    ("$densify", r#"{"field":"a","range":{"step":1,"bounds":[0,3]}}"#),
    ("$documents", r#"[{"a":1}]"#),
    ("$facet", r#"{"f":[{"$limit":1}]}"#),
    ("$fill", r#"{"output":{"a":{"value":1}}}"#),
    ("$geoNear", r#"{"near":[0,0],"distanceField":"d","key":"p"}"#),
    ("$graphLookup", r#"{"from":"c","startWith":1,"connectFromField":"a","connectToField":"_id","as":"g"}"#),
    ("$group", r#"{"_id":"$s"}"#),
    ("$indexStats", r#"{}"#),
    ("$limit", r#"1"#),
    ("$listLocalSessions", r#"{"allUsers":true}"#),
    ("$listSessions", r#"{"allUsers":true}"#),
    ("$lookup", r#"{"from":"c","pipeline":[],"as":"l"}"#),
    ("$match", r#"{}"#),
    ("$merge", r#""m""#),
    ("$out", r#""o""#),
    ("$planCacheStats", r#"{}"#),
    ("$project", r#"{"s":1}"#),
    ("$redact", r#""$$KEEP""#),
    ("$replaceRoot", r#"{"newRoot":"$$ROOT"}"#),
    ("$replaceWith", r#""$$ROOT""#),
    ("$sample", r#"{"size":1}"#),
    ("$set", r#"{"a":1}"#),
    ("$setWindowFields", r#"{"output":{"n":{"$sum":1}}}"#),
    ("$skip", r#"0"#),
    ("$sort", r#"{"a":1}"#),
    ("$sortByCount", r#""$s""#),
    ("$unionWith", r#""c""#),
    ("$unset", r#""a""#),
    ("$unwind", r#""$s""#),
];

/// Stages that read the system's collections of the own database, or write into another one, each in many words.
#[rustfmt::skip]
const FORBIDDEN: &[&str] = &[
    r#"{"$lookup":{"from":"system.users","localField":"a","foreignField":"a","as":"l"}}"#,
    r#"{"$lookup":{"from":"system.users","pipeline":[],"as":"l"}}"#,
    r#"{"$lookup":{"from":"c","from":"system.users","pipeline":[],"as":"l"}}"#,
    r#"{"$lookup":{"from":"system.users","from":"c","pipeline":[],"as":"l"}}"#,
    r#"{"$lookup":{"from":{"db":"victim","coll":"secrets"},"pipeline":[],"as":"l"}}"#,
    r#"{"$lookup":{"from":"c","pipeline":[],"pipeline":[{"$unionWith":"system.users"}],"as":"l"}}"#,
    r#"{"$lookup":{"pipeline":[{"$documents":[{"a":1}]},{"$unionWith":"system.users"}],"as":"l"}}"#,
    r#"{"$graphLookup":{"from":"system.users","startWith":1,"connectFromField":"a","connectToField":"a","as":"g"}}"#,
    r#"{"$graphLookup":{"from":"c","startWith":1,"connectFromField":"a","connectToField":"a","as":"g","from":"system.users"}}"#,
    r#"{"$unionWith":"system.users"}"#,
    r#"{"$unionWith":{"coll":"system.users","pipeline":[]}}"#,
    r#"{"$unionWith":{"coll":"c","coll":"system.users"}}"#,
    r#"{"$unionWith":{"coll":"system.users","coll":"c"}}"#,
    r#"{"$unionWith":{"pipeline":[{"$documents":[{"a":1}]},{"$unionWith":"system.users"}]}}"#,
    r#"{"$facet":{"f":[{"$unionWith":"system.users"}]}}"#,
    r#"{"$facet":{"f":[],"f":[{"$unionWith":"system.users"}]}}"#,
    r#"{"$facet":{"f":[{"$unionWith":"system.users"}],"f":[]}}"#,
    r#"{"$facet":{"f":[{"$lookup":{"from":"c","pipeline":[{"$graphLookup":{"from":"system.users","startWith":1,"connectFromField":"a","connectToField":"a","as":"g"}}],"as":"l"}}]}}"#,
    r#"{"$out":{"db":"victim","coll":"secrets"}}"#,
    r#"{"$out":{"coll":"secrets","db":"victim"}}"#,
    r#"{"$out":{"db":"open","db":"victim","coll":"secrets"}}"#,
    r#"{"$out":"system.users"}"#,
    r#"{"$merge":"system.users"}"#,
    r#"{"$merge":{"into":{"db":"victim","coll":"secrets"}}}"#,
    r#"{"$merge":{"into":{"db":"open","db":"victim","coll":"secrets"}}}"#,
    r#"{"$merge":{"into":{"db":"victim","db":"open","coll":"secrets"}}}"#,
    r#"{"$merge":{"into":"c","into":{"db":"victim","coll":"secrets"}}}"#,
    r#"{"$merge":{"into":{"db":"victim","coll":"secrets"},"into":"c"}}"#,
    r#"{"$merge":{"into":{"db":"victim","coll":"secrets"},"whenMatched":"merge","whenNotMatched":"discard"}}"#,
    r#"{"$merge":{"into":{"db":"victim","coll":"secrets"},"whenMatched":"keepExisting"}}"#,
    r#"{"$merge":{"into":{"db":"victim","coll":"secrets"},"whenMatched":"fail","whenMatched":"replace"}}"#,
    r#"{"$merge":{"into":{"db":"victim","coll":"secrets"},"whenMatched":[{"$set":{"a":1}}],"whenNotMatched":"fail"}}"#,
    r#"{"$merge":{"into":{"db":"VICTIM","coll":"secrets"}}}"#,
    r#"{"$merge":{"into":{"db":"victim.secrets","coll":"c"}}}"#,
    r#"{"$lookup":{"from":"c","pipeline":[{"$merge":{"into":{"db":"victim","coll":"secrets"}}}],"as":"l"}}"#,
    r#"{"$unionWith":{"coll":"c","pipeline":[{"$out":{"db":"victim","coll":"secrets"}}]}}"#,
    r#"{"$facet":{"f":[{"$merge":{"into":{"db":"victim","coll":"secrets"}}}]}}"#,
    r#"{"$MERGE":{"into":{"db":"victim","coll":"secrets"}}}"#,
    r#"{"$match":{},"$merge":{"into":{"db":"victim","coll":"secrets"}}}"#,
];

/// Codes of pipelines that could not be parsed, or whose stages stand where none may.
const PIPELINE_NOT_PARSED: &[i64] = &[
    UNAUTHORIZED,
    DUPLICATE,
    9,
    73,
    167,
    16_994,
    31_441,
    40_323,
    40_324,
    40_600,
    40_601,
    40_602,
    51_047,
    5_626_500,
];

#[tokio::test]
async fn every_stage_is_refused_without_its_right_wherever_it_stands() {
    let listed: Vec<_> = STAGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        stage_names().collect::<Vec<_>>(),
        listed,
        "each stage has its row"
    );
    let (bench, mut eve) = bench().await;
    let before = state(&bench).await;
    for (name, spec) in STAGES {
        let stage = format!(r#"{{"{name}":{spec}}}"#);
        // On what is not hers: the collection, views over views of it, and the whole database.
        for on in [r#""secrets""#, r#""v1""#, r#""v2""#, "1"] {
            let command = format!(r#"{{"aggregate":{on},"pipeline":[{stage}],"cursor":{{}}}}"#);
            let reply = bench.ask(&mut eve, "victim", &command).await;
            // Documents that stand in the pipeline are nobody's.
            let codes: &[i64] = match (*name, on) {
                ("$documents", "1") => &[0],
                _ => PIPELINE_NOT_PARSED,
            };
            assert_refused(&reply, codes, &command);
            let command = format!(r#"{{"explain":{command}}}"#);
            let reply = bench.ask(&mut eve, "victim", &command).await;
            assert_refused(&reply, codes, &command);
        }
        // Behind what is not hers, in her own database.
        for around in [
            format!(r#"{{"$lookup":{{"from":"system.users","pipeline":[{stage}],"as":"l"}}}}"#),
            format!(r#"{{"$unionWith":{{"coll":"system.users","pipeline":[{stage}]}}}}"#),
        ] {
            assert_pipeline_is_refused(&bench, &mut eve, &around).await;
        }
        assert_eq!(state(&bench).await, before, "{stage}");
    }
}

/// Asserts that a stage is refused on an own collection, explained, and as part of a view.
async fn assert_pipeline_is_refused(bench: &Bench, eve: &mut Connection, stage: &str) {
    let aggregate =
        format!(r#"{{"aggregate":"c","pipeline":[{{"$match":{{}}}},{stage}],"cursor":{{}}"#);
    for command in [
        format!("{aggregate}}}"),
        format!(r#"{aggregate},"explain":true}}"#),
        format!(r#"{{"explain":{aggregate}}}}}"#),
        format!(r#"{{"explain":{aggregate}}},"verbosity":"queryPlanner"}}"#),
        format!(r#"{{"aggregate":"v","pipeline":[{stage}],"cursor":{{}}}}"#),
        format!(r#"{{"create":"w","viewOn":"c","pipeline":[{stage}]}}"#),
        format!(r#"{{"collMod":"v","viewOn":"c","pipeline":[{stage}]}}"#),
        format!(r#"{{"collMod":"v","pipeline":[{stage}]}}"#),
    ] {
        let reply = bench.ask(eve, "open", &command).await;
        assert_refused(&reply, PIPELINE_NOT_PARSED, &command);
    }
}

#[tokio::test]
async fn a_stage_that_leads_elsewhere_is_refused_in_any_words() {
    let (bench, mut eve) = bench().await;
    let before = state(&bench).await;
    for stage in FORBIDDEN {
        assert_pipeline_is_refused(&bench, &mut eve, stage).await;
        for around in [
            format!(r#"{{"$facet":{{"f":[{stage}]}}}}"#),
            format!(r#"{{"$lookup":{{"from":"c","pipeline":[{stage}],"as":"l"}}}}"#),
            format!(r#"{{"$unionWith":{{"coll":"c","pipeline":[{stage}]}}}}"#),
        ] {
            assert_pipeline_is_refused(&bench, &mut eve, &around).await;
        }
        assert_eq!(state(&bench).await, before, "{stage}");
    }
}

#[tokio::test]
async fn options_that_widen_what_is_shown_need_their_right_in_any_words() {
    let (bench, mut eve) = bench().await;
    for stage in [
        r#"{"$currentOp":{"allUsers":true}}"#,
        r#"{"$currentOp":{"allUsers":false,"allUsers":true}}"#,
        r#"{"$currentOp":{"allUsers":true,"allUsers":false}}"#,
        r#"{"$changeStream":{"allChangesForCluster":true}}"#,
        r#"{"$changeStream":{"allChangesForCluster":false,"allChangesForCluster":true}}"#,
        r#"{"$changeStream":{"allChangesForCluster":true,"allChangesForCluster":false}}"#,
        r#"{"$listLocalSessions":{"allUsers":true}}"#,
        r#"{"$listLocalSessions":{"allUsers":false,"allUsers":true}}"#,
        r#"{"$listLocalSessions":{"users":[{"user":"owner","db":"victim"}]}}"#,
        r#"{"$listLocalSessions":{"users":[{"user":"eve","db":"open"},{"user":"owner","db":"victim"}]}}"#,
        r#"{"$listSessions":{"allUsers":true}}"#,
    ] {
        let command = format!(r#"{{"aggregate":1,"pipeline":[{stage}],"cursor":{{}}}}"#);
        for command in [command.clone(), format!(r#"{{"explain":{command}}}"#)] {
            let reply = bench.ask(&mut eve, "admin", &command).await;
            assert_refused(&reply, &[UNAUTHORIZED, DUPLICATE], &command);
        }
    }
    for command in [
        r#"{"currentOp":1,"$ownOps":true,"$ownOps":false}"#,
        r#"{"currentOp":1,"$ownOps":false,"$ownOps":true}"#,
        r#"{"currentOp":1,"$ownOps":null}"#,
    ] {
        let reply = bench.ask(&mut eve, "admin", command).await;
        assert_refused(&reply, &[UNAUTHORIZED, DUPLICATE], command);
    }
}

#[tokio::test]
async fn what_is_own_stays_allowed() {
    let (bench, mut eve) = bench().await;
    for command in [
        r#"{"find":"c","filter":{"_id":1,"_id":1}}"#,
        r#"{"insert":"c","documents":[{"_id":2,"a":1,"a":2}]}"#,
        r#"{"update":"c","updates":[{"q":{"_id":2,"_id":2},"u":{"b":1,"b":2}}]}"#,
        r#"{"aggregate":"c","pipeline":[{"$match":{"_id":1,"_id":1}},{"$sort":{"_id":1,"_id":1}}],"cursor":{}}"#,
        r#"{"aggregate":"v","pipeline":[{"$lookup":{"from":"c","pipeline":[{"$unionWith":"v"}],"as":"l"}}],"cursor":{}}"#,
        r#"{"aggregate":"c","pipeline":[{"$merge":{"into":{"db":"open","coll":"m"}}}],"cursor":{}}"#,
        r#"{"aggregate":"c","pipeline":[{"$out":{"db":"open","coll":"o"}}],"cursor":{}}"#,
        r#"{"aggregate":"c","pipeline":[{"$collStats":{"count":{}}}],"cursor":{}}"#,
        r#"{"explain":{"find":"c","$db":"open"}}"#,
        r#"{"explain":{"aggregate":"c","pipeline":[{"$unionWith":"v"}],"cursor":{}}}"#,
        r#"{"create":"w","viewOn":"v","pipeline":[{"$lookup":{"from":"c","pipeline":[],"as":"l"}}]}"#,
        r#"{"collMod":"w","pipeline":[{"$unionWith":"c"}]}"#,
        r#"{"find":"w","comment":{"a":1,"a":2},"let":{"x":1}}"#,
    ] {
        bench.succeed(&mut eve, "open", command).await;
    }
    for command in [
        r#"{"aggregate":1,"pipeline":[{"$currentOp":{}}],"cursor":{}}"#,
        r#"{"aggregate":1,"pipeline":[{"$listLocalSessions":{}}],"cursor":{}}"#,
        r#"{"aggregate":1,"pipeline":[{"$listLocalSessions":{"users":[{"user":"eve","db":"open"}]}}],"cursor":{}}"#,
        r#"{"currentOp":1,"$ownOps":true}"#,
    ] {
        bench.succeed(&mut eve, "admin", command).await;
    }
}

#[tokio::test]
async fn who_makes_or_changes_a_view_must_read_what_it_shows() {
    let (bench, _) = bench().await;
    let mut master = bench.master();
    let view = r#"{"create":"shown","viewOn":"c","pipeline":[]}"#;
    bench.succeed(&mut master, "open", view).await;
    let mut admin = bench.user("open", "admin", &["dbAdmin@open"]).await;
    let before = state(&bench).await;
    for command in [
        r#"{"create":"w","viewOn":"c","pipeline":[]}"#,
        r#"{"create":"w","viewOn":"v","pipeline":[]}"#,
        r#"{"collMod":"shown","viewOn":"c"}"#,
        r#"{"collMod":"shown","viewOn":"c","pipeline":[]}"#,
        r#"{"collMod":"shown","pipeline":[{"$unionWith":"c"}]}"#,
        r#"{"collMod":"shown","pipeline":[{"$documents":[]},{"$unionWith":"c"}]}"#,
        r#"{"find":"shown"}"#,
    ] {
        let reply = bench.ask(&mut admin, "open", command).await;
        assert_refused(&reply, &[UNAUTHORIZED], command);
    }
    assert_eq!(state(&bench).await, before);
}

/// Commands sent to a database that is open, or to none in particular, that name another one.
#[rustfmt::skip]
const NAMING_ANOTHER: &[(&str, &str)] = &[
    ("open", r#"{"dataSize":"victim.secrets"}"#),
    ("open", r#"{"usersInfo":{"user":"owner","db":"victim"}}"#),
    ("open", r#"{"usersInfo":{"user":"eve","user":"owner","db":"victim"}}"#),
    ("open", r#"{"usersInfo":{"user":"eve","db":"open","db":"victim"}}"#),
    ("open", r#"{"usersInfo":[{"user":"eve","db":"open"},{"user":"owner","db":"victim"}]}"#),
    ("open", r#"{"usersInfo":{"forAllDBs":true}}"#),
    ("open", r#"{"rolesInfo":{"role":"read","db":"victim"}}"#),
    ("open", r#"{"rolesInfo":{"role":"readWrite","db":"open","db":"victim"}}"#),
    ("open", r#"{"createUser":"m","pwd":"p","roles":[{"role":"root","db":"admin"}]}"#),
    ("open", r#"{"createUser":"m","pwd":"p","roles":[{"role":"read","db":"open","db":"victim"}]}"#),
    ("open", r#"{"createUser":"m","pwd":"p","roles":[],"roles":[{"role":"read","db":"victim"}]}"#),
    ("open", r#"{"grantRolesToUser":"eve","roles":[{"role":"read","db":"victim"}]}"#),
    ("open", r#"{"grantRolesToUser":"eve","roles":[{"role":"read","db":"open","db":"victim"}]}"#),
    ("open", r#"{"updateUser":"eve","roles":[{"role":"root","db":"admin"}]}"#),
    ("open", r#"{"rolesInfo":"hers"}"#),
    ("open", r#"{"createRole":"r","privileges":[],"roles":[{"role":"hers","db":"victim"}]}"#),
    ("open", r#"{"createRole":"r","privileges":[{"resource":{"db":"victim","collection":""},"actions":["find"]}],"roles":[]}"#),
    ("open", r#"{"createRole":"r","privileges":[{"resource":{"db":"open","db":"victim","collection":""},"actions":["find"]}],"roles":[]}"#),
    ("open", r#"{"grantPrivilegesToRole":"r","privileges":[{"resource":{"anyResource":true},"actions":["find"]}]}"#),
    ("open", r#"{"grantRolesToRole":"r","roles":[{"role":"root","db":"admin"}]}"#),
    ("open", r#"{"grantRolesToUser":"eve","roles":[{"role":"hers","db":"victim"}]}"#),
    ("open", r#"{"listCollections":1,"nameOnly":true,"authorizedCollections":true,"$db":"victim"}"#),
    ("victim", r#"{"listCollections":1,"nameOnly":true,"authorizedCollections":true}"#),
    ("victim", r#"{"customAction":"GetCollection","collection":"secrets"}"#),
    ("admin", r#"{"renameCollection":"open.c","to":"victim.c"}"#),
    ("admin", r#"{"renameCollection":"open.c","to":"open.d","to":"victim.c"}"#),
    ("admin", r#"{"renameCollection":"open.c","to":"victim.taken","dropTarget":true}"#),
    ("admin", r#"{"renameCollection":"victim.secrets","to":"open.taken"}"#),
    ("admin", r#"{"enableSharding":"open","enableSharding":"victim"}"#),
    ("admin", r#"{"shardCollection":"open.new","shardCollection":"victim.new","key":{"a":1}}"#),
    ("admin", r#"{"killAllSessionsByPattern":[{"users":[{"user":"owner","db":"victim"}]}]}"#),
    ("open", r#"{"explain":{"find":"c","$db":"victim"}}"#),
    ("open", r#"{"explain":{"$db":"victim","find":"secrets"}}"#),
    ("open", r#"{"explain":{"find":"c","find":"system.users"}}"#),
    ("open", r#"{"explain":{"count":"system.users"}}"#),
    ("open", r#"{"explain":{"update":"system.users","updates":[{"q":{},"u":{"$set":{"a":1}}}]}}"#),
    ("open", r#"{"insert":"c","documents":[],"bypassDocumentValidation":false,"bypassDocumentValidation":true}"#),
    ("open", r#"{"update":"system.users","updates":[{"q":{},"u":{},"upsert":false,"upsert":true}]}"#),
];

#[tokio::test]
async fn a_command_that_names_another_database_needs_the_right_there() {
    let (bench, mut eve) = bench().await;
    let before = state(&bench).await;
    for (database, command) in NAMING_ANOTHER {
        let reply = bench.ask(&mut eve, database, command).await;
        assert_refused(&reply, NOT_PARSED, command);
        assert_eq!(state(&bench).await, before, "{command}");
    }
}
