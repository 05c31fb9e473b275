//! Who has logged in.

use std::sync::{Arc, LazyLock};

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::privilege::Privileges;
use lapsedb_service::logins::role::ADMIN;
use lapsedb_service::logins::{Access, Granted, RoleName};
use lapsedb_service::{Ctx, Who};

/// The roles of who logs in by the read-only key.
const READER_ROLES: &[&str] = &["readAnyDatabase", "clusterMonitor"];

fn named(roles: &[&str]) -> Vec<RoleName> {
    let role = |name: &&str| RoleName::new(name, ADMIN);
    roles.iter().map(role).collect()
}

/// Who has logged in.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) user: String,
    /// The database the login named.
    pub(crate) database: String,
    pub(crate) kind: Kind,
}

/// By what right.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// By the account's master key.
    Master,
    /// By the account's read-only key.
    Reader,
    /// By a password that the store keeps something of.
    Stored(Access),
}

impl Login {
    /// Who asks, for the verbs.
    pub(crate) const fn who(&self) -> Who {
        match &self.kind {
            Kind::Master => Who::Master,
            Kind::Reader => Who::ReadOnly,
            Kind::Stored(access) => access.who(),
        }
    }

    /// Whose what is opened is; the holder of the master key may use everybody's.
    pub(crate) fn owner(&self) -> Option<Arc<str>> {
        match &self.kind {
            Kind::Master => None,
            Kind::Reader | Kind::Stored(_) => {
                Some(Arc::from(format!("{}.{}", self.database, self.user)))
            }
        }
    }

    /// The roles, inherited ones too.
    pub(crate) fn roles(&self) -> Vec<RoleName> {
        match &self.kind {
            Kind::Master => named(&["root"]),
            Kind::Reader => named(READER_ROLES),
            Kind::Stored(access) => access.roles().to_vec(),
        }
    }

    /// What the roles allow.
    pub(crate) fn privileges(&self) -> Privileges {
        match &self.kind {
            Kind::Master | Kind::Reader => Granted::by_builtin(&self.roles()).privileges,
            Kind::Stored(access) => access.privileges().clone(),
        }
    }

    /// What binds the login; nothing binds the holder of the master key.
    pub(crate) fn rights(&self) -> Option<Arc<Privileges>> {
        static READER: LazyLock<Arc<Privileges>> =
            LazyLock::new(|| Arc::new(Granted::by_builtin(&named(READER_ROLES)).privileges));
        match &self.kind {
            Kind::Master => None,
            Kind::Reader => Some(Arc::clone(&READER)),
            Kind::Stored(access) => Some(access.shared_privileges()),
        }
    }

    /// Brings the rights up to date; false if the login is not there any more.
    pub(crate) async fn renew(&mut self, ctx: &Ctx) -> Result<bool, Fault> {
        match &mut self.kind {
            Kind::Master | Kind::Reader => Ok(true),
            Kind::Stored(access) => access.renew(ctx).await,
        }
    }
}
