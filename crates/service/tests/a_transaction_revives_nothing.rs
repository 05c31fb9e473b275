//! A document that a transaction has changed and that expires before the commit is not written again: the commit is a conflict.
//! Until then the transaction itself no longer sees it, in whichever way it looks.

use lapsedb_record::Millis;
use lapsedb_service::documents::{self, IndexChange, Work};
use lapsedb_value::{Object, Value};

use crate::support::mongo::{Client, WRITE_CONFLICT, collection, ids};
use crate::support::{Bench, object, value};

const LIFE_MS: u64 = 5000;

/// By what a document expires after five seconds.
#[derive(Clone, Copy, Debug)]
enum By {
    Default,
    OwnTtl,
    Date,
}

const KINDS: [By; 3] = [By::Default, By::OwnTtl, By::Date];

impl By {
    async fn collection(self, client: &mut Client<'_>, name: &str) {
        let index = match self {
            By::Default => r#"{"key":{"_ts":1},"name":"t","expireAfterSeconds":5}"#,
            By::OwnTtl => r#"{"key":{"_ts":1},"name":"t","expireAfterSeconds":-1}"#,
            By::Date => r#"{"key":{"d":1},"name":"t","expireAfterSeconds":0}"#,
        };
        client.indexes(name, &[index]).await;
    }

    fn document(self, now: Millis, id: i32) -> Object {
        let mut document = object(&format!(r#"{{"_id":{id},"v":0}}"#));
        match self {
            By::Default => {}
            By::OwnTtl => document.push("ttl", 5),
            By::Date => {
                let end = i64::try_from(now.0 + LIFE_MS).unwrap();
                document.push("d", Value::Date(end));
            }
        }
        document
    }
}

/// How a document is changed.
const CHANGES: [&str; 4] = ["set", "replace", "delete", "delete and insert"];

async fn change(client: &mut Client<'_>, kind: By, change: &str, now: Millis) {
    let done = match change {
        "set" => {
            client
                .update("c", r#"{"_id":1}"#, value(r#"{"$set":{"v":1}}"#))
                .await
        }
        "replace" => {
            let mut document = kind.document(now, 1);
            document.insert("v", 1);
            client
                .update("c", r#"{"_id":1}"#, Value::Object(document))
                .await
        }
        "delete" => client.delete("c", r#"{"_id":1}"#).await,
        _ => {
            assert_eq!(client.delete("c", r#"{"_id":1}"#).await, Ok(1));
            client.insert("c", kind.document(now, 1)).await
        }
    };
    assert_eq!(done, Ok(1), "{change}");
}

#[test]
fn a_change_of_what_has_expired_is_a_conflict() {
    lapsedb_testkit::run(async {
        for kind in KINDS {
            for how in CHANGES {
                for other in ["", "find", "insert", "get"] {
                    let bench = Bench::new().await;
                    bench.at_a_second();
                    let mut client = Client::new(&bench, 1);
                    kind.collection(&mut client, "c").await;
                    let now = bench.service.clock().now();
                    client.insert("c", kind.document(now, 1)).await.unwrap();
                    bench.service.clock().advance(LIFE_MS - 1000).unwrap();
                    client.start();
                    change(&mut client, kind, how, now).await;
                    bench.service.clock().advance(2000).unwrap();
                    let text = format!("{kind:?} {how} {other}");
                    match other {
                        "find" => {
                            assert_eq!(client.find("c", "{}").await.unwrap().len(), 0, "{text}")
                        }
                        "get" => {
                            let found = client.find("c", r#"{"_id":1}"#).await.unwrap();
                            assert_eq!(found.len(), 0, "{text}");
                        }
                        "insert" => {
                            let now = bench.service.clock().now();
                            client.insert("c", kind.document(now, 2)).await.unwrap();
                        }
                        _ => {}
                    }
                    assert_eq!(client.commit().await, Err(WRITE_CONFLICT), "{text}");
                    assert_eq!(client.find("c", "{}").await.unwrap().len(), 0, "{text}");
                }
            }
        }
    });
}

#[test]
fn all_ways_to_look_agree_inside_the_transaction() {
    lapsedb_testkit::run(async {
        for kind in KINDS {
            let bench = Bench::new().await;
            bench.at_a_second();
            let mut client = Client::new(&bench, 1);
            kind.collection(&mut client, "c").await;
            let now = bench.service.clock().now();
            client.insert("c", kind.document(now, 1)).await.unwrap();
            client.start();
            change(&mut client, kind, "set", now).await;
            client.insert("c", kind.document(now, 2)).await.unwrap();
            client
                .update("c", r#"{"_id":2}"#, value(r#"{"$set":{"v":1}}"#))
                .await
                .unwrap();
            for step in [0, LIFE_MS - 1, 1, LIFE_MS] {
                let passed = bench.service.clock().advance(step).unwrap().0 - now.0;
                let all = ids(&client.find("c", "{}").await.unwrap());
                let mut single = Vec::new();
                for id in [1, 2] {
                    let found = client
                        .find("c", &format!(r#"{{"_id":{id}}}"#))
                        .await
                        .unwrap();
                    single.extend(ids(&found));
                }
                // A ttl begins with the commit; a date does not wait for it.
                let expected: &[i64] = match (kind, passed < LIFE_MS) {
                    (_, true) => &[1, 2],
                    (By::Default | By::OwnTtl, false) => &[2],
                    (By::Date, false) => &[],
                };
                assert_eq!(
                    (all.as_slice(), single.as_slice()),
                    (expected, expected),
                    "{kind:?} {passed}"
                );
            }
        }
    });
}

#[test]
fn what_only_the_transaction_has_is_committed_and_lives_from_then_on() {
    lapsedb_testkit::run(async {
        for kind in KINDS {
            let bench = Bench::new().await;
            bench.at_a_second();
            let mut client = Client::new(&bench, 1);
            kind.collection(&mut client, "c").await;
            let now = bench.service.clock().now();
            client.start();
            client.insert("c", kind.document(now, 1)).await.unwrap();
            bench.service.clock().advance(2 * LIFE_MS).unwrap();
            assert_eq!(client.commit().await, Ok(()), "{kind:?}");
            let found = client.find("c", "{}").await.unwrap().len();
            assert_eq!(found, usize::from(!matches!(kind, By::Date)), "{kind:?}");
            bench.service.clock().advance(LIFE_MS).unwrap();
            assert_eq!(client.find("c", "{}").await.unwrap().len(), 0, "{kind:?}");
        }
    });
}

#[test]
fn an_expired_id_may_be_used_again_by_a_transaction() {
    lapsedb_testkit::run(async {
        for kind in KINDS {
            let bench = Bench::new().await;
            bench.at_a_second();
            let mut client = Client::new(&bench, 1);
            kind.collection(&mut client, "c").await;
            let now = bench.service.clock().now();
            client.insert("c", kind.document(now, 1)).await.unwrap();
            bench.service.clock().advance(LIFE_MS).unwrap();
            client.start();
            client
                .insert("c", object(r#"{"_id":1,"v":7}"#))
                .await
                .unwrap();
            bench.service.clock().advance(1000).unwrap();
            assert_eq!(client.find("c", r#"{"_id":1}"#).await.unwrap().len(), 1);
            assert_eq!(client.commit().await, Ok(()));
            assert_eq!(client.find("c", r#"{"v":7}"#).await.unwrap().len(), 1);
        }
    });
}

#[test]
fn a_default_that_is_changed_meanwhile_is_a_conflict() {
    lapsedb_testkit::run(async {
        for seconds in [1, 1000] {
            let bench = Bench::new().await;
            bench.at_a_second();
            let mut client = Client::new(&bench, 1);
            By::Default.collection(&mut client, "c").await;
            let now = bench.service.clock().now();
            client
                .insert("c", By::Default.document(now, 1))
                .await
                .unwrap();
            bench.service.clock().advance(2000).unwrap();
            client.start();
            change(&mut client, By::Default, "set", now).await;
            let mut work = Work::new(bench.ctx.clone());
            let changed = IndexChange {
                name: Some("t".to_owned()),
                key: None,
                expire_after: Some(Value::Int32(seconds)),
                hidden: None,
            };
            documents::change_index(&mut work, &collection("c"), &changed)
                .await
                .unwrap();
            assert_eq!(client.commit().await, Err(WRITE_CONFLICT));
            let left = client.find("c", r#"{"v":0}"#).await.unwrap().len();
            assert_eq!(left, usize::from(seconds > 2));
        }
    });
}
