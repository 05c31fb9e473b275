use std::time::Duration;

use lapsedb_value::{Object, Value, bson};

use super::*;

fn command(name: &str, collection: &str) -> Object {
    let mut command = Object::new();
    command.push(name, collection);
    command.push("$db", "d");
    command
}

fn bytes(command: &Object) -> Vec<u8> {
    let mut out = Vec::new();
    bson::write_document(command, &mut out);
    out
}

const ALL: Wanted<'static> = Wanted {
    owner: None,
    idle: false,
};

#[test]
fn what_is_under_way_is_listed_until_it_ends() {
    let operations = Operations::default();
    let line = operations.open(7, "1.2.3.4:5".to_owned());
    assert!(operations.list("h", "t", ALL).is_empty());
    let find = command("find", "c");
    operations.begin(&line, bytes(&find).into(), None);
    let listed = operations.list("h", "t", ALL);
    let [one] = listed.as_slice() else {
        panic!("{listed:?}");
    };
    assert_eq!(one.get("ns").and_then(Value::as_str), Some("d.c"));
    assert_eq!(one.get("op").and_then(Value::as_str), Some("query"));
    assert_eq!(one.get("desc").and_then(Value::as_str), Some("conn7"));
    assert_eq!(operations.running(), 1);
    line.end();
    assert!(operations.list("h", "t", ALL).is_empty());
    let idle = Wanted { idle: true, ..ALL };
    assert_eq!(operations.list("h", "t", idle).len(), 1);
    operations.close(&line);
    assert!(operations.list("h", "t", idle).is_empty());
}

#[test]
fn only_the_command_that_is_meant_is_halted() {
    let operations = Operations::default();
    let line = operations.open(1, String::new());
    let halted = line.halted();
    let begin = || {
        operations.begin(
            &line,
            bytes(&command("find", "c")).into(),
            Some("a.me".into()),
        );
        let listed = operations.list("", "", ALL);
        listed[0].get("opid").and_then(Value::as_i64).unwrap() as i32
    };
    let first = begin();
    operations.halt(first);
    assert!(halted.load(Ordering::Relaxed));
    line.end();
    let second = begin();
    assert_ne!(first, second);
    assert!(!halted.load(Ordering::Relaxed), "a new command");
    operations.halt(first);
    assert!(!halted.load(Ordering::Relaxed), "the first has ended");
}

#[test]
fn logins_see_their_own() {
    let operations = Operations::default();
    for (number, owner) in [(1, "a.one"), (2, "a.two")] {
        let line = operations.open(number, String::new());
        operations.begin(
            &line,
            bytes(&command("find", "c")).into(),
            Some(owner.into()),
        );
    }
    let own = Wanted {
        owner: Some("a.two"),
        idle: false,
    };
    let listed = operations.list("", "", own);
    assert_eq!(listed.len(), 1);
    assert_eq!(
        listed[0].get("connectionId").and_then(Value::as_i64),
        Some(2)
    );
}

#[test]
fn a_long_command_is_shown_short() {
    let mut long = command("find", "c");
    long.push("filter", "x".repeat(SHOWN_BYTES_MAX));
    let short = bson::read_document(&shown(&bytes(&long), &long)).unwrap();
    assert_eq!(short.get("find").and_then(Value::as_str), Some("c"));
    assert_eq!(short.get("$db").and_then(Value::as_str), Some("d"));
    assert!(!short.contains_key("filter"));
    let mut name = Object::new();
    name.push("find", "x".repeat(SHOWN_BYTES_MAX * 2));
    assert!(shown(&bytes(&name), &name).len() <= SHOWN_BYTES_MAX);
}

#[test]
fn secrets_are_not_shown() {
    for name in SECRET {
        let mut login = command(name, "u");
        login.push("pwd", "secret");
        let short = bson::read_document(&shown(&bytes(&login), &login)).unwrap();
        assert!(!short.contains_key("pwd"), "{name}");
    }
    let mut hello = command("hello", "1");
    hello.push("speculativeAuthenticate", "secret");
    let short = bson::read_document(&shown(&bytes(&hello), &hello)).unwrap();
    assert!(!short.contains_key("speculativeAuthenticate"));
}

#[test]
fn uses_add_up() {
    let uses = Uses::default();
    let took = Duration::from_micros(5);
    uses.add("d", "c", Kind::Query, took);
    uses.add("d", "c", Kind::Query, took);
    uses.add("d", "c", Kind::Insert, took);
    let shown = uses.shown();
    let figures = |name: &str| {
        let of = shown.get("d.c").unwrap().get(name);
        (
            of.get("count").as_i64().unwrap(),
            of.get("time").as_i64().unwrap(),
        )
    };
    assert_eq!(figures("total"), (3, 15));
    assert_eq!(figures("queries"), (2, 10));
    assert_eq!(figures("readLock"), (2, 10));
    assert_eq!(figures("writeLock"), (1, 5));
    assert_eq!(figures("remove"), (0, 0));
    uses.forget("d", Some("c"));
    assert!(!uses.shown().contains_key("d.c"));
}
