//! With a database or a collection goes all that belongs to it, and nothing that does not.

use crate::support::{ALWAYS, Bench, all, definition, ids, kind, object, value, visible, write};
use lapsedb_service::offers::{self, Wanted};
use lapsedb_service::scripts::{self, ScriptKind};
use lapsedb_service::users::{self, permissions};
use lapsedb_service::{Kind, collections, databases};

/// A database with one of everything.
async fn furnish(bench: &Bench, db: &str) {
    let wanted = Wanted::of_request(Some("400"), None).unwrap();
    let body = object(&format!("{{\"id\":\"{db}\"}}"));
    databases::create(&bench.ctx, &body, wanted.as_ref())
        .await
        .unwrap();
    collections::create(&bench.ctx, db, &definition("c", None), wanted.as_ref())
        .await
        .unwrap();
    write(&bench.ctx, db, "c", "a").await.unwrap();
    let script = object(
        "{\"id\":\"s\",\"body\":\"function () {}\",\"triggerType\":\"Pre\",\"triggerOperation\":\"All\"}",
    );
    for script_kind in [
        ScriptKind::StoredProcedure,
        ScriptKind::Trigger,
        ScriptKind::UserDefinedFunction,
    ] {
        scripts::create(&bench.ctx, (db, "c"), script_kind, &script, false)
            .await
            .unwrap();
    }
    users::create(&bench.ctx, db, &object("{\"id\":\"u\"}"), false)
        .await
        .unwrap();
    let permission = object(&format!(
        "{{\"id\":\"p\",\"permissionMode\":\"All\",\"resource\":\"dbs/{db}/colls/c\"}}"
    ));
    permissions::create(&bench.ctx, (db, "u"), &permission, false, None)
        .await
        .unwrap();
}

/// How many offers, users, permissions and scripts a database has, and whether its item is there.
async fn held(bench: &Bench, db: &str) -> (usize, usize, usize, usize, bool) {
    let ctx = &bench.ctx;
    let own = databases::read(ctx, db, &ALWAYS).await.unwrap();
    let prefix = own.value.get("_self").as_str().unwrap().to_owned();
    let offers = offers::list(ctx, &all()).await.unwrap();
    let offers = offers
        .values
        .iter()
        .filter(|offer| offer.get("resource").as_str().unwrap().starts_with(&prefix))
        .count();
    let users = users::list(ctx, db, &all()).await.unwrap().values.len();
    let permissions = permissions::list(ctx, (db, "u"), &all(), None).await;
    let permissions = permissions.map_or(0, |page| page.values.len());
    let mut count = 0;
    for script_kind in [
        ScriptKind::StoredProcedure,
        ScriptKind::Trigger,
        ScriptKind::UserDefinedFunction,
    ] {
        let page = scripts::list(ctx, (db, "c"), script_kind, &all()).await;
        count += page.map_or(0, |page| page.values.len());
    }
    let item = visible(ctx, db, "c", "a").await.unwrap_or(false);
    (offers, users, permissions, count, item)
}

#[test]
fn a_database_takes_everything_of_its_own() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        furnish(&bench, "one").await;
        furnish(&bench, "two").await;
        assert_eq!(held(&bench, "one").await, (2, 1, 1, 3, true));
        databases::delete(&bench.ctx, "one", &ALWAYS).await.unwrap();
        assert_eq!(
            kind(databases::read(&bench.ctx, "one", &ALWAYS).await),
            Kind::NotFound
        );
        assert_eq!(
            kind(users::list(&bench.ctx, "one", &all()).await),
            Kind::OwnerNotFound
        );
        assert_eq!(
            offers::list(&bench.ctx, &all()).await.unwrap().values.len(),
            2
        );
        assert_eq!(held(&bench, "two").await, (2, 1, 1, 3, true));
        // Made again under the same names, it has nothing of the old one: its offer is the collection's standard one.
        bench.database("one").await;
        bench.collection("one", "c", None).await;
        users::create(&bench.ctx, "one", &object("{\"id\":\"u\"}"), false)
            .await
            .unwrap();
        assert_eq!(held(&bench, "one").await, (1, 1, 0, 0, false));
    });
}

#[test]
fn a_collection_takes_its_items_scripts_and_offer() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        furnish(&bench, "one").await;
        let taken = collections::delete(&bench.ctx, ("one", "c"), &ALWAYS).await;
        assert_eq!(taken.unwrap().owner.path, "dbs/one");
        assert_eq!(held(&bench, "one").await, (1, 1, 1, 0, false));
        bench.collection("one", "c", None).await;
        assert_eq!(held(&bench, "one").await, (1, 1, 1, 0, false));
    });
}

#[test]
fn a_user_takes_its_permissions_and_keeps_them_under_another_name() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        furnish(&bench, "one").await;
        let renamed = object("{\"id\":\"v\"}");
        users::replace(&bench.ctx, "one", "u", &renamed, &ALWAYS)
            .await
            .unwrap();
        assert_eq!(
            kind(users::read(&bench.ctx, "one", "u", &ALWAYS).await),
            Kind::NotFound
        );
        let page = permissions::list(&bench.ctx, ("one", "v"), &all(), None).await;
        assert_eq!(ids(&page.unwrap()), ["p"]);
        users::delete(&bench.ctx, "one", "v", &ALWAYS)
            .await
            .unwrap();
        users::create(&bench.ctx, "one", &renamed, false)
            .await
            .unwrap();
        let page = permissions::list(&bench.ctx, ("one", "v"), &all(), None).await;
        assert!(page.unwrap().values.is_empty());
    });
}

#[test]
fn a_changed_index_policy_leaves_the_items() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        furnish(&bench, "one").await;
        let mut body = definition("c", None).into_object().unwrap();
        body.insert(
            "indexingPolicy",
            value("{\"indexingMode\":\"none\",\"automatic\":false}"),
        );
        let body = lapsedb_value::Value::Object(body);
        let reply = collections::replace(&bench.ctx, ("one", "c"), &body, &ALWAYS).await;
        let reply = reply.unwrap();
        let mode = reply
            .reply
            .value
            .get("indexingPolicy")
            .get("indexingMode")
            .as_str();
        assert_eq!(mode, Some("none"));
        assert!(visible(&bench.ctx, "one", "c", "a").await.unwrap());
    });
}
