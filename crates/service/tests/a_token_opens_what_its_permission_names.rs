//! A permission's token opens its resource, as far as its mode says, and nothing else.

use crate::support::{ALWAYS, Bench, all, kind, object, text, value, visible, write};
use lapsedb_service::access::Grant;
use lapsedb_service::client_encryption_keys as keys;
use lapsedb_service::items::feed::Selection;
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode, versions};
use lapsedb_service::users::{self, permissions};
use lapsedb_service::{
    Clock, Ctx, Kind, Millis, PartitionKey, Result, Who, collections, databases, resource, token,
};

async fn bench() -> Bench {
    let bench = Bench::new().await;
    for db in ["db", "foreign"] {
        bench.database(db).await;
        for coll in ["c", "d"] {
            bench.collection(db, coll, None).await;
            for id in ["a", "b"] {
                write(&bench.ctx, db, coll, id).await.unwrap();
            }
        }
    }
    users::create(&bench.ctx, "db", &object("{\"id\":\"u\"}"), false)
        .await
        .unwrap();
    bench
}

async fn grant(bench: &Bench, id: &str, mode: &str, resource: &str, key: &str) -> Ctx {
    let body = object(&format!(
        "{{\"id\":\"{id}\",\"permissionMode\":\"{mode}\",\"resource\":\"{resource}\"{key}}}"
    ));
    let permission = permissions::create(&bench.ctx, ("db", "u"), &body, false, None)
        .await
        .unwrap();
    let token = text(&permission, "_token");
    bench.by(Who::Token(granted(bench, &token).await.unwrap()))
}

async fn granted(bench: &Bench, token: &str) -> Result<Grant> {
    token::verify(&bench.service, token, Clock::wall_now()).await
}

/// Makes a permission and gives its token.
async fn issue(bench: &Bench, user: &str, id: &str, mode: &str) -> String {
    let body = object(&format!(
        "{{\"id\":\"{id}\",\"permissionMode\":\"{mode}\",\"resource\":\"dbs/db/colls/c\"}}"
    ));
    let made = permissions::create(&bench.ctx, ("db", user), &body, true, None).await;
    text(&made.unwrap(), "_token")
}

#[test]
fn a_token_ends_with_its_permission() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        for user in ["v", "w"] {
            let body = object(&format!("{{\"id\":\"{user}\"}}"));
            users::create(&bench.ctx, "db", &body, false).await.unwrap();
        }
        let deleted = issue(&bench, "u", "deleted", "All").await;
        let other = issue(&bench, "u", "other", "All").await;
        let of_user = issue(&bench, "v", "p", "All").await;
        let of_database = issue(&bench, "w", "p", "All").await;
        for token in [&deleted, &other, &of_user, &of_database] {
            assert!(granted(&bench, token).await.is_ok());
        }
        permissions::delete(&bench.ctx, ("db", "u"), "deleted", &ALWAYS)
            .await
            .unwrap();
        assert_eq!(kind(granted(&bench, &deleted).await), Kind::Forbidden);
        let again = issue(&bench, "u", "deleted", "All").await;
        assert_eq!(kind(granted(&bench, &deleted).await), Kind::Forbidden);
        assert!(granted(&bench, &again).await.is_ok());
        users::delete(&bench.ctx, "db", "v", &ALWAYS).await.unwrap();
        assert_eq!(kind(granted(&bench, &of_user).await), Kind::Forbidden);
        assert!(granted(&bench, &other).await.is_ok());
        databases::delete(&bench.ctx, "db", &ALWAYS).await.unwrap();
        for token in [&other, &again, &of_database] {
            assert_eq!(kind(granted(&bench, token).await), Kind::Forbidden);
        }
    });
}

#[test]
fn a_token_changes_with_its_permission() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let token = issue(&bench, "u", "p", "All").await;
        assert!(granted(&bench, &token).await.unwrap().write);
        issue(&bench, "u", "p", "Read").await;
        assert!(!granted(&bench, &token).await.unwrap().write);
        let renamed =
            object("{\"id\":\"q\",\"permissionMode\":\"All\",\"resource\":\"dbs/db/colls/d\"}");
        permissions::replace(&bench.ctx, ("db", "u"), "p", &renamed, &ALWAYS, None)
            .await
            .unwrap();
        // Another one has its old name now.
        issue(&bench, "u", "p", "Read").await;
        let reader = bench.by(Who::Token(granted(&bench, &token).await.unwrap()));
        write(&reader, "db", "d", "a").await.unwrap();
        assert_eq!(
            kind(visible(&reader, "db", "c", "a").await),
            Kind::Forbidden
        );
    });
}

#[test]
fn who_may_only_read_does_not_begin_to_keep_versions() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let request = versions::Request {
            selection: Selection {
                partition: None,
                range_id: None,
                epk: None,
            },
            start: versions::Start::Now,
            items_max: None,
        };
        let read = async |ctx: &Ctx, coll: &str| {
            let page = versions::versions(ctx, ("db", coll), None, &request).await;
            page.map(|_| ())
        };
        let readers = [
            bench.by(Who::ReadOnly),
            grant(&bench, "r", "Read", "dbs/db/colls/c", "").await,
        ];
        for reader in &readers {
            assert_eq!(kind(read(reader, "c").await), Kind::Forbidden);
        }
        read(&bench.ctx, "c").await.unwrap();
        for reader in &readers {
            read(reader, "c").await.unwrap();
        }
        let writer = grant(&bench, "w", "All", "dbs/db/colls/d", "").await;
        read(&writer, "d").await.unwrap();
    });
}

#[test]
fn a_collection_by_name_and_by_link() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let own = collections::read(&bench.ctx, ("db", "c"), &ALWAYS, false).await;
        let own = text(&own.unwrap().reply, "_self");
        for (id, resource) in [("name", "dbs/db/colls/c"), ("link", own.as_str())] {
            let reader = grant(&bench, &format!("{id}r"), "Read", resource, "").await;
            assert!(visible(&reader, "db", "c", "a").await.unwrap());
            assert_eq!(kind(write(&reader, "db", "c", "a").await), Kind::Forbidden);
            assert_eq!(
                kind(visible(&reader, "db", "d", "a").await),
                Kind::Forbidden
            );
            assert_eq!(
                kind(visible(&reader, "foreign", "c", "a").await),
                Kind::Forbidden
            );
            let writer = grant(&bench, &format!("{id}w"), "all", resource, "").await;
            write(&writer, "db", "c", "a").await.unwrap();
            assert_eq!(kind(write(&writer, "db", "d", "a").await), Kind::Forbidden);
            for ctx in [&reader, &writer] {
                let definition = collections::read(ctx, ("db", "c"), &ALWAYS, false).await;
                assert!(definition.is_ok());
                assert_eq!(kind(databases::list(ctx, &all()).await), Kind::Forbidden);
                let deleted = collections::delete(ctx, ("db", "c"), &ALWAYS).await;
                assert_eq!(kind(deleted), Kind::Forbidden);
                let read = permissions::list(ctx, ("db", "u"), &all(), None).await;
                assert_eq!(kind(read), Kind::Forbidden);
            }
        }
    });
}

#[test]
fn one_item_by_name() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let key = ",\"resourcePartitionKey\":[\"p\"]";
        let reader = grant(&bench, "i", "Read", "dbs/db/colls/c/docs/a", key).await;
        assert!(visible(&reader, "db", "c", "a").await.unwrap());
        assert_eq!(
            kind(visible(&reader, "db", "c", "b").await),
            Kind::Forbidden
        );
    });
}

#[test]
fn a_collection_made_again_is_not_meant() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let reader = grant(&bench, "p", "All", "dbs/db/colls/c", "").await;
        collections::delete(&bench.ctx, ("db", "c"), &ALWAYS)
            .await
            .unwrap();
        bench.collection("db", "c", None).await;
        write(&bench.ctx, "db", "c", "a").await.unwrap();
        assert_eq!(
            kind(visible(&reader, "db", "c", "a").await),
            Kind::Forbidden
        );
    });
}

#[test]
fn a_name_that_leads_nowhere_opens_nothing_later() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let link = "dbs/AQAAAA==/colls/AQAAAJ0fgTc=";
        for (id, resource) in [("name", "dbs/db/colls/later"), ("link", link)] {
            let writer = grant(&bench, id, "All", resource, "").await;
            if id == "name" {
                bench.collection("db", "later", None).await;
            }
            for coll in ["c", "later"] {
                assert_eq!(kind(write(&writer, "db", coll, "a").await), Kind::Forbidden);
                assert_eq!(
                    kind(visible(&writer, "db", coll, "a").await),
                    Kind::Forbidden
                );
            }
        }
    });
}

#[test]
fn an_item_of_another_partition_is_not_found_by_its_rid() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let op = |pk: &str| ItemOp {
            action: Action::Upsert(
                Document::new(object(&format!("{{\"id\":\"x\",\"pk\":\"{pk}\"}}"))).unwrap(),
            ),
            partition: Some(PartitionKey::parse(&format!("[\"{pk}\"]")).unwrap()),
            if_match: None,
            if_none_match: None,
            minimal: false,
        };
        let ran = items::run(&bench.ctx, ("db", "c"), None, &[op("other")], Mode::Each)
            .await
            .unwrap();
        let item = ran.results[0].as_ref().unwrap().item.as_ref().unwrap();
        let mut shown = Vec::new();
        resource::write_item(&ran.collection, &item.header, &item.body, &mut shown).unwrap();
        let rid = value(&String::from_utf8(shown).unwrap())
            .get("_rid")
            .as_str()
            .unwrap()
            .to_owned();
        let reader = grant(
            &bench,
            "p",
            "Read",
            "dbs/db/colls/c",
            ",\"resourcePartitionKey\":[\"p\"]",
        )
        .await;
        for ctx in [&reader, &bench.ctx] {
            assert!(!visible(ctx, "db", "c", &rid).await.unwrap());
        }
    });
}

#[test]
fn the_read_only_key_gets_no_tokens() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        grant(&bench, "p", "All", "dbs/db/colls/c", "").await;
        let reader = bench.by(Who::ReadOnly);
        let read = permissions::read(&reader, ("db", "u"), "p", &ALWAYS, None).await;
        assert_eq!(kind(read), Kind::Forbidden);
        let list = permissions::list(&reader, ("db", "u"), &all(), None).await;
        assert_eq!(kind(list), Kind::Forbidden);
        assert!(users::list(&reader, "db", &all()).await.is_ok());
    });
}

#[test]
fn client_encryption_keys_are_the_accounts() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let key = |id: &str| {
            object(&format!(
                "{{\"id\":\"{id}\",\"encryptionAlgorithm\":\"a\",\"wrappedDataEncryptionKey\":\"AQ==\",\"keyWrapMetadata\":{{\"type\":\"t\",\"name\":\"n\",\"value\":\"v\"}}}}"
            ))
        };
        keys::create(&bench.ctx, "db", &key("k")).await.unwrap();
        let token = grant(&bench, "p", "All", "dbs/db/colls/c", "").await;
        let reader = bench.by(Who::ReadOnly);
        for ctx in [&token, &reader] {
            let made = keys::create(ctx, "db", &key("l")).await;
            assert_eq!(kind(made), Kind::Forbidden);
            let replaced = keys::replace(ctx, "db", "k", &key("k"), &ALWAYS).await;
            assert_eq!(kind(replaced), Kind::Forbidden);
        }
        let read = keys::read(&token, "db", "k", &ALWAYS).await;
        assert_eq!(kind(read), Kind::Forbidden);
        let list = keys::list(&token, "db", &all()).await;
        assert_eq!(kind(list), Kind::Forbidden);
        assert!(keys::read(&reader, "db", "k", &ALWAYS).await.is_ok());
        let list = keys::list(&reader, "db", &all()).await.unwrap();
        assert_eq!(list.values.len(), 1);
    });
}

#[test]
fn a_token_ends() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let body =
            object("{\"id\":\"p\",\"permissionMode\":\"Read\",\"resource\":\"dbs/db/colls/c\"}");
        let before = Clock::wall_now();
        let permission =
            permissions::create(&bench.ctx, ("db", "u"), &body, false, Some(600)).await;
        let token = text(&permission.unwrap(), "_token");
        let at = |secs: u64| Millis(before.0 + secs * 1000);
        let verified = token::verify(&bench.service, &token, at(590)).await;
        assert!(verified.is_ok());
        let verified = token::verify(&bench.service, &token, at(700)).await;
        assert_eq!(kind(verified), Kind::Forbidden);
        let short = permissions::read(&bench.ctx, ("db", "u"), "p", &ALWAYS, Some(599)).await;
        assert_eq!(kind(short), Kind::BadRequest);
    });
}

#[test]
fn a_permission_must_name_what_is_there() {
    lapsedb_testkit::run(async {
        let bench = bench().await;
        let refused = async |text: &str| {
            kind(permissions::create(&bench.ctx, ("db", "u"), &object(text), false, None).await)
        };
        for (body, expected) in [
            (
                r#"{"id":"p","resource":"dbs/db/colls/c"}"#,
                Kind::BadRequest,
            ),
            (r#"{"id":"p","permissionMode":"Read"}"#, Kind::BadRequest),
            (
                r#"{"id":"p","permissionMode":"Write","resource":"dbs/db/colls/c"}"#,
                Kind::BadRequest,
            ),
            (
                r#"{"id":"p","permissionMode":"Read","resource":"colls/c"}"#,
                Kind::BadRequest,
            ),
            (
                r#"{"id":"p","permissionMode":"Read","resource":"dbs/db/colls"}"#,
                Kind::BadRequest,
            ),
            (
                r#"{"id":"p","permissionMode":"Read","resource":"dbs/foreign/colls/c"}"#,
                Kind::BadRequest,
            ),
            (
                r#"{"id":"p","permissionMode":"Read","resource":"dbs/db/colls/c/docs/a"}"#,
                Kind::BadRequest,
            ),
            (
                r#"{"id":"p","permissionMode":"Read","resource":"dbs/db/colls/c/docs/none","resourcePartitionKey":["p"]}"#,
                Kind::NotFound,
            ),
            (
                r#"{"id":"p","permissionMode":"Read","resource":"dbs/db/colls/c","resourcePartitionKey":["p","q"]}"#,
                Kind::BadRequest,
            ),
        ] {
            assert_eq!(refused(body).await, expected, "{body}");
        }
        let page = permissions::list(&bench.ctx, ("db", "u"), &all(), None).await;
        assert!(page.unwrap().values.is_empty());
    });
}
