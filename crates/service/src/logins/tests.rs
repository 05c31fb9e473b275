#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use lapsedb_store::Place;

use super::*;
use crate::ctx::Ctx;
use crate::{Config, Service, Who};

async fn open(place: Place) -> Ctx {
    let service = Service::open(Config {
        place,
        virtual_clock: false,
        ..Config::in_memory(b"key".to_vec())
    });
    Ctx::new(Arc::clone(&service.await.unwrap()), Who::Master)
}

fn user(database: &str, name: &str, roles: &[&str]) -> User {
    let mut credentials = Object::new();
    credentials.push("SCRAM-SHA-1", Value::Object(Object::new()));
    credentials.push("SCRAM-SHA-256", Value::Object(Object::new()));
    User {
        name: name.to_owned(),
        database: database.to_owned(),
        id: *uuid::Uuid::new_v4().as_bytes(),
        credentials,
        roles: roles
            .iter()
            .map(|role| RoleName::new(role, database))
            .collect(),
        custom_data: None,
    }
}

fn names(users: &[User]) -> Vec<String> {
    users.iter().map(User::address).collect()
}

#[test]
fn logins_outlive_the_process() {
    lapsedb_testkit::run(async {
        let folder = tempfile::tempdir().unwrap();
        let place = || Place::Disk(folder.path().join("store"));
        let ctx = open(place()).await;
        create(&ctx, &user("a", "u", &["read"])).await.unwrap();
        ctx.service().close().await.unwrap();
        std::mem::drop(ctx);
        let ctx = open(place()).await;
        let found = find(&ctx, "a", "u").await.unwrap().unwrap();
        assert_eq!(found.roles, [RoleName::new("read", "a")]);
        assert_eq!(found.credentials.len(), 2);
        ctx.service().close().await.unwrap();
    });
}

#[test]
fn a_name_is_taken_once_in_its_database() {
    lapsedb_testkit::run(async {
        let ctx = open(Place::Memory).await;
        for (database, name) in [("a", "u"), ("ab", "u"), ("a", "b.u")] {
            create(&ctx, &user(database, name, &[])).await.unwrap();
        }
        let again = create(&ctx, &user("a", "u", &[])).await.unwrap_err();
        assert_eq!(again.code(), Some(51_003));
        assert_eq!(
            names(&list(&ctx, Some("a")).await.unwrap()),
            ["a.b.u", "a.u"]
        );
        assert_eq!(list(&ctx, None).await.unwrap().len(), 3);
        assert_eq!(drop_all(&ctx, "a").await.unwrap(), 2);
        assert_eq!(names(&list(&ctx, None).await.unwrap()), ["ab.u"]);
        assert_eq!(drop(&ctx, "a", "u").await.unwrap_err().code(), Some(11));
    });
}

#[test]
fn roles_are_granted_once_and_must_exist() {
    lapsedb_testkit::run(async {
        let ctx = open(Place::Memory).await;
        create(&ctx, &user("a", "u", &["read"])).await.unwrap();
        let bad = create(&ctx, &user("a", "v", &["root"])).await;
        assert_eq!(bad.unwrap_err().code(), Some(31));
        let write = [RoleName::new("readWrite", "b")];
        for _ in 0..2 {
            grant(&ctx, "a", "u", &write).await.unwrap();
        }
        let roles = find(&ctx, "a", "u").await.unwrap().unwrap().roles;
        assert_eq!(roles.len(), 2);
        revoke(&ctx, "a", "u", &write).await.unwrap();
        let unknown = [RoleName::new("nothing", "b")];
        for result in [
            grant(&ctx, "a", "u", &unknown).await,
            revoke(&ctx, "a", "u", &unknown).await,
        ] {
            assert_eq!(result.unwrap_err().code(), Some(31));
        }
        let roles = find(&ctx, "a", "u").await.unwrap().unwrap().roles;
        assert_eq!(roles, [RoleName::new("read", "a")]);
    });
}

#[test]
fn mechanisms_can_be_given_up_but_not_taken_without_a_password() {
    lapsedb_testkit::run(async {
        let ctx = open(Place::Memory).await;
        create(&ctx, &user("a", "u", &[])).await.unwrap();
        let only = |name: &str| Change {
            mechanisms: Some(vec![name.to_owned()]),
            ..Change::default()
        };
        alter(&ctx, "a", "u", &only("SCRAM-SHA-256")).await.unwrap();
        let back = alter(&ctx, "a", "u", &only("SCRAM-SHA-1")).await;
        assert_eq!(back.unwrap_err().code(), Some(2));
        let found = find(&ctx, "a", "u").await.unwrap().unwrap();
        assert_eq!(found.credentials.len(), 1);
    });
}

#[test]
fn rights_follow_the_login_and_end_with_it() {
    lapsedb_testkit::run(async {
        let ctx = open(Place::Memory).await;
        create(&ctx, &user("a", "u", &["read"])).await.unwrap();
        let mut access = Access::of(
            &find(&ctx, "a", "u").await.unwrap().unwrap(),
            Granted::default(),
        );
        assert!(access.renew(&ctx).await.unwrap());
        assert!(matches!(access.who(), Who::ReadOnly));
        grant(&ctx, "a", "u", &[RoleName::new("readWrite", "a")])
            .await
            .unwrap();
        assert!(access.renew(&ctx).await.unwrap());
        assert!(matches!(access.who(), Who::Master));
        drop(&ctx, "a", "u").await.unwrap();
        assert!(!access.renew(&ctx).await.unwrap());
        create(&ctx, &user("a", "u", &["read"])).await.unwrap();
        assert!(!access.renew(&ctx).await.unwrap());
    });
}
