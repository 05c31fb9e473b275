#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_value::json::{self, Limits};

use super::*;

fn collection(db: &str, name: &str) -> Target {
    Target::Collection(db.to_owned(), name.to_owned())
}

fn database(db: &str) -> Target {
    Target::Database(db.to_owned())
}

/// Whether a privilege on a resource is one on a target.
fn holds(resource: &Resource, target: &Target) -> bool {
    let mut all = Privileges::default();
    all.add(resource, Actions::of(&[Action::Find]));
    assert!(!all.allow(Action::Insert, target));
    all.allow(Action::Find, target)
}

#[test]
fn every_database_is_not_every_resource() {
    let all = Resource::databases();
    assert!(holds(&all, &collection("a", "b")));
    assert!(holds(&all, &database("a")));
    assert!(holds(&all, &database("")));
    assert!(!holds(&all, &collection("a", "system.users")));
    assert!(!holds(&all, &collection("local", "x")));
    assert!(!holds(&all, &collection("config", "x")));
    assert!(!holds(&all, &Target::Cluster));
    assert!(holds(&Resource::Everything, &Target::Cluster));
    assert!(holds(
        &Resource::Everything,
        &collection("local", "system.x")
    ));
}

#[test]
fn a_database_holds_its_own_collections() {
    let own = Resource::database("a");
    assert!(holds(&own, &collection("a", "b")));
    assert!(!holds(&own, &collection("a", "system.js")));
    assert!(!holds(&own, &collection("b", "b")));
    assert!(!holds(&own, &database("")));
    assert!(holds(&own, &database("a")));
    let scripts = collection("a", "system.js");
    assert!(holds(&Resource::named("system.js"), &scripts));
    assert!(holds(&Resource::collection("a", "system.js"), &scripts));
    assert!(!holds(&Resource::collection("a", "b"), &database("a")));
    assert!(!holds(&Resource::named("b"), &database("a")));
}

#[test]
fn buckets_are_apart_from_collections() {
    let bucket = collection("a", "system.buckets.c");
    let of = |db: &str, name: &str| Resource::Buckets(db.to_owned(), name.to_owned());
    for resource in [of("a", "c"), of("", "c"), of("a", ""), of("", "")] {
        assert!(holds(&resource, &bucket), "{resource:?}");
        assert!(!holds(&resource, &collection("a", "c")), "{resource:?}");
    }
    assert!(!holds(&of("b", ""), &bucket) && !holds(&of("a", "d"), &bucket));
    assert!(!holds(&Resource::collection("a", "c"), &bucket));
}

#[test]
fn privileges_on_the_same_resource_are_one() {
    let mut all = Privileges::default();
    all.add(&Resource::Cluster, Actions::of(&[Action::Fsync]));
    all.add(&Resource::Cluster, Actions::of(&[Action::Top]));
    assert_eq!((all.len(), all.shown().len()), (1, 1));
    assert!(all.allow(Action::Top, &Target::Cluster));
    assert!(!all.allow(Action::Top, &database("a")));
    assert!(all.within(Actions::of(&[Action::Fsync, Action::Top])));
    let other = all.clone();
    all.remove_all(&other);
    assert!(all.is_empty());
}

#[test]
fn what_is_taken_away_is_taken_from_its_resource_alone() {
    let mut all = Privileges::default();
    let both = Actions::of(&[Action::Find, Action::Insert]);
    all.add(&Resource::database("a"), both);
    all.add(&Resource::collection("a", "c"), both);
    let mut gone = Privileges::default();
    gone.add(&Resource::database("a"), Actions::of(&[Action::Find]));
    gone.add(&Resource::database("b"), both);
    all.remove_all(&gone);
    assert!(!all.allow(Action::Find, &database("a")));
    assert!(all.allow(Action::Insert, &collection("a", "d")));
    assert!(all.allow(Action::Find, &collection("a", "c")));
    assert!(all.within_database("a") && !all.within_database("b"));
}

fn value(text: &str) -> Value {
    json::parse(text.as_bytes(), &Limits::DEFAULT).unwrap()
}

#[test]
fn a_privilege_is_read_as_it_is_shown() {
    for resource in [
        r#"{"cluster":true}"#,
        r#"{"anyResource":true}"#,
        r#"{"db":"","collection":""}"#,
        r#"{"db":"a","collection":""}"#,
        r#"{"db":"","collection":"c"}"#,
        r#"{"db":"a","collection":"c"}"#,
        r#"{"db":"a","system_buckets":"c"}"#,
    ] {
        let text = format!(r#"{{"resource":{resource},"actions":["find","update"]}}"#);
        let read = Privileges::read(&[value(&text)]).unwrap();
        assert_eq!(
            format!("{:?}", read.shown()),
            format!("{:?}", [value(&text)])
        );
    }
}

#[test]
fn what_is_no_privilege_is_refused() {
    let missing = [
        r#"{"resource":{"db":"d"},"actions":["find"]}"#,
        r#"{"resource":{"collection":"d"},"actions":["find"]}"#,
        r#"{"resource":{},"actions":["find"]}"#,
        r#"{"resource":{"db":"d","collection":"c","cluster":true},"actions":["find"]}"#,
        r#"{"resource":{"cluster":true,"anyResource":true},"actions":["find"]}"#,
        r#"{"resource":{"cluster":false},"actions":["find"]}"#,
        r#"{"resource":{"db":"d","collection":"c","system_buckets":"c"},"actions":["find"]}"#,
        r#"{"resource":{"db":"d","collection":"c"}}"#,
        r#"{"resource":{"db":"d","collection":"c"},"actions":[]}"#,
        r#"{"actions":["find"]}"#,
    ];
    let wrong = [
        r#"{"resource":{"db":1,"collection":"c"},"actions":["find"]}"#,
        r#"{"resource":{"cluster":1},"actions":["find"]}"#,
        r#"{"resource":1,"actions":["find"]}"#,
        r#"{"resource":{"cluster":true},"actions":"find"}"#,
        r#"{"resource":{"cluster":true},"actions":[1]}"#,
        r#"{"resource":{"cluster":true},"actions":["find","nope"]}"#,
    ];
    for (texts, code) in [(&missing[..], 9), (&wrong[..], 2)] {
        for text in texts {
            let refused = Privileges::read(&[value(text)]).unwrap_err();
            assert_eq!(refused.code(), Some(code), "{text}");
        }
    }
}
