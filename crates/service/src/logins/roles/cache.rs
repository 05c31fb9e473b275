//! What sets of roles grant, resolved once for each state of logins and roles: other changes of the catalog change nothing of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lapsedb_store::View;
use parking_lot::Mutex;

use crate::documents::fault::Result;
use crate::logins::RoleName;
use crate::logins::privilege::Privileges;
use crate::logins::role::only_read;
use crate::logins::roles::{Granted, resolve};

/// Sets of roles that are kept at most.
const SETS_MAX: usize = 1_000;

/// What somebody has by their roles, shared by all who have the same.
#[derive(Clone, Debug)]
pub(in crate::logins) struct Shared {
    /// The roles, inherited ones too.
    pub(in crate::logins) roles: Arc<[RoleName]>,
    /// What they allow.
    pub(in crate::logins) privileges: Arc<Privileges>,
    /// Whether that is nothing but reading.
    pub(in crate::logins) only_read: bool,
}

impl From<Granted> for Shared {
    fn from(granted: Granted) -> Shared {
        let Granted { roles, privileges } = granted;
        Shared {
            roles: roles.into(),
            only_read: only_read(&privileges),
            privileges: Arc::new(privileges),
        }
    }
}

/// What was resolved in one state of logins and roles.
#[derive(Default)]
struct Resolved {
    /// That state: [`lapsedb_store::Catalog::logins`].
    version: u64,
    by_roles: BTreeMap<Vec<RoleName>, Shared>,
}

/// The newest of what was resolved.
#[derive(Default)]
pub(crate) struct ResolvedRoles {
    newest: Mutex<Resolved>,
    /// How often roles have been resolved: for tests that count work.
    count: AtomicU64,
}

impl ResolvedRoles {
    /// What roles grant in a view.
    pub(in crate::logins) async fn get(&self, view: &View, roles: &[RoleName]) -> Result<Shared> {
        let version = view.catalog().logins;
        {
            let newest = self.newest.lock();
            if newest.version == version
                && let Some(shared) = newest.by_roles.get(roles)
            {
                return Ok(shared.clone());
            }
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let shared = Shared::from(resolve(view, roles).await?);
        let mut newest = self.newest.lock();
        if newest.version < version || newest.by_roles.len() >= SETS_MAX {
            *newest = Resolved {
                version: version.max(newest.version),
                by_roles: BTreeMap::new(),
            };
        }
        // An older view may have been read meanwhile; what it says is of no use to others.
        if newest.version == version {
            newest.by_roles.insert(roles.to_vec(), shared.clone());
        }
        Ok(shared)
    }

    /// How often roles have been resolved.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
