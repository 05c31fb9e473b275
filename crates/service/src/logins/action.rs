//! What can be done, by the names that clients know, and sets of it.

use std::fmt;

macro_rules! actions {
    ($($action:ident $name:literal)*) => {
        /// Something that can be done to a resource.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are those of the published list")]
        pub enum Action { $($action,)* }

        impl Action {
            /// All of them, sorted by name.
            pub(super) const ALL: &'static [Action] = &[$(Action::$action,)*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Action::$action => $name,)* }
            }
        }
    };
}

actions! {
    AllCollectionStats "allCollectionStats"
    AnyAction "anyAction"
    AppendOplogNote "appendOplogNote"
    ApplicationMessage "applicationMessage"
    BypassDocumentValidation "bypassDocumentValidation"
    ChangeCustomData "changeCustomData"
    ChangePassword "changePassword"
    ChangeStream "changeStream"
    CollMod "collMod"
    CollStats "collStats"
    Compact "compact"
    ConnPoolStats "connPoolStats"
    ConvertToCapped "convertToCapped"
    CreateCollection "createCollection"
    CreateIndex "createIndex"
    CreateRole "createRole"
    CreateUser "createUser"
    DbHash "dbHash"
    DbStats "dbStats"
    DropCollection "dropCollection"
    DropConnections "dropConnections"
    DropDatabase "dropDatabase"
    DropIndex "dropIndex"
    DropRole "dropRole"
    DropUser "dropUser"
    EnableProfiler "enableProfiler"
    EnableSharding "enableSharding"
    Find "find"
    Fsync "fsync"
    GetCmdLineOpts "getCmdLineOpts"
    GetDefaultRwConcern "getDefaultRWConcern"
    GetLog "getLog"
    GetParameter "getParameter"
    GrantRole "grantRole"
    HostInfo "hostInfo"
    IndexStats "indexStats"
    Inprog "inprog"
    Insert "insert"
    InvalidateUserCache "invalidateUserCache"
    KillAnyCursor "killAnyCursor"
    KillAnySession "killAnySession"
    KillCursors "killCursors"
    Killop "killop"
    ListCollections "listCollections"
    ListDatabases "listDatabases"
    ListIndexes "listIndexes"
    ListSessions "listSessions"
    LogRotate "logRotate"
    Netstat "netstat"
    PlanCacheIndexFilter "planCacheIndexFilter"
    PlanCacheRead "planCacheRead"
    PlanCacheWrite "planCacheWrite"
    ReIndex "reIndex"
    Remove "remove"
    RenameCollectionSameDb "renameCollectionSameDB"
    ReplSetConfigure "replSetConfigure"
    ReplSetGetConfig "replSetGetConfig"
    ReplSetGetStatus "replSetGetStatus"
    RevokeRole "revokeRole"
    ServerStatus "serverStatus"
    SetAuthenticationRestriction "setAuthenticationRestriction"
    SetDefaultRwConcern "setDefaultRWConcern"
    SetFeatureCompatibilityVersion "setFeatureCompatibilityVersion"
    SetParameter "setParameter"
    Shutdown "shutdown"
    StorageDetails "storageDetails"
    Top "top"
    Unlock "unlock"
    Update "update"
    Validate "validate"
    ViewRole "viewRole"
    ViewUser "viewUser"
}

/// A set of actions: a bit for each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Actions(u128);

impl Actions {
    /// These.
    #[must_use]
    pub const fn of(actions: &[Action]) -> Actions {
        let mut bits = 0;
        let mut at = 0;
        while at < actions.len() {
            bits |= 1 << (actions[at] as u32);
            at += 1;
        }
        Actions(bits)
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, others: Actions) -> Actions {
        Actions(self.0 | others.0)
    }

    /// Whether one of them is this one, or any.
    #[must_use]
    pub const fn contains(self, action: Action) -> bool {
        const ANY: u128 = 1 << (Action::AnyAction as u32);
        self.0 & (ANY | 1 << (action as u32)) != 0
    }

    /// Whether all of them are among others.
    #[must_use]
    pub const fn within(self, others: Actions) -> bool {
        self.0 & !others.0 == 0
    }

    /// Their names, sorted.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Action::ALL
            .iter()
            .filter(move |action| self.0 & 1 << (**action as u32) != 0)
            .map(|action| action.name())
    }
}

impl fmt::Debug for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_fit_into_the_set() {
        let names = |action: &Action| action.name().to_lowercase();
        assert!(Action::ALL.is_sorted_by_key(names));
        assert!(Action::ALL.len() <= 128);
        let set = Actions::of(&[Action::Update, Action::Find]);
        assert_eq!(set.names().collect::<Vec<_>>(), ["find", "update"]);
        assert!(set.contains(Action::Find) && !set.contains(Action::Insert));
        assert!(Actions::of(&[Action::AnyAction]).contains(Action::Insert));
        assert!(set.within(set.and(Actions::of(&[Action::Insert]))));
        assert!(!set.within(Actions::of(&[Action::Find])));
    }
}
