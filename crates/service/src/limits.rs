//! Every limit of a request, named, with its unit.

/// Bytes of a request's body, and of an item as JSON text.
pub const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Levels of nesting in a document.
pub const NESTING_LEVELS_MAX: usize = 128;
/// Bytes of an item's id.
pub const ITEM_ID_BYTES_MAX: usize = 1023;
/// Characters of a database's or collection's name.
pub const NAME_CHARS_MAX: usize = 255;
/// Operations in one batch.
pub const BATCH_OPERATIONS_MAX: usize = 100;
/// Bytes of all documents in the answer of one batch.
pub const BATCH_ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Operations in one patch.
pub const PATCH_OPERATIONS_MAX: usize = 10;
/// Items of a page when the client does not say.
pub const PAGE_ITEMS_DEFAULT: usize = 100;
/// Items of a page at most.
pub const PAGE_ITEMS_MAX: usize = 1000;
/// Bytes of a page at most.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Items and index entries that one page of a query reads before it ends, with as many rows as it has.
pub const QUERY_PAGE_ENTRIES_MAX: u64 = 1_000_000;
/// Milliseconds that one page of a query takes before it ends, with as many rows as it has.
pub const QUERY_PAGE_MILLIS_MAX: u64 = 5_000;
/// Milliseconds that a query may take which must see everything before its first row.
pub const QUERY_MILLIS_MAX: u64 = 60_000;
/// Steps that a collection's validator may take over one item.
pub const RULE_STEPS_MAX: u64 = 50_000_000;
/// How often a verb runs again because the store changed under it.
pub const RETRIES_MAX: usize = 100;
/// Databases in an account.
pub const DATABASES_MAX: usize = 500;
/// Collections in an account.
pub const COLLECTIONS_MAX: usize = 100_000;
/// Collections in a database with shared throughput.
pub const SHARED_COLLECTIONS_MAX: usize = 25;
/// Client encryption keys of a database.
pub const CLIENT_ENCRYPTION_KEYS_MAX: usize = 20;
/// Stored procedures of a collection.
pub const STORED_PROCEDURES_MAX: usize = 100;
/// Triggers of a collection.
pub const TRIGGERS_MAX: usize = 25;
/// User-defined functions of a collection.
pub const USER_DEFINED_FUNCTIONS_MAX: usize = 50;
/// Least manual throughput, in request units a second.
pub const THROUGHPUT_MIN: u64 = 400;
/// Throughput of a container that nobody asked any for.
pub const STANDARD_THROUGHPUT: u64 = THROUGHPUT_MIN;
/// Steps of manual throughput.
pub const THROUGHPUT_STEP: u64 = 100;
/// Least maximum of autoscale throughput, and its steps.
pub const AUTOSCALE_MIN: u64 = 1000;
/// Largest throughput.
pub const THROUGHPUT_MAX: u64 = 1_000_000;
/// Shortest life of a resource token, in seconds.
pub const TOKEN_SECS_MIN: u64 = 600;
/// Longest life of a resource token, in seconds.
pub const TOKEN_SECS_MAX: u64 = 86_400;
/// Life of a resource token when the client does not say, in seconds.
pub const TOKEN_SECS_DEFAULT: u64 = 3600;
/// Buckets of a TTL forecast when the client does not say.
pub const FORECAST_BUCKETS_DEFAULT: u64 = 48;
/// Buckets of a TTL forecast at most: a year of days.
pub const FORECAST_BUCKETS_MAX: u64 = 366;
