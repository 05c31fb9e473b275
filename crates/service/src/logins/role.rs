//! The built-in roles, and the privileges each stands for.

use std::fmt;

use lapsedb_value::{Object, Value};

use crate::logins::action::Action::{self, *};
use crate::logins::action::Actions;
use crate::logins::privilege::{Privileges, Resource};

/// The database whose roles reach beyond it.
pub const ADMIN: &str = "admin";

const READ: Actions = Actions::of(&[
    ChangeStream,
    CollStats,
    DbHash,
    DbStats,
    Find,
    KillCursors,
    ListCollections,
    ListIndexes,
    ListSearchIndexes,
    PlanCacheRead,
]);
const READ_WRITE: Actions = READ.and(Actions::of(&[
    ConvertToCapped,
    CreateCollection,
    CreateIndex,
    CreateSearchIndexes,
    DropCollection,
    DropIndex,
    DropSearchIndex,
    Insert,
    Remove,
    RenameCollectionSameDb,
    Update,
    UpdateSearchIndex,
]));
const DB_ADMIN: Actions = Actions::of(&[
    BypassDocumentValidation,
    CollMod,
    CollStats,
    Compact,
    ConvertToCapped,
    CreateCollection,
    CreateIndex,
    DbStats,
    DropCollection,
    DropDatabase,
    DropIndex,
    EnableProfiler,
    ListCollections,
    ListIndexes,
    PlanCacheIndexFilter,
    PlanCacheRead,
    PlanCacheWrite,
    ReIndex,
    RenameCollectionSameDb,
    StorageDetails,
    Validate,
]);
const USER_ADMIN: Actions = Actions::of(&[
    ChangeCustomData,
    ChangePassword,
    CreateRole,
    CreateUser,
    DropRole,
    DropUser,
    GrantRole,
    RevokeRole,
    SetAuthenticationRestriction,
    ViewRole,
    ViewUser,
]);
const MONITOR_CLUSTER: Actions = Actions::of(&[
    AllCollectionStats,
    ConnPoolStats,
    GetCmdLineOpts,
    GetDefaultRwConcern,
    GetLog,
    GetParameter,
    HostInfo,
    Inprog,
    ListDatabases,
    ListSessions,
    Netstat,
    ReplSetGetConfig,
    ReplSetGetStatus,
    ServerStatus,
    Top,
]);
const MONITOR_DATABASES: Actions = Actions::of(&[CollStats, DbStats, IndexStats]);
const HOST_MANAGER: Actions = Actions::of(&[
    ApplicationMessage,
    DropConnections,
    Fsync,
    InvalidateUserCache,
    KillAnyCursor,
    KillAnySession,
    Killop,
    LogRotate,
    SetParameter,
    Shutdown,
    Unlock,
]);
const CLUSTER_MANAGER: Actions = Actions::of(&[
    AppendOplogNote,
    GetDefaultRwConcern,
    ReplSetConfigure,
    ReplSetGetConfig,
    ReplSetGetStatus,
    SetDefaultRwConcern,
    SetFeatureCompatibilityVersion,
]);
const RESTORE: Actions = Actions::of(&[
    BypassDocumentValidation,
    CollMod,
    ConvertToCapped,
    CreateCollection,
    CreateIndex,
    DropCollection,
    Insert,
]);
/// What changes nothing.
const READING: Actions = READ.and(MONITOR_CLUSTER).and(MONITOR_DATABASES);

macro_rules! roles {
    ($($role:ident $name:literal)*) => {
        /// A role that is built in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are those of the published list")]
        pub enum Builtin { $($role,)* }

        impl Builtin {
            /// All of them.
            const ALL: &'static [Builtin] = &[$(Builtin::$role,)*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Builtin::$role => $name,)* }
            }
        }
    };
}

roles! {
    Read "read"
    ReadWrite "readWrite"
    UserAdmin "userAdmin"
    EnableSharding "enableSharding"
    DbOwner "dbOwner"
    DbAdmin "dbAdmin"
    ReadAnyDatabase "readAnyDatabase"
    ReadWriteAnyDatabase "readWriteAnyDatabase"
    UserAdminAnyDatabase "userAdminAnyDatabase"
    DbAdminAnyDatabase "dbAdminAnyDatabase"
    ClusterMonitor "clusterMonitor"
    HostManager "hostManager"
    ClusterManager "clusterManager"
    ClusterAdmin "clusterAdmin"
    Backup "backup"
    Restore "restore"
    Root "root"
}

impl Builtin {
    /// Whether a role stands only in the database `admin`.
    const fn reaches_beyond(self) -> bool {
        match self {
            Builtin::Read
            | Builtin::ReadWrite
            | Builtin::UserAdmin
            | Builtin::EnableSharding
            | Builtin::DbOwner
            | Builtin::DbAdmin => false,
            Builtin::ReadAnyDatabase
            | Builtin::ReadWriteAnyDatabase
            | Builtin::UserAdminAnyDatabase
            | Builtin::DbAdminAnyDatabase
            | Builtin::ClusterMonitor
            | Builtin::HostManager
            | Builtin::ClusterManager
            | Builtin::ClusterAdmin
            | Builtin::Backup
            | Builtin::Restore
            | Builtin::Root => true,
        }
    }
}

/// A role of a database, by name. It may be one that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoleName {
    /// The role.
    pub role: String,
    /// Its database.
    pub database: String,
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.role, self.database)
    }
}

impl RoleName {
    /// A role of a database.
    #[must_use]
    pub fn new(role: &str, database: &str) -> RoleName {
        RoleName {
            role: role.to_owned(),
            database: database.to_owned(),
        }
    }

    /// What it stands for, if there is such a role.
    #[must_use]
    pub fn builtin(&self) -> Option<Builtin> {
        Builtin::ALL
            .iter()
            .copied()
            .find(|known| known.name() == self.role)
            .filter(|known| !known.reaches_beyond() || self.database == ADMIN)
            // An empty name would stand for every database.
            .filter(|_| !self.database.is_empty())
    }

    /// As clients see it.
    #[must_use]
    pub fn shown(&self) -> Value {
        let mut shown = Object::with_capacity(2);
        shown.push("role", self.role.as_str());
        shown.push("db", self.database.as_str());
        Value::Object(shown)
    }
}

/// The roles that stand in a database.
#[must_use]
pub fn builtin_roles(database: &str) -> Vec<RoleName> {
    Builtin::ALL
        .iter()
        .map(|role| RoleName::new(role.name(), database))
        .filter(|name| name.builtin().is_some())
        .collect()
}

impl Builtin {
    /// The privileges that it stands for in a database.
    #[must_use]
    pub fn privileges(self, database: &str) -> Privileges {
        let mut all = Privileges::default();
        grant(self, database, &mut all);
        all
    }
}

/// Whether some privileges let nobody change anything.
#[must_use]
pub fn only_read(privileges: &Privileges) -> bool {
    privileges.within(READING)
}

fn grant(role: Builtin, database: &str, all: &mut Privileges) {
    match role {
        Builtin::Read => in_database(database, READ, all),
        Builtin::ReadWrite => in_database(database, READ_WRITE, all),
        Builtin::UserAdmin => all.add(&Resource::database(database), USER_ADMIN),
        Builtin::EnableSharding => {
            all.add(
                &Resource::databases(),
                Actions::of(&[Action::EnableSharding]),
            );
        }
        Builtin::DbAdmin => db_admin(database, all),
        Builtin::DbOwner => {
            in_database(database, READ_WRITE, all);
            db_admin(database, all);
            all.add(&Resource::database(database), USER_ADMIN);
        }
        Builtin::ReadAnyDatabase => everywhere(READ, all),
        Builtin::ReadWriteAnyDatabase => everywhere(READ_WRITE, all),
        Builtin::DbAdminAnyDatabase => {
            all.add(&Resource::databases(), DB_ADMIN);
            all.add(&Resource::named("system.profile"), READ);
            all.add(&Resource::Cluster, Actions::of(&[ListDatabases]));
        }
        Builtin::UserAdminAnyDatabase => user_admin_any(all),
        Builtin::ClusterMonitor => monitor(all),
        Builtin::HostManager => {
            all.add(&Resource::Cluster, HOST_MANAGER);
            all.add(&Resource::databases(), Actions::of(&[KillCursors]));
        }
        Builtin::ClusterManager => cluster_manager(all),
        Builtin::ClusterAdmin => cluster_admin(all),
        Builtin::Backup => backup(all),
        Builtin::Restore => restore(all),
        Builtin::Root => {
            everywhere(READ_WRITE, all);
            grant(Builtin::DbAdminAnyDatabase, database, all);
            user_admin_any(all);
            cluster_admin(all);
            backup(all);
            restore(all);
            for apart in ["config", "local"] {
                in_database(apart, READ_WRITE, all);
            }
            all.add(&Resource::Everything, Actions::of(&[Validate]));
        }
    }
}

fn in_database(database: &str, actions: Actions, all: &mut Privileges) {
    all.add(&Resource::database(database), actions);
    let scripts = &Resource::collection(database, "system.js");
    all.add(scripts, actions);
}

fn db_admin(database: &str, all: &mut Privileges) {
    all.add(&Resource::database(database), DB_ADMIN);
    let profile = &Resource::collection(database, "system.profile");
    all.add(profile, READ);
}

fn everywhere(actions: Actions, all: &mut Privileges) {
    all.add(&Resource::databases(), actions);
    all.add(&Resource::Cluster, Actions::of(&[ListDatabases]));
    all.add(&Resource::named("system.js"), actions);
}

fn user_admin_any(all: &mut Privileges) {
    all.add(&Resource::databases(), USER_ADMIN);
    for apart in ["local", "config"] {
        all.add(&Resource::database(apart), USER_ADMIN);
    }
    let cluster = [InvalidateUserCache, ListDatabases, ViewUser];
    all.add(&Resource::Cluster, Actions::of(&cluster));
}

fn monitor(all: &mut Privileges) {
    all.add(&Resource::Cluster, MONITOR_CLUSTER);
    all.add(&Resource::databases(), MONITOR_DATABASES);
    for apart in ["config", "local"] {
        in_database(apart, READ.and(MONITOR_DATABASES), all);
    }
    all.add(&Resource::named("system.profile"), Actions::of(&[Find]));
}

fn cluster_manager(all: &mut Privileges) {
    all.add(&Resource::Cluster, CLUSTER_MANAGER);
    all.add(
        &Resource::databases(),
        Actions::of(&[Action::EnableSharding]),
    );
}

fn cluster_admin(all: &mut Privileges) {
    monitor(all);
    cluster_manager(all);
    all.add(&Resource::Cluster, HOST_MANAGER);
    all.add(
        &Resource::databases(),
        Actions::of(&[DropDatabase, KillCursors]),
    );
}

fn backup(all: &mut Privileges) {
    let cluster = [AppendOplogNote, GetParameter, ListDatabases, ServerStatus];
    all.add(&Resource::Cluster, Actions::of(&cluster));
    let listing = [CollStats, ListCollections, ListIndexes];
    all.add(&Resource::Everything, Actions::of(&listing));
    let find = Actions::of(&[Find]);
    all.add(&Resource::databases(), find);
    for apart in ["config", "local"] {
        all.add(&Resource::database(apart), find);
    }
    all.add(&Resource::named("system.js"), find);
}

fn restore(all: &mut Privileges) {
    all.add(&Resource::databases(), RESTORE.and(USER_ADMIN));
    all.add(&Resource::named("system.js"), RESTORE);
    all.add(&Resource::Everything, Actions::of(&[ListCollections]));
    for apart in ["config", "local"] {
        all.add(&Resource::database(apart), RESTORE);
    }
    all.add(&Resource::Cluster, Actions::of(&[GetParameter]));
}

#[cfg(test)]
mod tests;
