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
            pub const ALL: &'static [Action] = &[$(Action::$action,)*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Action::$action => $name,)* }
            }

            /// The action of a name.
            #[must_use]
            pub fn named(name: &str) -> Option<Action> {
                match name { $($name => Some(Action::$action),)* _ => None }
            }
        }
    };
}

actions! {
    AddShard "addShard"
    AdvanceClusterTime "advanceClusterTime"
    AllCollectionStats "allCollectionStats"
    Analyze "analyze"
    AnalyzeShardKey "analyzeShardKey"
    AnyAction "anyAction"
    AppendOplogNote "appendOplogNote"
    ApplicationMessage "applicationMessage"
    ApplyOps "applyOps"
    AuditConfigure "auditConfigure"
    AuditLogRotate "auditLogRotate"
    AuthCheck "authCheck"
    Authenticate "authenticate"
    AuthSchemaUpgrade "authSchemaUpgrade"
    BypassDocumentValidation "bypassDocumentValidation"
    BypassWriteBlockingMode "bypassWriteBlockingMode"
    ChangeCustomData "changeCustomData"
    ChangeOwnCustomData "changeOwnCustomData"
    ChangeOwnPassword "changeOwnPassword"
    ChangePassword "changePassword"
    ChangeStream "changeStream"
    CheckFreeMonitoringStatus "checkFreeMonitoringStatus"
    CheckMetadataConsistency "checkMetadataConsistency"
    CleanupOrphaned "cleanupOrphaned"
    CleanupStructuredEncryptionData "cleanupStructuredEncryptionData"
    ClearJumboFlag "clearJumboFlag"
    CloseAllDatabases "closeAllDatabases"
    CollMod "collMod"
    CollStats "collStats"
    Compact "compact"
    CompactStructuredEncryptionData "compactStructuredEncryptionData"
    ConfigureQueryAnalyzer "configureQueryAnalyzer"
    ConnPoolStats "connPoolStats"
    ConnPoolSync "connPoolSync"
    ConvertToCapped "convertToCapped"
    CpuProfiler "cpuProfiler"
    CreateCollection "createCollection"
    CreateDatabase "createDatabase"
    CreateIndex "createIndex"
    CreateRole "createRole"
    CreateSearchIndexes "createSearchIndexes"
    CreateUser "createUser"
    DbCheck "dbCheck"
    DbHash "dbHash"
    DbStats "dbStats"
    DropAllRolesFromDatabase "dropAllRolesFromDatabase"
    DropAllUsersFromDatabase "dropAllUsersFromDatabase"
    DropCollection "dropCollection"
    DropConnections "dropConnections"
    DropDatabase "dropDatabase"
    DropIndex "dropIndex"
    DropRole "dropRole"
    DropSearchIndex "dropSearchIndex"
    DropUser "dropUser"
    Emptycapped "emptycapped"
    EnableProfiler "enableProfiler"
    EnableSharding "enableSharding"
    ExportCollection "exportCollection"
    Find "find"
    FlushRouterConfig "flushRouterConfig"
    ForceUuid "forceUUID"
    Fsync "fsync"
    FsyncUnlock "fsyncUnlock"
    GetChangeStreamState "getChangeStreamState"
    GetClusterParameter "getClusterParameter"
    GetCmdLineOpts "getCmdLineOpts"
    GetDatabaseVersion "getDatabaseVersion"
    GetDefaultRwConcern "getDefaultRWConcern"
    GetLog "getLog"
    GetParameter "getParameter"
    GetShardMap "getShardMap"
    GetShardVersion "getShardVersion"
    GrantPrivilegesToRole "grantPrivilegesToRole"
    GrantRole "grantRole"
    GrantRolesToRole "grantRolesToRole"
    GrantRolesToUser "grantRolesToUser"
    HostInfo "hostInfo"
    Impersonate "impersonate"
    ImportCollection "importCollection"
    IndexStats "indexStats"
    Inprog "inprog"
    Insert "insert"
    Internal "internal"
    InvalidateUserCache "invalidateUserCache"
    IssueDirectShardOperations "issueDirectShardOperations"
    KillAnyCursor "killAnyCursor"
    KillAnySession "killAnySession"
    KillCursors "killCursors"
    Killop "killop"
    ListCachedAndActiveUsers "listCachedAndActiveUsers"
    ListCollections "listCollections"
    ListCursors "listCursors"
    ListDatabases "listDatabases"
    ListIndexes "listIndexes"
    ListSampledQueries "listSampledQueries"
    ListSearchIndexes "listSearchIndexes"
    ListSessions "listSessions"
    ListShards "listShards"
    LogRotate "logRotate"
    MoveChunk "moveChunk"
    MoveCollection "moveCollection"
    Netstat "netstat"
    OidcListKeys "oidcListKeys"
    OidcRefreshKeys "oidcRefreshKeys"
    OidReset "oidReset"
    OperationMetrics "operationMetrics"
    PlanCacheIndexFilter "planCacheIndexFilter"
    PlanCacheRead "planCacheRead"
    PlanCacheWrite "planCacheWrite"
    QuerySettings "querySettings"
    QueryStatsRead "queryStatsRead"
    QueryStatsReadTransformed "queryStatsReadTransformed"
    RefineCollectionShardKey "refineCollectionShardKey"
    ReIndex "reIndex"
    Remove "remove"
    RemoveShard "removeShard"
    RenameCollection "renameCollection"
    RenameCollectionSameDb "renameCollectionSameDB"
    RepairDatabase "repairDatabase"
    ReplSetConfigure "replSetConfigure"
    ReplSetGetConfig "replSetGetConfig"
    ReplSetGetStatus "replSetGetStatus"
    ReplSetHeartbeat "replSetHeartbeat"
    ReplSetReconfig "replSetReconfig"
    ReplSetResizeOplog "replSetResizeOplog"
    ReplSetStateChange "replSetStateChange"
    ReshardCollection "reshardCollection"
    Resync "resync"
    RevokePrivilegesFromRole "revokePrivilegesFromRole"
    RevokeRole "revokeRole"
    RevokeRolesFromRole "revokeRolesFromRole"
    RevokeRolesFromUser "revokeRolesFromUser"
    RotateCertificates "rotateCertificates"
    RunAsLessPrivilegedUser "runAsLessPrivilegedUser"
    RunTenantMigration "runTenantMigration"
    ServerStatus "serverStatus"
    SetAuthenticationRestriction "setAuthenticationRestriction"
    SetChangeStreamState "setChangeStreamState"
    SetClusterParameter "setClusterParameter"
    SetDefaultRwConcern "setDefaultRWConcern"
    SetFeatureCompatibilityVersion "setFeatureCompatibilityVersion"
    SetFreeMonitoring "setFreeMonitoring"
    SetParameter "setParameter"
    SetUserWriteBlockMode "setUserWriteBlockMode"
    ShardCollection "shardCollection"
    ShardedDataDistribution "shardedDataDistribution"
    ShardingState "shardingState"
    Shutdown "shutdown"
    SplitChunk "splitChunk"
    SplitVector "splitVector"
    StorageDetails "storageDetails"
    Top "top"
    Touch "touch"
    TrafficRecord "trafficRecord"
    TransitionFromDedicatedConfigServer "transitionFromDedicatedConfigServer"
    TransitionToDedicatedConfigServer "transitionToDedicatedConfigServer"
    Unlock "unlock"
    Update "update"
    UpdateRole "updateRole"
    UpdateSearchIndex "updateSearchIndex"
    UpdateUser "updateUser"
    UseTenant "useTenant"
    UseUuid "useUUID"
    Validate "validate"
    ViewRole "viewRole"
    ViewUser "viewUser"
}

/// Numbers in a set of actions; each has the bits of so many actions.
const WORDS: usize = 2;
/// Bits of one of them.
const WORD_BITS: u32 = u128::BITS;

/// A set of actions: a bit for each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Actions([u128; WORDS]);

impl Actions {
    /// These.
    #[must_use]
    pub const fn of(actions: &[Action]) -> Actions {
        let mut words = [0; WORDS];
        let mut at = 0;
        while at < actions.len() {
            let number = actions[at] as u32;
            words[(number / WORD_BITS) as usize] |= 1 << (number % WORD_BITS);
            at += 1;
        }
        Actions(words)
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, others: Actions) -> Actions {
        Actions([self.0[0] | others.0[0], self.0[1] | others.0[1]])
    }

    /// These without those.
    #[must_use]
    pub const fn without(self, others: Actions) -> Actions {
        Actions([self.0[0] & !others.0[0], self.0[1] & !others.0[1]])
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0[0] == 0 && self.0[1] == 0
    }

    /// Whether one of them is this one, or any.
    #[must_use]
    pub const fn contains(self, action: Action) -> bool {
        self.names_it(Action::AnyAction) || self.names_it(action)
    }

    /// Whether one of them is exactly this one.
    const fn names_it(self, action: Action) -> bool {
        !self
            .without(self.without(Actions::of(&[action])))
            .is_empty()
    }

    /// Whether all of them are among others.
    #[must_use]
    pub const fn within(self, others: Actions) -> bool {
        self.without(others).is_empty()
    }

    /// Their names, sorted.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Action::ALL
            .iter()
            .filter(move |action| self.names_it(**action))
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
        assert!(Action::ALL.len() <= WORDS * WORD_BITS as usize);
        for action in Action::ALL {
            assert_eq!(Action::named(action.name()), Some(*action));
            let alone = Actions::of(&[*action]);
            assert_eq!(alone.names().collect::<Vec<_>>(), [action.name()]);
        }
        let set = Actions::of(&[Action::Update, Action::Find]);
        assert_eq!(set.names().collect::<Vec<_>>(), ["find", "update"]);
        assert!(set.contains(Action::Find) && !set.contains(Action::Insert));
        assert!(Actions::of(&[Action::AnyAction]).contains(Action::Insert));
        assert!(set.within(set.and(Actions::of(&[Action::Insert]))));
        assert!(!set.within(Actions::of(&[Action::Find])));
    }
}
