#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::logins::privilege::Target;

fn of(roles: &[(&str, &str)]) -> Privileges {
    let names: Vec<_> = roles
        .iter()
        .map(|(role, database)| RoleName::new(role, database))
        .collect();
    assert!(names.iter().all(|name| name.builtin().is_some()));
    privileges(&names)
}

/// What built-in roles allow together.
fn privileges<'r>(roles: impl IntoIterator<Item = &'r RoleName>) -> Privileges {
    let mut all = Privileges::default();
    for name in roles {
        if let Some(role) = name.builtin() {
            all.add_all(&role.privileges(&name.database));
        }
    }
    all
}

fn collection(db: &str, name: &str) -> Target {
    Target::Collection(db.to_owned(), name.to_owned())
}

#[test]
fn roles_that_reach_beyond_stand_in_admin_alone() {
    assert_eq!(builtin_roles("a").len(), 6);
    assert_eq!(builtin_roles(ADMIN).len(), Builtin::ALL.len());
    assert!(RoleName::new("root", "a").builtin().is_none());
    assert!(RoleName::new("root", ADMIN).builtin().is_some());
    assert!(RoleName::new("Read", "a").builtin().is_none());
    assert!(RoleName::new("read", "").builtin().is_none());
}

#[test]
fn who_reads_a_database_reads_that_one() {
    let read = of(&[("read", "a")]);
    assert!(read.allow(Find, &collection("a", "c")));
    assert!(!read.allow(Find, &collection("b", "c")));
    assert!(!read.allow(Insert, &collection("a", "c")));
    assert!(!read.allow(Find, &collection("a", "system.users")));
    assert!(only_read(&read));
    assert!(only_read(&of(&[
        ("readAnyDatabase", ADMIN),
        ("clusterMonitor", ADMIN)
    ])));
    assert!(!only_read(&of(&[("read", "a"), ("readWrite", "b")])));
}

#[test]
fn an_owner_does_everything_in_one_database() {
    let own = of(&[("dbOwner", "a")]);
    let db = Target::Database("a".to_owned());
    for action in [Insert, Find, CollMod, Validate, DropCollection] {
        assert!(own.allow(action, &collection("a", "c")), "{action:?}");
        assert!(!own.allow(action, &collection("b", "c")), "{action:?}");
    }
    for action in [DropDatabase, CreateUser, GrantRole, ViewUser] {
        assert!(own.allow(action, &db), "{action:?}");
    }
    assert!(!own.allow(ListDatabases, &Target::Cluster));
    assert!(!own.allow(ServerStatus, &Target::Cluster));
}

#[test]
fn who_administers_users_reads_no_documents() {
    for roles in [[("userAdmin", "a")], [("userAdminAnyDatabase", ADMIN)]] {
        let admin = of(&roles);
        assert!(admin.allow(CreateUser, &Target::Database("a".to_owned())));
        assert!(!admin.allow(Find, &collection("a", "c")));
    }
    let admin = of(&[("dbAdmin", "a")]);
    assert!(!admin.allow(Find, &collection("a", "c")));
    assert!(admin.allow(DropCollection, &collection("a", "c")));
}

#[test]
fn root_is_a_superset_of_every_role() {
    let root = of(&[("root", ADMIN)]);
    let targets = [
        Target::Cluster,
        Target::Database("a".to_owned()),
        Target::Database("local".to_owned()),
        collection("a", "c"),
        collection("config", "c"),
        collection("a", "system.js"),
        collection("a", "system.profile"),
    ];
    for role in Builtin::ALL {
        if *role == Builtin::EnableSharding {
            continue;
        }
        for database in ["a", ADMIN] {
            let name = RoleName::new(role.name(), database);
            let own = privileges([&name]);
            for target in &targets {
                for action in Action::ALL {
                    assert!(
                        !own.allow(*action, target) || root.allow(*action, target),
                        "{name} may {action:?} on {target:?}"
                    );
                }
            }
        }
    }
}
