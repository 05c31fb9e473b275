//! Header names of the wire, and how their values are read.

use http::{HeaderMap, HeaderName};
use lapsedb_service::{Error, Result};

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: HeaderName = HeaderName::from_static($text);)*
    };
}

names! {
    /// Names a request in logs of both sides.
    ACTIVITY_ID = "x-ms-activity-id";
    /// RFC 1123 date of a signature.
    DATE = "x-ms-date";
    /// API version.
    VERSION = "x-ms-version";
    /// Partition key of the request, a JSON array.
    PARTITION_KEY = "x-ms-documentdb-partitionkey";
    /// Partition key range of the request.
    PARTITION_KEY_RANGE_ID = "x-ms-documentdb-partitionkeyrangeid";
    /// First effective partition key of the request.
    START_EPK = "x-ms-start-epk";
    /// First effective partition key beyond the request.
    END_EPK = "x-ms-end-epk";
    /// How start and end are to be read.
    READ_KEY_TYPE = "x-ms-read-key-type";
    /// The collection the client believes it talks to.
    INTENDED_COLLECTION_RID = "x-ms-cosmos-intended-collection-rid";
    /// Whether a POST may replace.
    IS_UPSERT = "x-ms-documentdb-is-upsert";
    /// Whether a POST is a query.
    IS_QUERY = "x-ms-documentdb-isquery";
    /// Whether a POST asks for a query plan.
    IS_QUERY_PLAN = "x-ms-cosmos-is-query-plan-request";
    /// Whether a POST is a batch.
    IS_BATCH = "x-ms-cosmos-is-batch-request";
    /// Whether a batch is all or nothing.
    BATCH_ATOMIC = "x-ms-cosmos-batch-atomic";
    /// Whether a bulk goes on after an operation that failed; it does where nothing is said.
    BATCH_CONTINUE_ON_ERROR = "x-ms-cosmos-batch-continue-on-error";
    /// Whether a write answers its document.
    CONTENT_RESPONSE = "x-ms-cosmos-populate-content-response-on-write";
    /// Page size.
    MAX_ITEM_COUNT = "x-ms-max-item-count";
    /// Where a feed or query goes on.
    CONTINUATION = "x-ms-continuation";
    /// Session consistency token.
    SESSION_TOKEN = "x-ms-session-token";
    /// Consistency asked for.
    CONSISTENCY_LEVEL = "x-ms-consistency-level";
    /// Space that the account's media may take; the Java client reads it as a number.
    MAX_MEDIA_STORAGE_MB = "x-ms-max-media-storage-usage-mb";
    /// Space that the account's media take: there are none.
    MEDIA_STORAGE_MB = "x-ms-media-storage-usage-mb";
    /// Manual throughput of a new resource.
    OFFER_THROUGHPUT = "x-ms-offer-throughput";
    /// Whether an offer is to become one of autoscale throughput.
    MIGRATE_TO_AUTOPILOT = "x-ms-cosmos-migrate-offer-to-autopilot";
    /// Whether an offer is to become one of manual throughput.
    MIGRATE_TO_MANUAL = "x-ms-cosmos-migrate-offer-to-manual-throughput";
    /// Autoscale throughput of a new resource.
    OFFER_AUTOPILOT = "x-ms-cosmos-offer-autopilot-settings";
    /// Whether a container read tells usage.
    POPULATE_QUOTA = "x-ms-documentdb-populatequotainfo";
    /// Whether a container read tells what its ranges hold.
    POPULATE_STATISTICS = "x-ms-documentdb-populatepartitionstatistics";
    /// Life of a resource token in seconds.
    EXPIRY_SECONDS = "x-ms-documentdb-expiry-seconds";
    /// Pre-triggers to run.
    PRE_TRIGGER = "x-ms-documentdb-pre-trigger-include";
    /// Post-triggers to run.
    POST_TRIGGER = "x-ms-documentdb-post-trigger-include";
    /// Change feed marker.
    A_IM = "a-im";
    /// Shape of the change feed's entries.
    CHANGE_FEED_WIRE_FORMAT = "x-ms-cosmos-changefeed-wire-format-version";
    /// What a client prefers: a list.
    PREFER = "prefer";
    /// Cost of the request.
    REQUEST_CHARGE = "x-ms-request-charge";
    /// Finer reason of a failure.
    SUB_STATUS = "x-ms-substatus";
    /// When to try again.
    RETRY_AFTER_MS = "x-ms-retry-after-ms";
    /// Items in a page.
    ITEM_COUNT = "x-ms-item-count";
    /// Log sequence number.
    LSN = "lsn";
    /// Log sequence number of an item.
    ITEM_LSN = "x-ms-item-lsn";
    /// See the wire's specification.
    GLOBAL_COMMITTED_LSN = "x-ms-global-committed-lsn";
    /// See the wire's specification.
    QUORUM_ACKED_LSN = "x-ms-quorum-acked-lsn";
    /// See the wire's specification.
    LLSN = "x-ms-cosmos-llsn";
    /// See the wire's specification.
    ITEM_LLSN = "x-ms-cosmos-item-llsn";
    /// See the wire's specification.
    QUORUM_ACKED_LLSN = "x-ms-cosmos-quorum-acked-llsn";
    /// Path of the owner, by name.
    ALT_CONTENT_PATH = "x-ms-alt-content-path";
    /// Rid of the owner.
    CONTENT_PATH = "x-ms-content-path";
    /// Whether a query tells what it took.
    POPULATE_QUERY_METRICS = "x-ms-documentdb-populatequerymetrics";
    /// Whether a query tells which indexes serve it.
    POPULATE_INDEX_METRICS = "x-ms-cosmos-populateindexmetrics";
    /// Whether a query tells which indexes serve it, in the newer form.
    POPULATE_INDEX_METRICS_V2 = "x-ms-cosmos-populateindexmetrics-v2";
    /// The one format an answer is to have.
    CONTENT_SERIALIZATION_FORMAT = "x-ms-documentdb-content-serialization-format";
    /// The formats an answer may have.
    SUPPORTED_SERIALIZATION_FORMATS = "x-ms-cosmos-supported-serialization-formats";
    /// Whether items come without `_self` and `_attachments`.
    EXCLUDE_SYSTEM_PROPERTIES = "x-ms-exclude-system-properties";
    /// How long a continuation may be, in kilobytes.
    CONTINUATION_LIMIT_KB = "x-ms-documentdb-responsecontinuationtokenlimitinkb";
    /// Whether a container shares the throughput of its database.
    SHARE_THROUGHPUT = "x-ms-share-throughput";
    /// What a query took.
    QUERY_METRICS = "x-ms-documentdb-query-metrics";
    /// Which indexes serve a query, as JSON in Base64 or percent-encoding.
    INDEX_UTILIZATION = "x-ms-cosmos-index-utilization";
    /// Limits of a container.
    RESOURCE_QUOTA = "x-ms-resource-quota";
    /// Usage of a container.
    RESOURCE_USAGE = "x-ms-resource-usage";
    /// How far an index change has come.
    INDEX_PROGRESS = "x-ms-documentdb-collection-index-transformation-progress";
    /// Least throughput a resource may have.
    MIN_THROUGHPUT = "x-ms-cosmos-min-throughput";
    /// Whether a change of throughput is under way.
    OFFER_REPLACE_PENDING = "x-ms-offer-replace-pending";
    /// Shape of resources.
    SCHEMA_VERSION = "x-ms-schemaversion";
    /// Version of the server.
    GATEWAY_VERSION = "x-ms-gatewayversion";
}

/// A header's text; none if it is absent.
///
/// # Errors
/// When it is not printable ASCII, or is given more than once: none of its values is the right one then.
pub fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>> {
    let mut lines = lines(headers, name);
    let first = lines.next().transpose()?;
    match lines.next() {
        None => Ok(first),
        Some(_) => Err(Error::bad_request(format!(
            "The header {name} is given more than once; it is allowed once."
        ))),
    }
}

/// The lines of a header whose values are a list: HTTP takes them for one line with commas between them.
///
/// # Errors
/// Each that is not printable ASCII.
pub fn lines<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = Result<&'h str>> {
    headers.get_all(name).iter().map(move |value| {
        value.to_str().map_err(|_| {
            Error::bad_request(format!(
                "The value of the header {name} is not printable ASCII."
            ))
        })
    })
}

/// A header's truth: `true` in any case; absent, empty or `false` is false.
///
/// # Errors
/// When it says something else.
pub fn flag(headers: &HeaderMap, name: &HeaderName) -> Result<bool> {
    match text(headers, name)?.map(str::trim) {
        None | Some("") => Ok(false),
        Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
        Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
        Some(value) => Err(Error::bad_request(format!(
            "The header {name} has the value '{value}'; true or false is allowed."
        ))),
    }
}

/// A header's whole number.
///
/// # Errors
/// When it is not one.
pub fn number(headers: &HeaderMap, name: &HeaderName) -> Result<Option<i64>> {
    match text(headers, name)?.map(str::trim) {
        None | Some("") => Ok(None),
        Some(value) => value.parse().map(Some).map_err(|_| {
            Error::bad_request(format!(
                "The header {name} has the value '{value}'; a whole number is allowed."
            ))
        }),
    }
}
