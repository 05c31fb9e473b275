//! Which actions may be done to which resources.

use std::collections::BTreeMap;
use std::fmt;

use lapsedb_value::{Object, Value};

use crate::logins::action::{Action, Actions};

mod read;

/// Databases that "every database" does not mean.
const APART: [&str; 2] = ["config", "local"];
/// What names of collections begin with that "every collection" does not mean.
const SYSTEM: &str = "system.";
/// What names of the collections behind time-series collections begin with.
const BUCKETS: &str = "system.buckets.";

/// What actions are allowed on. An empty name of a database stands for every database, an empty name of a collection for every
/// collection that is not the system's, and for the database itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The server itself.
    Cluster,
    /// Everything there is.
    Everything,
    /// Collections, by the names of their databases and their own.
    Collections(String, String),
    /// The buckets behind time-series collections, by the names of their databases and of the time-series collections.
    Buckets(String, String),
}

impl Resource {
    /// Every database, and every collection that is not the system's.
    #[must_use]
    pub const fn databases() -> Resource {
        Resource::Collections(String::new(), String::new())
    }

    /// A database, and every collection of it that is not the system's.
    #[must_use]
    pub fn database(name: &str) -> Resource {
        Resource::Collections(name.to_owned(), String::new())
    }

    /// The collections of a name in every database.
    #[must_use]
    pub fn named(name: &str) -> Resource {
        Resource::Collections(String::new(), name.to_owned())
    }

    /// One collection.
    #[must_use]
    pub fn collection(database: &str, name: &str) -> Resource {
        Resource::Collections(database.to_owned(), name.to_owned())
    }

    /// The database whose roles one must be allowed to grant in order to grant actions on it: `None` where it is not one database alone.
    #[must_use]
    pub fn own_database(&self) -> Option<&str> {
        match self {
            Resource::Collections(database, _) if !database.is_empty() => Some(database),
            Resource::Collections(..)
            | Resource::Cluster
            | Resource::Everything
            | Resource::Buckets(..) => None,
        }
    }
}

/// What an action is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The server itself.
    Cluster,
    /// A database; every database, if its name is empty.
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

/// Actions by the names of databases and collections; empty names as in [`Resource`].
#[derive(Clone, Debug, Default)]
struct ByName(BTreeMap<Box<str>, BTreeMap<Box<str>, Actions>>);

impl ByName {
    fn add(&mut self, database: &str, collection: &str, actions: Actions) {
        let collections = self.0.entry(database.into()).or_default();
        let own = collections.entry(collection.into()).or_default();
        *own = own.and(actions);
    }

    fn remove(&mut self, database: &str, collection: &str, actions: Actions) {
        let Some(collections) = self.0.get_mut(database) else {
            return;
        };
        if let Some(own) = collections.get_mut(collection) {
            *own = own.without(actions);
        }
        collections.retain(|_, actions| !actions.is_empty());
        if collections.is_empty() {
            self.0.remove(database);
        }
    }

    fn on(&self, database: &str, collection: &str) -> Actions {
        let collections = self.0.get(database);
        let actions = collections.and_then(|collections| collections.get(collection));
        actions.copied().unwrap_or_default()
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str, Actions)> {
        self.0.iter().flat_map(|(database, collections)| {
            let named = collections.iter();
            named.map(|(name, actions)| (database.as_ref(), name.as_ref(), *actions))
        })
    }
}

/// All that somebody may do.
#[derive(Clone, Debug, Default)]
pub struct Privileges {
    cluster: Actions,
    everything: Actions,
    collections: ByName,
    buckets: ByName,
}

impl Privileges {
    /// Adds actions on a resource to what is there.
    pub fn add(&mut self, resource: &Resource, actions: Actions) {
        if actions.is_empty() {
            return;
        }
        match resource {
            Resource::Cluster => self.cluster = self.cluster.and(actions),
            Resource::Everything => self.everything = self.everything.and(actions),
            Resource::Collections(db, name) => self.collections.add(db, name, actions),
            Resource::Buckets(db, name) => self.buckets.add(db, name, actions),
        }
    }

    /// Takes actions on a resource out of what is there; what other resources allow stays.
    fn remove(&mut self, resource: &Resource, actions: Actions) {
        match resource {
            Resource::Cluster => self.cluster = self.cluster.without(actions),
            Resource::Everything => self.everything = self.everything.without(actions),
            Resource::Collections(db, name) => self.collections.remove(db, name, actions),
            Resource::Buckets(db, name) => self.buckets.remove(db, name, actions),
        }
    }

    /// Adds all of others.
    pub fn add_all(&mut self, others: &Privileges) {
        for (resource, actions) in others.each() {
            self.add(&resource, actions);
        }
    }

    /// Takes out all of others.
    pub fn remove_all(&mut self, others: &Privileges) {
        for (resource, actions) in others.each() {
            self.remove(&resource, actions);
        }
    }

    /// Each resource with its actions, in a fixed order.
    pub fn each(&self) -> impl Iterator<Item = (Resource, Actions)> {
        let alone = [
            (Resource::Cluster, self.cluster),
            (Resource::Everything, self.everything),
        ];
        let collections = self.collections.iter().map(|(db, name, actions)| {
            let resource = Resource::Collections(db.to_owned(), name.to_owned());
            (resource, actions)
        });
        let buckets = self.buckets.iter().map(|(db, name, actions)| {
            let resource = Resource::Buckets(db.to_owned(), name.to_owned());
            (resource, actions)
        });
        let some = |(_, actions): &(Resource, Actions)| !actions.is_empty();
        alone
            .into_iter()
            .filter(some)
            .chain(collections)
            .chain(buckets)
    }

    /// How many resources there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.each().count()
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.each().next().is_none()
    }

    /// Whether an action may be done to a target.
    #[must_use]
    pub fn allow(&self, action: Action, target: &Target) -> bool {
        self.covering(target)
            .any(|actions| actions.contains(action))
    }

    /// Whether there is anything that may be done to a collection.
    #[must_use]
    pub fn know_collection(&self, database: &str, name: &str) -> bool {
        let target = Target::Collection(database.to_owned(), name.to_owned());
        self.covering(&target).any(|actions| !actions.is_empty())
    }

    /// The actions of each resource that a target belongs to.
    fn covering<'a>(&'a self, target: &'a Target) -> impl Iterator<Item = Actions> + 'a {
        let (alone, places, bucket) = match target {
            Target::Cluster => (self.cluster, [None; 4], None),
            Target::Database(db) => {
                let everywhere = !APART.contains(&db.as_str());
                let all = everywhere.then_some(("", ""));
                let places = [Some((db.as_str(), "")), all, None, None];
                (Actions::default(), places, None)
            }
            Target::Collection(db, name) => {
                let (db, name) = (db.as_str(), name.as_str());
                let ordinary = !name.starts_with(SYSTEM);
                let everywhere = ordinary && !APART.contains(&db);
                let places = [
                    Some((db, name)),
                    Some(("", name)),
                    ordinary.then_some((db, "")),
                    everywhere.then_some(("", "")),
                ];
                let bucket = name.strip_prefix(BUCKETS);
                (Actions::default(), places, bucket.map(|name| (db, name)))
            }
        };
        let buckets = bucket
            .into_iter()
            .flat_map(|(db, name)| [(db, name), ("", name), (db, ""), ("", "")]);
        let places = places.into_iter().flatten();
        [self.everything, alone]
            .into_iter()
            .chain(places.map(|(db, name)| self.collections.on(db, name)))
            .chain(buckets.map(|(db, name)| self.buckets.on(db, name)))
    }

    /// Whether there is anything that may be done in a database.
    #[must_use]
    pub fn know_database(&self, database: &str) -> bool {
        let known = |(db, name, _): (&str, &str, Actions)| match (db, name) {
            ("", "") => !APART.contains(&database),
            ("", _) => true,
            (db, _) => db == database,
        };
        !self.everything.is_empty()
            || self.collections.iter().any(known)
            || self.buckets.iter().any(known)
    }

    /// Whether nothing but these actions may be done.
    #[must_use]
    pub fn within(&self, actions: Actions) -> bool {
        self.each().all(|(_, own)| own.within(actions))
    }

    /// Whether they stay inside one database.
    #[must_use]
    pub fn within_database(&self, database: &str) -> bool {
        self.each()
            .all(|(resource, _)| resource.own_database() == Some(database))
    }

    /// As clients see them.
    #[must_use]
    pub fn shown(&self) -> Vec<Value> {
        self.each()
            .map(|(resource, actions)| {
                let mut shown = Object::with_capacity(2);
                shown.push("resource", Value::Object(resource.shown()));
                let names = actions.names().map(Value::from).collect();
                shown.push("actions", Value::Array(names));
                Value::Object(shown)
            })
            .collect()
    }
}

impl Resource {
    fn shown(&self) -> Object {
        let pair = |db: &str, member: &str, name: &str| {
            let mut shown = Object::with_capacity(2);
            shown.push("db", db);
            shown.push(member, name);
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
            Resource::Collections(db, name) => pair(db, "collection", name),
            Resource::Buckets(db, name) => pair(db, "system_buckets", name),
        }
    }
}

#[cfg(test)]
mod tests;
