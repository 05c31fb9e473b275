//! Which actions may be done to which resources.

use std::fmt;

use lapsedb_value::{Object, Value};

use crate::logins::action::{Action, Actions};

/// Databases that "every database" does not mean.
const APART: [&str; 2] = ["config", "local"];
/// What names of collections begin with that "every collection" does not mean.
const SYSTEM: &str = "system.";

/// What actions are allowed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The server itself.
    Cluster,
    /// Everything there is.
    Everything,
    /// Every database, and every collection that is not the system's.
    Databases,
    /// A database, and every collection of it that is not the system's.
    Database(String),
    /// The collections of a name in every database.
    Named(&'static str),
    /// One collection.
    Collection(String, &'static str),
}

/// What an action is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The server itself.
    Cluster,
    /// A database.
    Database(String),
    /// A collection of a database.
    Collection(String, String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Cluster => f.write_str("the cluster"),
            Target::Database(name) if name.is_empty() => f.write_str("every database"),
            Target::Database(name) => write!(f, "the database {name}"),
            Target::Collection(database, name) => write!(f, "{database}.{name}"),
        }
    }
}

impl Resource {
    /// Whether it holds a target.
    #[must_use]
    pub fn holds(&self, target: &Target) -> bool {
        match (self, target) {
            (Resource::Everything, _) | (Resource::Cluster, Target::Cluster) => true,
            (Resource::Databases, Target::Database(db)) => !APART.contains(&db.as_str()),
            (Resource::Databases, Target::Collection(db, name)) => {
                !APART.contains(&db.as_str()) && !name.starts_with(SYSTEM)
            }
            (Resource::Database(own), Target::Database(db)) => own == db,
            (Resource::Database(own), Target::Collection(db, name)) => {
                own == db && !name.starts_with(SYSTEM)
            }
            (Resource::Named(own), Target::Collection(_, name)) => own == name,
            (Resource::Collection(own_db, own), Target::Collection(db, name)) => {
                own_db == db && own == name
            }
            (
                Resource::Cluster
                | Resource::Databases
                | Resource::Database(_)
                | Resource::Named(_)
                | Resource::Collection(..),
                _,
            ) => false,
        }
    }

    fn shown(&self) -> Object {
        let pair = |db: &str, collection: &str| {
            let mut shown = Object::with_capacity(2);
            shown.push("db", db);
            shown.push("collection", collection);
            shown
        };
        let alone = |name: &str| {
            let mut shown = Object::with_capacity(1);
            shown.push(name, true);
            shown
        };
        match self {
            Resource::Cluster => alone("cluster"),
            Resource::Everything => alone("anyResource"),
            Resource::Databases => pair("", ""),
            Resource::Database(db) => pair(db, ""),
            Resource::Named(name) => pair("", name),
            Resource::Collection(db, name) => pair(db, name),
        }
    }
}

/// Actions on one resource.
#[derive(Clone, Debug)]
pub struct Privilege {
    /// The resource.
    pub resource: Resource,
    /// What may be done to it.
    pub actions: Actions,
}

impl Privilege {
    /// As clients see it.
    #[must_use]
    pub fn shown(&self) -> Value {
        let mut shown = Object::with_capacity(2);
        shown.push("resource", Value::Object(self.resource.shown()));
        let names = self.actions.names().map(Value::from).collect();
        shown.push("actions", Value::Array(names));
        Value::Object(shown)
    }
}

/// All that somebody may do.
#[derive(Clone, Debug, Default)]
pub struct Privileges(Vec<Privilege>);

impl Privileges {
    /// Adds actions on a resource to what is there.
    pub fn add(&mut self, resource: Resource, actions: Actions) {
        match self.0.iter_mut().find(|own| own.resource == resource) {
            Some(own) => own.actions = own.actions.and(actions),
            None => self.0.push(Privilege { resource, actions }),
        }
    }

    /// Whether an action may be done to a target.
    #[must_use]
    pub fn allow(&self, action: Action, target: &Target) -> bool {
        self.0
            .iter()
            .any(|own| own.actions.contains(action) && own.resource.holds(target))
    }

    /// Whether there is anything that may be done in a database.
    #[must_use]
    pub fn know_database(&self, database: &str) -> bool {
        self.0.iter().any(|own| match &own.resource {
            Resource::Cluster => false,
            Resource::Everything | Resource::Named(_) => true,
            Resource::Databases => !APART.contains(&database),
            Resource::Database(db) | Resource::Collection(db, _) => db == database,
        })
    }

    /// Whether nothing but these actions may be done.
    #[must_use]
    pub fn within(&self, actions: Actions) -> bool {
        self.0.iter().all(|own| own.actions.within(actions))
    }

    /// As clients see them.
    #[must_use]
    pub fn shown(&self) -> Vec<Value> {
        self.0.iter().map(Privilege::shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(db: &str, name: &str) -> Target {
        Target::Collection(db.to_owned(), name.to_owned())
    }

    #[test]
    fn every_database_is_not_every_resource() {
        let all = Resource::Databases;
        assert!(all.holds(&collection("a", "b")));
        assert!(all.holds(&Target::Database("a".to_owned())));
        assert!(!all.holds(&collection("a", "system.users")));
        assert!(!all.holds(&collection("local", "x")));
        assert!(!all.holds(&collection("config", "x")));
        assert!(!all.holds(&Target::Cluster));
        assert!(Resource::Everything.holds(&Target::Cluster));
        assert!(Resource::Everything.holds(&collection("local", "system.x")));
    }

    #[test]
    fn a_database_holds_its_own_collections() {
        let own = Resource::Database("a".to_owned());
        assert!(own.holds(&collection("a", "b")));
        assert!(!own.holds(&collection("a", "system.js")));
        assert!(!own.holds(&collection("b", "b")));
        assert!(Resource::Named("system.js").holds(&collection("x", "system.js")));
        assert!(
            Resource::Collection("a".to_owned(), "system.js").holds(&collection("a", "system.js"))
        );
    }

    #[test]
    fn privileges_on_the_same_resource_are_one() {
        let mut all = Privileges::default();
        all.add(Resource::Cluster, Actions::of(&[Action::Fsync]));
        all.add(Resource::Cluster, Actions::of(&[Action::Top]));
        assert_eq!(all.shown().len(), 1);
        assert!(all.allow(Action::Top, &Target::Cluster));
        assert!(!all.allow(Action::Top, &Target::Database("a".to_owned())));
        assert!(all.within(Actions::of(&[Action::Fsync, Action::Top])));
    }
}
