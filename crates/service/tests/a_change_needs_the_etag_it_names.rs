//! Every catalog resource has an etag that changes with every write, and conditions hold to it.

use crate::support::{self, ALWAYS, Bench, definition, object, text};
use lapsedb_service::offers::{self, Wanted};
use lapsedb_service::reply::{Conditions, Outcome, Reply};
use lapsedb_service::scripts::{self, ScriptKind};
use lapsedb_service::users::{self, permissions};
use lapsedb_service::{Kind, Result, collections, databases};

const SPROC: ScriptKind = ScriptKind::StoredProcedure;

fn if_match(etag: &str) -> Conditions {
    Conditions {
        if_match: Some(etag.to_owned()),
        if_none_match: None,
    }
}

fn if_none_match(etag: &str) -> Conditions {
    Conditions {
        if_match: None,
        if_none_match: Some(etag.to_owned()),
    }
}

fn refused(result: Result<Reply>) {
    assert_eq!(support::kind(result), Kind::PreconditionFailed);
}

/// Holds a resource's verbs to its etag: `$read`, `$replace` and `$delete` take conditions.
macro_rules! holds {
    ($created:expr, $read:expr, $replace:expr, $delete:expr) => {{
        let read = $read;
        let replace = $replace;
        let delete = $delete;
        let first = text(&$created, "_etag");
        assert_eq!(text(&read(ALWAYS).await.unwrap(), "_etag"), first);
        let known = read(if_none_match(&first)).await.unwrap();
        assert_eq!(known.outcome, Outcome::NotModified);
        refused(replace(if_match("\"other\"")).await);
        let second = text(&replace(if_match(&first)).await.unwrap(), "_etag");
        assert_ne!(first, second);
        refused(replace(if_match(&first)).await);
        refused(delete(if_match(&first)).await);
        let changed = read(if_none_match(&first)).await.unwrap();
        assert_eq!(changed.outcome, Outcome::Read);
        assert_eq!(text(&changed, "_etag"), second);
        assert_eq!(
            delete(if_match(&second)).await.unwrap().outcome,
            Outcome::Deleted
        );
        assert_eq!(support::kind(read(ALWAYS).await), Kind::NotFound);
        assert_eq!(
            support::kind(delete(if_match(&second)).await),
            Kind::NotFound
        );
    }};
}

#[test]
fn databases_and_offers() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        let ctx = &bench.ctx;
        let wanted = Wanted::of_request(Some("400"), None).unwrap();
        let body = object("{\"id\":\"db\"}");
        let database = databases::create(ctx, &body, wanted.as_ref())
            .await
            .unwrap();
        let etag = text(&database, "_etag");
        let known = databases::read(ctx, "db", &if_none_match(&etag)).await;
        assert_eq!(known.unwrap().outcome, Outcome::NotModified);

        let all = offers::list(ctx, &support::all()).await.unwrap();
        let mut offer = all.values[0].clone().into_object().unwrap();
        let rid = offer.get("_rid").unwrap().as_str().unwrap().to_owned();
        let first = offer.get("_etag").unwrap().as_str().unwrap().to_owned();
        offer.insert("content", support::value("{\"offerThroughput\":700}"));
        let refused = offers::replace(ctx, &rid, &offer, None, &if_match("\"x\"")).await;
        assert_eq!(support::kind(refused), Kind::PreconditionFailed);
        let replaced = offers::replace(ctx, &rid, &offer, None, &if_match(&first))
            .await
            .unwrap();
        assert_ne!(text(&replaced.reply, "_etag"), first);
        let content = replaced.reply.value.get("content");
        assert_eq!(content.get("offerThroughput").as_i64(), Some(700));
        offer.insert("offerResourceId", lapsedb_value::Value::from("other"));
        let moved = offers::replace(ctx, &rid, &offer, None, &ALWAYS).await;
        assert_eq!(support::kind(moved), Kind::BadRequest);

        refused_database(&bench).await;
        assert!(databases::delete(ctx, "db", &if_match(&etag)).await.is_ok());
    });
}

async fn refused_database(bench: &Bench) {
    refused(databases::delete(&bench.ctx, "db", &if_match("\"x\"")).await);
}

#[test]
fn collections_users_permissions_and_scripts() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        let ctx = &bench.ctx;
        bench.database("db").await;
        let created = bench.collection("db", "c", None).await;
        bench.collection("db", "other", None).await;
        let body = definition("c", Some(5));
        holds!(
            created,
            async |when| collections::read(ctx, ("db", "c"), &when, false)
                .await
                .map(|read| read.reply),
            async |when| collections::replace(ctx, ("db", "c"), &body, &when)
                .await
                .map(|replaced| replaced.reply),
            async |when| collections::delete(ctx, ("db", "c"), &when).await
        );

        let script = object("{\"id\":\"s\",\"body\":\"x\"}");
        let at = ("db", "other");
        holds!(
            scripts::create(ctx, at, SPROC, &script, false)
                .await
                .unwrap(),
            async |when| scripts::read(ctx, at, SPROC, "s", &when).await,
            async |when| scripts::replace(ctx, at, SPROC, "s", &script, &when).await,
            async |when| scripts::delete(ctx, at, SPROC, "s", &when).await
        );

        let user = object("{\"id\":\"u\"}");
        users::create(ctx, "db", &object("{\"id\":\"holder\"}"), false)
            .await
            .unwrap();
        holds!(
            users::create(ctx, "db", &user, false).await.unwrap(),
            async |when| users::read(ctx, "db", "u", &when).await,
            async |when| users::replace(ctx, "db", "u", &user, &when).await,
            async |when| users::delete(ctx, "db", "u", &when).await
        );

        let permission = object(
            "{\"id\":\"p\",\"permissionMode\":\"Read\",\"resource\":\"dbs/db/colls/other\"}",
        );
        let at = ("db", "holder");
        holds!(
            permissions::create(ctx, at, &permission, false, None)
                .await
                .unwrap(),
            async |when| permissions::read(ctx, at, "p", &when, None).await,
            async |when| permissions::replace(ctx, at, "p", &permission, &when, None).await,
            async |when| permissions::delete(ctx, at, "p", &when).await
        );
    });
}

#[test]
fn an_upsert_makes_once_and_then_replaces() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        let ctx = &bench.ctx;
        bench.database("db").await;
        bench.collection("db", "c", None).await;
        let user = object("{\"id\":\"u\"}");
        let script = object("{\"id\":\"s\",\"body\":\"x\"}");
        for expected in [Outcome::Created, Outcome::Replaced] {
            let user = users::create(ctx, "db", &user, true).await.unwrap();
            let script = scripts::create(ctx, ("db", "c"), SPROC, &script, true).await;
            assert_eq!(
                (user.outcome, script.unwrap().outcome),
                (expected, expected)
            );
        }
        assert_eq!(
            support::kind(users::create(ctx, "db", &user, false).await),
            Kind::Conflict
        );
        assert_eq!(
            support::kind(scripts::create(ctx, ("db", "c"), SPROC, &script, false).await),
            Kind::Conflict
        );
    });
}
