//! Who asks, through which view, and about what.

use std::sync::Arc;

use lapsedb_store::rid::Rid;
use lapsedb_store::{Collection, CollectionId, Database, View};
use lapsedb_value::Budget;

use crate::access::Who;
use crate::documents::Gone;
use crate::error::{Error, Kind, Result};
use crate::logins::privilege::Privileges;
use crate::service::Service;
use crate::sessions::SessionId;

/// One request: who asks, and the service that answers.
#[derive(Clone)]
pub struct Ctx {
    /// Who asks.
    pub who: Who,
    /// The login that asks, where several share one store: what it opens is its own. None may use whatever is open.
    pub login: Option<Arc<str>>,
    /// What the login may do, where that binds it. None may do what `who` may.
    pub rights: Option<Arc<Privileges>>,
    /// Whether the account's read-only key asks, at the MongoDB API: it may do less than a user whose roles all read.
    pub read_only_key: bool,
    /// Says whether the client has gone, so that nobody waits for the answer.
    pub(crate) gone: Option<Gone>,
    /// What counts its body, if that is counted.
    pub(crate) received: Option<Arc<Budget>>,
    /// The newest commit that the client has seen: a collection is not shown as it was before it.
    seen: u64,
    service: Arc<Service>,
}

/// A database or collection as a request's address names it, with the view it was found in.
pub struct Scope {
    /// The request's view.
    pub view: View,
    /// The database.
    pub database: Arc<Database>,
    /// The collection.
    pub collection: Arc<Collection>,
}

impl Ctx {
    /// A request by someone.
    #[must_use]
    pub const fn new(service: Arc<Service>, who: Who) -> Ctx {
        Ctx {
            who,
            login: None,
            rights: None,
            read_only_key: false,
            gone: None,
            received: None,
            seen: 0,
            service,
        }
    }

    /// The same request by a login.
    #[must_use]
    pub fn by(mut self, login: Option<Arc<str>>) -> Ctx {
        self.login = login;
        self
    }

    /// The same request, to be ended when its client has gone.
    #[must_use]
    pub fn while_connected(mut self, gone: Option<Gone>) -> Ctx {
        self.gone = gone;
        self
    }

    /// The same request, to be ended when what counts its body is stopped.
    #[must_use]
    pub fn received_within(mut self, received: Option<Arc<Budget>>) -> Ctx {
        self.received = received;
        self
    }

    /// Says that the client has seen a commit: the request is refused where the log has not come so far.
    pub const fn has_seen(&mut self, lsn: u64) {
        self.seen = lsn;
    }

    /// The same request, bound by what its login may do.
    #[must_use]
    pub fn bound_by(mut self, rights: Option<Arc<Privileges>>) -> Ctx {
        self.rights = rights;
        self
    }

    /// The user whose sessions are the login's own, as sessions name users.
    pub(crate) fn session_owner(&self) -> Option<[u8; 32]> {
        let (database, user) = self.login.as_deref()?.split_once('.')?;
        Some(SessionId::user(user, database))
    }

    /// The same request by the account's read-only key, if it is that.
    #[must_use]
    pub const fn by_read_only_key(mut self, is_it: bool) -> Ctx {
        self.read_only_key = is_it;
        self
    }

    /// Whether what a login has opened is open to this request: to that login, and to whoever needs none. What was opened
    /// without one, by the account's key, is open to no login.
    #[must_use]
    pub fn shares_with(&self, owner: Option<&str>) -> bool {
        self.login.is_none() || self.login.as_deref() == owner
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// A fresh view.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn view(&self) -> Result<View> {
        self.service.view().await
    }

    /// The collection an address names, in a fresh view.
    ///
    /// # Errors
    /// When the database or the collection is not there, or the client has seen more of the log than there is.
    pub async fn scope(&self, database: &str, collection: &str) -> Result<Scope> {
        let scope = self.scope_of_writes(database, collection).await?;
        if scope.view.lsn() < self.seen {
            return Err(Error::session_not_available());
        }
        Ok(scope)
    }

    /// The collection an address names, for a request that reads nothing: it may be behind what the client has seen.
    ///
    /// # Errors
    /// When the database or the collection is not there.
    pub(crate) async fn scope_of_writes(&self, database: &str, collection: &str) -> Result<Scope> {
        let view = self.view().await?;
        let database = find_database(&view, database).ok_or_else(Error::owner_not_found)?;
        let collection =
            find_collection(&view, &database, collection).ok_or_else(Error::owner_not_found)?;
        Ok(Scope {
            view,
            database,
            collection,
        })
    }
}

impl Scope {
    /// Refuses a request that was meant for another collection of the same name. The Java client sends an empty rid where the
    /// address has one already.
    ///
    /// # Errors
    /// When the rid given is not this collection's.
    pub fn expect_rid(&self, intended: Option<&str>) -> Result<()> {
        match intended {
            Some(rid)
                if !rid.is_empty() && rid != crate::resource::collection_rid(&self.collection) =>
            {
                Err(Error::new(
                    Kind::CollectionChanged,
                    "The requested resource's rid does not match the current one: the container was created anew.",
                ))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// A database by name, or by `_rid`.
#[must_use]
pub fn find_database(view: &View, id: &str) -> Option<Arc<Database>> {
    let catalog = view.catalog();
    if let Some(database) = catalog.database(id) {
        return Some(Arc::clone(database));
    }
    match Rid::parse(id)? {
        Rid::Database(rid) => catalog.database_numbered(rid.0).cloned(),
        _ => None,
    }
}

/// A collection of a database by name, or by `_rid`.
#[must_use]
pub fn find_collection(view: &View, database: &Database, id: &str) -> Option<Arc<Collection>> {
    let catalog = view.catalog();
    if let Some(collection) = catalog.collection(database.number, id) {
        return Some(Arc::clone(collection));
    }
    match Rid::parse(id)? {
        Rid::Collection(rid) if rid.db == database.number => {
            catalog.collection_numbered(CollectionId(rid.coll)).cloned()
        }
        _ => None,
    }
}
