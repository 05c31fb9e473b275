//! How RocksDB is set up, and why.

use std::sync::Arc;
use std::thread::available_parallelism;

use rocksdb::compaction_filter::Decision;
use rocksdb::{
    BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, DataBlockIndexType, LogLevel,
    MergeOperands, Options, WriteBufferManager,
};

use super::filter::Filters;
use crate::batch::tally;
use crate::engine::Space;
use crate::judge::Judge;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Blocks of tables and write buffers in memory; taken as they are read and written, not at the start. With 256 MiB a server under
/// steady expiry with readers came to 374 MiB in all, too near to the 400 that it may have.
const CACHE_BYTES_MAX: usize = 224 * MIB;
/// Once a table is deleted, its blocks leave the cache as long as about one in twenty of those looked for is there. Without this
/// a store of steady expiry, whose tables are rewritten again and again, fills the cache with blocks that nobody can ask for.
const UNCACHE: &str = "uncache_aggressiveness=300";
/// Writes of one space in memory before they become a table.
const WRITE_BUFFER_BYTES: usize = 16 * MIB;
/// The same for all spaces together.
const WRITE_BUFFERS_BYTES_MAX: usize = 64 * MIB;
/// The step by which write buffers take memory; small, because most spaces of a small store are idle.
const ARENA_BLOCK_BYTES: usize = 64 * KIB;
/// Bounds what a start after a crash has to replay.
const LOG_BYTES_MAX: u64 = 64 * MIB as u64;
const BLOCK_BYTES: usize = 8 * KIB;
/// A read by key walks at most so many records of a block; each is a miss of the processor's cache.
const RESTART_INTERVAL: i32 = 4;
const TABLE_BYTES: u64 = 32 * MIB as u64;
const LEVEL_BASE_BYTES: u64 = 128 * MIB as u64;
/// Levels of tables: what RocksDB has if nothing else is said.
const LEVELS: usize = 7;
/// The fastest of zstd's usual levels: a few percent larger than its default, for half of its time.
const ZSTD_LEVEL: i32 = 1;
/// What RocksDB has if nothing else is said; zstd does not use it.
const WINDOW_BITS: i32 = -14;
/// Tables that are kept open, at most.
const OPEN_FILES_MAX: u64 = 512;
/// They take at most one in so many of the file descriptors that the process may have: without one left RocksDB can begin no new table
/// and no new log, after which it takes no writes until a restart.
const OPEN_FILES_SHARE: u64 = 2;
/// About one false alarm in a hundred.
const BLOOM_BITS_PER_KEY: f64 = 10.0;
/// Sums folded in the write buffer once so many additions to one key lie there in a row; a counter
/// that every commit touches would otherwise be added up from thousands of parts at every read.
const ADDITIONS_IN_A_ROW_MAX: usize = 8;
const BACKGROUND_JOBS_MIN: usize = 2;
const BACKGROUND_JOBS_MAX: usize = 6;
/// RocksDB's diary, not the write-ahead log.
const DIARY_BYTES_MAX: usize = MIB;
const DIARY_FILES_MAX: usize = 2;
/// RocksDB sets disk aside for its manifest in steps of this.
const MANIFEST_STEP_BYTES: usize = 64 * KIB;
const MANIFEST_BYTES_MAX: usize = 16 * MIB;

/// The settings of the database as a whole.
pub(super) fn database(is_new: bool, cache: &Cache) -> Result<Options, rocksdb::Error> {
    let mut options = Options::default();
    options.create_if_missing(is_new);
    options.create_missing_column_families(true);

    options.set_paranoid_checks(true);
    // The log was looked at before (`wal.rs`): it ends with a whole record, so whatever RocksDB stumbles over is damage.
    options.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
    // A log that is missing, or shorter than what was synced of it when it was closed, is noticed: by the manifest, and by
    // what each log says of the one before it.
    options.set_track_and_verify_wals_in_manifest(true);
    options.set_max_total_wal_size(LOG_BYTES_MAX);
    // Their memory counts as the cache's: what they take, blocks give up. Writers do not wait for it.
    let buffers = WriteBufferManager::new_write_buffer_manager_with_cache(
        WRITE_BUFFERS_BYTES_MAX,
        false,
        cache.clone(),
    );
    options.set_write_buffer_manager(&buffers);
    // Only the sequencer writes. Folding sums on the way in also demands that writers take turns.
    options.set_allow_concurrent_memtable_write(false);
    options.set_enable_write_thread_adaptive_yield(false);

    let cores = available_parallelism().map_or(BACKGROUND_JOBS_MIN, |cores| cores.get());
    options.set_max_background_jobs(cores.clamp(BACKGROUND_JOBS_MIN, BACKGROUND_JOBS_MAX) as i32);
    options.set_max_open_files(open_files_max());
    options.set_skip_stats_update_on_db_open(true);
    options.set_avoid_unnecessary_blocking_io(true);
    options.set_manifest_preallocation_size(MANIFEST_STEP_BYTES);
    options.set_max_manifest_file_size(MANIFEST_BYTES_MAX);
    // Writes of tables are spread over time instead of meeting the fsync of a commit all at once.
    options.set_bytes_per_sync(MIB as u64);

    options.set_log_level(LogLevel::Warn);
    options.set_max_log_file_size(DIARY_BYTES_MAX);
    options.set_keep_log_file_num(DIARY_FILES_MAX);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    // A setting that the crate offers by its name alone.
    options.get_options_from_string("track_and_verify_wals=true")
}

#[allow(
    unsafe_code,
    reason = "the standard library cannot ask for limits of the process"
)]
fn open_files_max() -> i32 {
    // SAFETY: rlimit is plain data for which all zeroes is a value.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let share = if answer == 0 {
        limit.rlim_cur / OPEN_FILES_SHARE
    } else {
        OPEN_FILES_MAX
    };
    // The cast holds: the constant fits.
    share.min(OPEN_FILES_MAX) as i32
}

/// One cache for all spaces, and for their write buffers.
pub(super) fn cache() -> Cache {
    Cache::new_lru_cache(CACHE_BYTES_MAX)
}

/// The settings of one space.
pub(super) fn family(
    space: Space,
    cache: &Cache,
    judge: &Arc<dyn Judge>,
) -> Result<Options, rocksdb::Error> {
    let mut tables = BlockBasedOptions::default();
    tables.set_block_cache(cache);
    tables.set_block_size(BLOCK_BYTES);
    tables.set_format_version(6);
    tables.set_cache_index_and_filter_blocks(true);
    tables.set_pin_l0_filter_and_index_blocks_in_cache(true);
    match space {
        // Asked for by key, and often in vain: an id that may be free, a value that may be unique.
        Space::Items | Space::Unique => {
            tables.set_bloom_filter(BLOOM_BITS_PER_KEY, false);
            tables.set_optimize_filters_for_memory(true);
            tables.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
            tables.set_block_restart_interval(RESTART_INTERVAL);
        }
        Space::Meta
        | Space::Log
        | Space::Versions
        | Space::Due
        | Space::Index
        | Space::Order
        | Space::Tally => {}
    }

    // A setting that the crate offers by its name alone.
    let mut options = Options::default().get_options_from_string(UNCACHE)?;
    options.set_block_based_table_factory(&tables);
    options.set_write_buffer_size(WRITE_BUFFER_BYTES);
    options.set_arena_block_size(ARENA_BLOCK_BYTES);
    options.set_target_file_size_base(TABLE_BYTES);
    options.set_max_bytes_for_level_base(LEVEL_BASE_BYTES);
    options.set_level_compaction_dynamic_level_bytes(true);
    pack(&mut options, space);
    if space != Space::Meta && space != Space::Tally {
        options.set_compaction_filter_factory(Filters::new(space, Arc::clone(judge)));
    }
    if space == Space::Tally {
        options.set_merge_operator_associative("lapsedb.tally", add);
        options.set_max_successive_merges(ADDITIONS_IN_A_ROW_MAX);
        options.set_compaction_filter("lapsedb.tally.zeros", |_, _, value| {
            // Readers take zeros for absence already; this gives their room back.
            if *value == [0; tally::BYTES] {
                Decision::Remove
            } else {
                Decision::Keep
            }
        });
    }
    Ok(options)
}

/// How tables are packed. Bodies are most of a store: the first tables are rewritten soon, so they are not packed at all, and
/// the last ones tightly, but not so that a small store, which is rewritten whole again and again, spends its time on it.
/// Entries are packed the same way everywhere, so that tables of them that follow each other are moved down as they are.
fn pack(options: &mut Options, space: Space) {
    options.set_compression_type(DBCompressionType::Lz4);
    match space {
        Space::Items | Space::Versions => {
            let mut levels = [DBCompressionType::Lz4; LEVELS];
            levels[0] = DBCompressionType::None;
            options.set_compression_per_level(&levels);
            options.set_bottommost_compression_type(DBCompressionType::Zstd);
            options.set_bottommost_compression_options(WINDOW_BITS, ZSTD_LEVEL, 0, 0, true);
        }
        Space::Meta
        | Space::Log
        | Space::Due
        | Space::Index
        | Space::Unique
        | Space::Order
        | Space::Tally => {}
    }
}

/// `None` tells RocksDB that a part is damaged.
fn add(_key: &[u8], old: Option<&[u8]>, parts: &MergeOperands) -> Option<Vec<u8>> {
    let mut sum = old.map_or(Some((0, 0)), tally::decode)?;
    for part in parts {
        sum = tally::sum(sum, tally::decode(part)?);
    }
    Some(tally::encode(sum.0, sum.1).to_vec())
}
