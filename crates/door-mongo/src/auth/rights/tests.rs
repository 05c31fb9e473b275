#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_service::logins::{Access, Granted, RoleName, User};
use lapsedb_value::json::{self, Limits};

use super::*;
use crate::registry;

fn login(roles: &[(&str, &str)]) -> Login {
    let user = User {
        name: "u".to_owned(),
        database: "a".to_owned(),
        id: [0; 16],
        credentials: Object::new(),
        roles: roles
            .iter()
            .map(|(role, database)| RoleName::new(role, database))
            .collect(),
        custom_data: None,
    };
    let granted = Granted::by_builtin(&user.roles);
    assert_eq!(granted.roles, user.roles);
    Login {
        user: "u".to_owned(),
        database: "a".to_owned(),
        kind: Kind::Stored(Access::of(&user, granted)),
    }
}

fn body(command: &str) -> Object {
    match json::parse(command.as_bytes(), &Limits::DEFAULT).unwrap() {
        Value::Object(body) => body,
        other => panic!("not an object: {other}"),
    }
}

/// Whether somebody may run a command, given as JSON, on the database `a`.
fn may(login: &Login, command: &str) -> bool {
    let request = Request::parse("a".to_owned(), body(command));
    let request = request.unwrap_or_else(|refused| panic!("{command}: {:?}", refused.fault));
    check(login, &request).is_ok()
}

#[test]
fn who_reads_reads_nothing_else() {
    let read = login(&[("read", "a")]);
    for command in [
        r#"{"find":"c"}"#,
        r#"{"count":"c"}"#,
        r#"{"getMore":1,"collection":"c"}"#,
        r#"{"explain":{"find":"c"}}"#,
        r#"{"listCollections":1}"#,
        r#"{"usersInfo":"u"}"#,
        r#"{"usersInfo":{"user":"u","db":"a"}}"#,
        r#"{"rolesInfo":"read"}"#,
        r#"{"ping":1}"#,
        r#"{"listDatabases":1}"#,
        r#"{"endSessions":[]}"#,
    ] {
        assert!(may(&read, command), "{command}");
    }
    for command in [
        r#"{"insert":"c"}"#,
        r#"{"delete":"c"}"#,
        r#"{"update":"c"}"#,
        r#"{"findAndModify":"c"}"#,
        r#"{"find":"system.users"}"#,
        r#"{"explain":{"delete":"c"}}"#,
        r#"{"create":"c"}"#,
        r#"{"createUser":"x","pwd":"p","roles":[]}"#,
        r#"{"updateUser":"u","pwd":"p"}"#,
        r#"{"usersInfo":"v"}"#,
        r#"{"usersInfo":["u","v"]}"#,
        r#"{"usersInfo":1}"#,
        r#"{"rolesInfo":1}"#,
        r#"{"serverStatus":1}"#,
        r#"{"getLog":"global"}"#,
        r#"{"setParameter":1}"#,
        r#"{"killAllSessions":[]}"#,
    ] {
        assert!(!may(&read, command), "{command}");
    }
}

#[test]
fn who_writes_does_not_administer() {
    let write = login(&[("readWrite", "a")]);
    for command in [
        r#"{"update":"c","updates":[{"q":{},"u":{},"upsert":true}]}"#,
        r#"{"findAndModify":"c","remove":true}"#,
        r#"{"renameCollection":"a.c","to":"a.d"}"#,
        r#"{"dropIndexes":"c","index":"*"}"#,
    ] {
        assert!(may(&write, command), "{command}");
    }
    for command in [
        r#"{"insert":"c","bypassDocumentValidation":true}"#,
        r#"{"renameCollection":"a.c","to":"b.c"}"#,
        r#"{"collMod":"c"}"#,
        r#"{"dropDatabase":1}"#,
        r#"{"validate":"c"}"#,
    ] {
        assert!(!may(&write, command), "{command}");
    }
}

#[test]
fn who_administers_users_gives_only_roles_of_that_database() {
    let admin = login(&[("userAdmin", "a")]);
    assert!(may(&admin, r#"{"createUser":"x","roles":["readWrite"]}"#));
    assert!(may(&admin, r#"{"usersInfo":1}"#));
    for command in [
        r#"{"createUser":"x","roles":[{"role":"read","db":"b"}]}"#,
        r#"{"grantRolesToUser":"u","roles":[{"role":"root","db":"admin"}]}"#,
        r#"{"usersInfo":{"forAllDBs":true}}"#,
        r#"{"usersInfo":{"user":"x","db":"b"}}"#,
        r#"{"find":"c"}"#,
    ] {
        assert!(!may(&admin, command), "{command}");
    }
}

#[test]
fn a_refusal_shows_the_command_without_secrets() {
    let body = body(r#"{"createUser":"x","pwd":"s3cret","roles":[],"documents":[{"a":"s3cret"}]}"#);
    let Ok(request) = Request::parse("a".to_owned(), body) else {
        panic!("not parsed");
    };
    let Err(Fault::Said { code, message, .. }) = check(&login(&[("read", "a")]), &request) else {
        panic!("allowed");
    };
    assert_eq!(code, 13);
    assert_eq!(
        message,
        "not authorized on a to execute command { createUser: \"x\", pwd: \"xxx\", roles: [], $db: \"a\" }"
    );
}

#[test]
fn every_command_has_its_rights() {
    let root = login(&[("root", "admin")]);
    for command in registry::COMMANDS {
        let text = format!(r#"{{"{}":"c","collection":"c"}}"#, command.name);
        assert!(may(&root, &text), "{}", command.name);
    }
    assert!(may(&root, r#"{"shardCollection":"a.c"}"#));
}

#[test]
fn throughput_is_seen_by_readers_and_set_by_administrators() {
    let (get, set) = (
        r#"{"customAction":"GetCollection","collection":"c"}"#,
        r#"{"customAction":"UpdateCollection","collection":"c"}"#,
    );
    let reader = login(&[("read", "a")]);
    assert!(may(&reader, get) && !may(&reader, set));
    let admin = login(&[("dbAdmin", "a")]);
    assert!(may(&admin, get) && may(&admin, set));
    assert!(!may(&admin, r#"{"enableSharding":"a"}"#));
    assert!(!may(&admin, r#"{"shardCollection":"a.c"}"#));
}
