#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use lapsedb_store::Place;

use super::*;
use crate::ctx::Ctx;
use crate::documents::{self, Namespace};
use crate::logins::action::{Action, Actions};
use crate::logins::privilege::{Resource, Target};
use crate::logins::{self, Access, User};
use crate::{Config, Service, Who};

async fn open(place: Place) -> Ctx {
    let service = Service::open(Config {
        place,
        virtual_clock: false,
        ..Config::in_memory(b"key".to_vec())
    });
    Ctx::new(Arc::clone(&service.await.unwrap()), Who::Master)
}

fn names(names: &[&str]) -> Vec<RoleName> {
    names.iter().map(|name| RoleName::new(name, "a")).collect()
}

fn may(action: Action) -> Privileges {
    let mut all = Privileges::default();
    all.add(&Resource::collection("a", "c"), Actions::of(&[action]));
    all
}

fn role(name: &str, privileges: Privileges, roles: &[&str]) -> Role {
    Role {
        name: RoleName::new(name, "a"),
        privileges,
        roles: names(roles),
    }
}

fn target() -> Target {
    Target::Collection("a".to_owned(), "c".to_owned())
}

async fn user(ctx: &Ctx, roles: &[&str]) -> User {
    let user = User {
        name: "u".to_owned(),
        database: "a".to_owned(),
        id: [1; 16],
        credentials: Object::new(),
        roles: names(roles),
        custom_data: None,
    };
    logins::create(ctx, &user).await.unwrap();
    user
}

#[test]
fn roles_outlive_the_process() {
    lapsedb_testkit::run(async {
        let folder = tempfile::tempdir().unwrap();
        let place = || Place::Disk(folder.path().join("store"));
        let ctx = open(place()).await;
        create(&ctx, &role("r", may(Action::Find), &["read"]))
            .await
            .unwrap();
        ctx.service().close().await.unwrap();
        std::mem::drop(ctx);
        let ctx = open(place()).await;
        let found = find(&ctx, &RoleName::new("r", "a")).await.unwrap().unwrap();
        assert_eq!(found.roles, names(&["read"]));
        let shown = |all: &Privileges| format!("{:?}", all.shown());
        assert_eq!(shown(&found.privileges), shown(&may(Action::Find)));
        ctx.service().close().await.unwrap();
    });
}

#[test]
fn a_change_of_a_role_is_felt_at_once_by_who_inherits_it() {
    lapsedb_testkit::run(async {
        let ctx = open(Place::Memory).await;
        let bottom = RoleName::new("bottom", "a");
        create(&ctx, &role("bottom", may(Action::Find), &[]))
            .await
            .unwrap();
        create(&ctx, &role("middle", Privileges::default(), &["bottom"]))
            .await
            .unwrap();
        create(&ctx, &role("top", may(Action::Remove), &["middle"]))
            .await
            .unwrap();
        let user = user(&ctx, &["top"]).await;
        let mut access = Access::of(&user, Granted::default());
        assert!(!access.privileges().allow(Action::Find, &target()));
        assert!(access.renew(&ctx).await.unwrap());
        assert!(access.privileges().allow(Action::Find, &target()));
        assert!(access.privileges().allow(Action::Remove, &target()));
        assert_eq!(access.roles(), names(&["top", "middle", "bottom"]));
        let edit = Edit::GrantPrivileges(may(Action::Insert));
        alter(&ctx, &bottom, &edit).await.unwrap();
        assert!(access.renew(&ctx).await.unwrap());
        assert!(access.privileges().allow(Action::Insert, &target()));
        drop(&ctx, &bottom).await.unwrap();
        assert!(access.renew(&ctx).await.unwrap());
        assert!(!access.privileges().allow(Action::Find, &target()));
        assert_eq!(access.roles(), names(&["top", "middle"]));
        assert_eq!(drop_all(&ctx, "a").await.unwrap(), 2);
        assert!(access.renew(&ctx).await.unwrap());
        assert!(access.roles().is_empty() && access.privileges().is_empty());
        let found = logins::find(&ctx, "a", "u").await.unwrap().unwrap();
        assert!(found.roles.is_empty());
    });
}

#[test]
fn roles_are_resolved_again_only_when_a_login_or_a_role_has_changed() {
    lapsedb_testkit::run(async {
        let ctx = open(Place::Memory).await;
        create(&ctx, &role("bottom", may(Action::Find), &[]))
            .await
            .unwrap();
        create(&ctx, &role("top", Privileges::default(), &["bottom"]))
            .await
            .unwrap();
        let user = user(&ctx, &["top"]).await;
        let resolved = || ctx.service().documents_state().roles_resolved();
        let mut connections = [(); 3].map(|()| Access::of(&user, Granted::default()));
        let before = resolved();
        for at in 0..5 {
            let made = Namespace::new("db", &format!("c{at}")).unwrap();
            assert!(documents::make_plain(&ctx, &made).await.unwrap());
            for access in &mut connections {
                assert!(access.renew(&ctx).await.unwrap());
                assert!(access.privileges().allow(Action::Find, &target()));
            }
        }
        assert_eq!(resolved() - before, 1, "by whoever came first");
        let edit = Edit::RevokePrivileges(may(Action::Find));
        let bottom = RoleName::new("bottom", "a");
        alter(&ctx, &bottom, &edit).await.unwrap();
        for access in &mut connections {
            assert!(access.renew(&ctx).await.unwrap());
            assert!(!access.privileges().allow(Action::Find, &target()));
        }
        assert_eq!(resolved() - before, 2);
        logins::revoke(&ctx, "a", "u", &names(&["top"]))
            .await
            .unwrap();
        for access in &mut connections {
            assert!(access.renew(&ctx).await.unwrap());
            assert!(access.roles().is_empty());
        }
        assert_eq!(resolved() - before, 3);
        assert_eq!(drop_all(&ctx, "a").await.unwrap(), 2);
        assert!(connections[0].renew(&ctx).await.unwrap());
        assert_eq!(resolved() - before, 4);
        assert_eq!(logins::drop_all(&ctx, "a").await.unwrap(), 1);
        for access in &mut connections {
            assert!(!access.renew(&ctx).await.unwrap(), "the login has gone");
        }
    });
}

#[test]
fn roles_do_not_inherit_in_a_circle_or_from_elsewhere() {
    lapsedb_testkit::run(async {
        let ctx = open(Place::Memory).await;
        create(&ctx, &role("r1", Privileges::default(), &[]))
            .await
            .unwrap();
        create(&ctx, &role("r2", Privileges::default(), &["r1"]))
            .await
            .unwrap();
        create(&ctx, &role("r3", Privileges::default(), &["r2", "read"]))
            .await
            .unwrap();
        let first = RoleName::new("r1", "a");
        let replace = |roles: Vec<RoleName>| Edit::Replace {
            privileges: None,
            roles: Some(roles),
        };
        for edit in [
            Edit::GrantRoles(names(&["r3"])),
            Edit::GrantRoles(names(&["r1"])),
            replace(names(&["r2"])),
            Edit::GrantRoles(vec![RoleName::new("read", "b")]),
            Edit::GrantPrivileges({
                let mut all = Privileges::default();
                all.add(&Resource::Everything, Actions::of(&[Action::Find]));
                all
            }),
        ] {
            let refused = alter(&ctx, &first, &edit).await.unwrap_err();
            assert_eq!(refused.code(), Some(49), "{edit:?}");
        }
        let unknown = Edit::GrantRoles(names(&["nope"]));
        let refused = alter(&ctx, &first, &unknown).await.unwrap_err();
        assert_eq!(refused.code(), Some(31));
        let again = create(&ctx, &role("r1", Privileges::default(), &[])).await;
        assert_eq!(again.unwrap_err().code(), Some(51_002));
        let builtin = create(&ctx, &role("read", Privileges::default(), &[])).await;
        assert_eq!(builtin.unwrap_err().code(), Some(2));
        let mut wide = role("wide", may(Action::Find), &[]);
        wide.name.database = ADMIN.to_owned();
        wide.roles = vec![RoleName::new("root", ADMIN), RoleName::new("r3", "a")];
        create(&ctx, &wide).await.unwrap();
        let granted = granted(&ctx, &[wide.name]).await.unwrap();
        assert!(granted.privileges.allow(Action::Shutdown, &Target::Cluster));
        assert!(granted.roles.contains(&first));
    });
}
