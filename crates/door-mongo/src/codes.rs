//! Numbers of failures and the names that go with them.

#![allow(missing_docs, reason = "the names are those of the published list")]

pub(crate) const DUPLICATE_FIELD: i32 = 40_413;
pub(crate) const MISSING_FIELD: i32 = 40_414;
pub(crate) const UNKNOWN_FIELD: i32 = 40_415;
pub(crate) const MISSING_DATABASE: i32 = 40_571;
pub(crate) const DUPLICATE_SEQUENCE: i32 = 40_433;
pub(crate) const OLD_QUERY_REMOVED: i32 = 5_739_101;
pub(crate) const UNAUTHORIZED: i32 = 13;
pub(crate) const ILLEGAL_OPERATION: i32 = 20;
pub(crate) const NOT_IMPLEMENTED: i32 = 238;
pub(crate) const USER_EXISTS: i32 = 51_003;
pub(crate) const INTERNAL_ERROR: i32 = 1;
pub(crate) const TYPE_MISMATCH: i32 = 14;
pub(crate) const AUTHENTICATION_FAILED: i32 = 18;
pub(crate) const OVERFLOW: i32 = 15;
pub(crate) const INVALID_BSON: i32 = 22;
pub(crate) const OBJECT_TOO_LARGE: i32 = 10_334;
pub(crate) const COMMAND_NOT_FOUND: i32 = 59;
pub(crate) const INVALID_OPTIONS: i32 = 72;
pub(crate) const INVALID_NAMESPACE: i32 = 73;
pub(crate) const MECHANISM_UNAVAILABLE: i32 = 334;
pub(crate) const UNSUPPORTED_OP_QUERY: i32 = 352;
pub(crate) const BAD_VALUE: i32 = 2;
pub(crate) const NO_SUCH_KEY: i32 = 4;
pub(crate) const FAILED_TO_PARSE: i32 = 9;
pub(crate) const NEGATIVE: i32 = 51_024;
pub(crate) const AWAIT_INCOMPLETE: i32 = 31_368;
pub(crate) const DURATION_OVERFLOW: i32 = 159;
pub(crate) const COUNTER_NEGATIVE: i32 = 31_372;
pub(crate) const COUNTER_TOO_NEW: i32 = 31_382;
pub(crate) const PROTOCOL_ERROR: i32 = 17;
pub(crate) const API_STRICT: i32 = 323;
pub(crate) const MAX_TIME_EXPIRED: i32 = 50;
pub(crate) const WRITE_CONCERN_FAILED: i32 = 64;
pub(crate) const EXCEEDED_MEMORY_LIMIT: i32 = 146;
pub(crate) const OUT_OF_DISK_SPACE: i32 = 14_031;
pub(crate) const NOT_SUPPORTED_IN_TRANSACTION: i32 = 263;
pub(crate) const RATE_TOO_LARGE: i32 = 16_500;

/// The codes that have a name, in their order.
const NAMES: &[(i32, &str)] = &[
    (1, "InternalError"),
    (2, "BadValue"),
    (4, "NoSuchKey"),
    (5, "GraphContainsCycle"),
    (6, "HostUnreachable"),
    (7, "HostNotFound"),
    (8, "UnknownError"),
    (9, "FailedToParse"),
    (10, "CannotMutateObject"),
    (11, "UserNotFound"),
    (12, "UnsupportedFormat"),
    (13, "Unauthorized"),
    (14, "TypeMismatch"),
    (15, "Overflow"),
    (16, "InvalidLength"),
    (17, "ProtocolError"),
    (18, "AuthenticationFailed"),
    (19, "CannotReuseObject"),
    (20, "IllegalOperation"),
    (21, "EmptyArrayOperation"),
    (22, "InvalidBSON"),
    (24, "LockTimeout"),
    (26, "NamespaceNotFound"),
    (27, "IndexNotFound"),
    (28, "PathNotViable"),
    (29, "NonExistentPath"),
    (31, "RoleNotFound"),
    (34, "CannotBackfillArray"),
    (36, "RemoteChangeDetected"),
    (40, "ConflictingUpdateOperators"),
    (43, "CursorNotFound"),
    (47, "NoMatchingDocument"),
    (48, "NamespaceExists"),
    (49, "InvalidRoleModification"),
    (50, "MaxTimeMSExpired"),
    (51, "ManualInterventionRequired"),
    (52, "DollarPrefixedFieldName"),
    (53, "InvalidIdField"),
    (54, "NotSingleValueField"),
    (55, "InvalidDBRef"),
    (56, "EmptyFieldName"),
    (57, "DottedFieldName"),
    (59, "CommandNotFound"),
    (63, "OBSOLETE_StaleShardVersion"),
    (64, "WriteConcernFailed"),
    (66, "ImmutableField"),
    (67, "CannotCreateIndex"),
    (68, "IndexAlreadyExists"),
    (72, "InvalidOptions"),
    (73, "InvalidNamespace"),
    (76, "NoReplicationEnabled"),
    (79, "UnknownReplWriteConcern"),
    (85, "IndexOptionsConflict"),
    (86, "IndexKeySpecsConflict"),
    (89, "NetworkTimeout"),
    (91, "ShutdownInProgress"),
    (96, "OperationFailed"),
    (100, "UnsatisfiableWriteConcern"),
    (112, "WriteConflict"),
    (115, "CommandNotSupported"),
    (117, "ConflictingOperationInProgress"),
    (121, "DocumentValidationFailure"),
    (123, "NotAReplicaSet"),
    (125, "CommandFailed"),
    (133, "FailedToSatisfyReadPreference"),
    (134, "ReadConcernMajorityNotAvailableYet"),
    (136, "CappedPositionLost"),
    (146, "ExceededMemoryLimit"),
    (150, "StaleEpoch"),
    (158, "InvalidPipelineOperator"),
    (159, "DurationOverflow"),
    (165, "ViewDepthLimitExceeded"),
    (166, "CommandNotSupportedOnView"),
    (167, "OptionNotSupportedOnView"),
    (168, "InvalidPipelineOperator"),
    (169, "CommandOnShardedViewNotSupportedOnMongod"),
    (171, "CannotIndexParallelArrays"),
    (175, "QueryPlanKilled"),
    (189, "PrimarySteppedDown"),
    (193, "CannotShardCollection"),
    (197, "InvalidIndexSpecificationOption"),
    (201, "CannotBuildIndexKeys"),
    (207, "InvalidUUID"),
    (211, "KeyNotFound"),
    (217, "IncompleteTransactionHistory"),
    (224, "QueryFeatureNotAllowed"),
    (225, "TransactionTooOld"),
    (234, "RetryChangeStream"),
    (237, "CursorKilled"),
    (238, "NotImplemented"),
    (239, "SnapshotTooOld"),
    (241, "ConversionFailure"),
    (246, "SnapshotUnavailable"),
    (249, "StaleDbVersion"),
    (251, "NoSuchTransaction"),
    (256, "TransactionCommitted"),
    (257, "TransactionTooLarge"),
    (260, "InvalidResumeToken"),
    (261, "TooManyLogicalSessions"),
    (262, "ExceededTimeLimit"),
    (263, "OperationNotSupportedInTransaction"),
    (267, "PreparedTransactionInProgress"),
    (276, "IndexBuildAborted"),
    (280, "ChangeStreamFatalError"),
    (286, "ChangeStreamHistoryLost"),
    (290, "TransactionExceededLifetimeLimitSeconds"),
    (291, "NoQueryExecutionPlans"),
    (292, "QueryExceededMemoryLimitNoDiskUseAllowed"),
    (317, "ConnectionPoolExpired"),
    (322, "APIVersionError"),
    (323, "APIStrictError"),
    (334, "MechanismUnavailable"),
    (352, "UnsupportedOpQueryCommand"),
    (391, "ReauthenticationRequired"),
    (9001, "SocketException"),
    (10_003, "OBSOLETE_CannotGrowDocumentInCappedNamespace"),
    (10_107, "NotWritablePrimary"),
    (10_334, "BSONObjectTooLarge"),
    (11_000, "DuplicateKey"),
    (11_600, "InterruptedAtShutdown"),
    (11_601, "Interrupted"),
    (11_602, "InterruptedDueToReplStateChange"),
    (13_297, "DatabaseDifferCase"),
    (13_388, "StaleConfig"),
    (13_435, "NotPrimaryNoSecondaryOk"),
    (13_436, "NotPrimaryOrSecondary"),
    (14_031, "OutOfDiskSpace"),
    (16_500, "RequestRateTooLarge"),
    (31_082, "SearchNotEnabled"),
    (50_768, "NotARetryableWriteCommand"),
];

/// The name of a code.
pub(crate) fn name(code: i32) -> String {
    match NAMES.binary_search_by_key(&code, |(code, _)| *code) {
        Ok(at) => NAMES[at].1.to_owned(),
        Err(_) => format!("Location{code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        assert!(NAMES.is_sorted_by_key(|(code, _)| *code));
        assert_eq!(name(11_000), "DuplicateKey");
        assert_eq!(name(40_415), "Location40415");
    }
}
