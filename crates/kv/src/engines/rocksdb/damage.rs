//! Tables that a compaction could not read.
//!
//! After such a compaction RocksDB takes no writes until it is opened again. Nothing is lost by it, though: the tables that were to be merged
//! stay as they are, and what is written goes to new ones. So the error is taken back, which RocksDB allows a listener to do, and
//! automatic compaction of that column family is switched off: it would come to the same table again and again, and with nothing merged
//! RocksDB would in the end hold up all writers. Reads of what the table holds fail; everything else goes on.
//!
//! Errors of other background work are left as they are: a flush or a manifest that cannot be written is no matter of one table.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use librocksdb_sys as ffi;
use parking_lot::{Condvar, Mutex};
use rocksdb::{AsRawPtr, Options};

use super::database::{Database, passes};
use crate::engine::EngineError;

/// RocksDB's number for errors of compactions.
const REASON_COMPACTION: u32 = 1;
/// How a status begins that says that bytes are not what was written.
const CORRUPTION: &str = "Corruption";
/// How RocksDB words that a table cannot be opened or read.
const UNREADABLE: [&str; 2] = ["While open a file for random read", "While pread"];
/// How the names of tables end.
const TABLE: &str = ".sst";
/// The setting that keeps RocksDB from merging tables by itself.
const SWITCHED_OFF: [(&str, &str); 1] = [("disable_auto_compactions", "true")];
/// When a setting that was refused is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// What compactions have met.
#[derive(Default)]
pub(super) struct Damage {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    /// What RocksDB says, by the name of the table; where it names none, by itself.
    tables: BTreeMap<String, String>,
    /// Column families whose automatic compaction is to be switched off.
    families: VecDeque<String>,
    stopped: bool,
}

impl Damage {
    /// Has a database that is opened with these options tell of its compactions.
    #[allow(
        unsafe_code,
        reason = "the crate offers no listeners, only the C interface does"
    )]
    pub fn of(options: &mut Options) -> Arc<Damage> {
        let damage = Arc::new(Damage::default());
        let state = Arc::into_raw(Arc::clone(&damage)).cast_mut().cast();
        // SAFETY: every callback that RocksDB may call is given and has the type it expects. `state` is an `Arc` of its own, which `release`
        // gives back: RocksDB calls it once, when neither options nor database hold the listener any more. The options live through
        // the call and take the listener over.
        unsafe {
            let listener = ffi::rocksdb_eventlistener_create(
                state,
                Some(release),
                Some(ignore_flush),
                Some(ignore_flush),
                Some(ignore_compaction),
                Some(compaction_completed),
                Some(ignore_subcompaction),
                Some(ignore_subcompaction),
                Some(ignore_ingestion),
                Some(background_error),
                Some(ignore_stall),
                Some(ignore_memtable),
            );
            ffi::rocksdb_options_add_eventlistener(options.as_raw_ptr(), listener);
        }
        damage
    }

    /// One text for each damaged table.
    pub fn texts(&self) -> Vec<String> {
        self.state.lock().tables.values().cloned().collect()
    }

    /// A compaction has failed.
    fn met(&self, family: &str, text: &str) {
        if !is_damage(text) {
            return;
        }
        let mut state = self.state.lock();
        let name = table_of(text).unwrap_or(text).to_owned();
        let is_new = state
            .tables
            .insert(name, format!("{family}: {text}"))
            .is_none();
        if is_new {
            tracing::error!(
                family,
                error = text,
                "a table is damaged; writing goes on, but tables of this column family are no longer merged, and what the damaged one holds cannot be read"
            );
            state.families.push_back(family.to_owned());
            self.wake.notify_one();
        }
    }

    /// Whether an error was met by a compaction and is one of a table.
    fn is_known(&self, text: &str) -> bool {
        let state = self.state.lock();
        let known = state.tables.get(table_of(text).unwrap_or(text));
        known.is_some_and(|known| known.ends_with(text))
    }

    /// The next column family to be left alone; none at the end.
    fn next(&self) -> Option<String> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(family) = state.families.pop_front() {
                return Some(family);
            }
            self.wake.wait(&mut state);
        }
    }

    /// Puts a column family back and waits a little.
    fn later(&self, family: String) {
        let mut state = self.state.lock();
        state.families.push_back(family);
        if !state.stopped {
            self.wake.wait_for(&mut state, AGAIN_AFTER);
        }
    }
}

/// Switches automatic compaction off where a table is damaged, on a thread of its own: a listener must not change settings.
pub(super) struct Keeper {
    damage: Arc<Damage>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    pub fn start(database: &Arc<Database>) -> Result<Keeper, EngineError> {
        let damage = Arc::clone(&database.damage);
        let database = Arc::clone(database);
        let thread = std::thread::Builder::new()
            .name("damage".to_owned())
            .spawn(move || keep(&database))
            .map_err(|error| EngineError::Io(format!("no thread: {error}")))?;
        Ok(Keeper {
            damage,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Ends the thread, which holds the database.
    pub fn stop(&self) {
        self.damage.state.lock().stopped = true;
        self.damage.wake.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            // A panic in there was already reported by its hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop();
    }
}

fn keep(database: &Database) {
    while let Some(name) = database.damage.next() {
        let Some(family) = database.db.cf_handle(&name) else {
            continue;
        };
        if let Err(error) = database.db.set_options_cf(family, &SWITCHED_OFF) {
            tracing::error!(family = name, %error, "automatic compaction cannot be switched off");
            database.damage.later(name);
        }
    }
}

/// Whether this says that a table cannot be read, and not for a reason that passes.
fn is_damage(text: &str) -> bool {
    let unreadable = || {
        table_of(text).is_some()
            && !passes(text)
            && UNREADABLE.iter().any(|words| text.contains(words))
    };
    text.starts_with(CORRUPTION) || unreadable()
}

/// The name of the table that a text names first.
fn table_of(text: &str) -> Option<&str> {
    let path = text.get(..text.find(TABLE)? + TABLE.len())?;
    Some(path.rsplit_once('/').map_or(path, |(_, name)| name))
}

/// Takes over a text that RocksDB has allocated; none if there was no error.
#[allow(unsafe_code, reason = "called by RocksDB's C interface")]
unsafe fn taken(error: *mut c_char) -> Option<String> {
    if error.is_null() {
        return None;
    }
    // SAFETY: RocksDB made it as a text that ends with a zero, and has given it away.
    unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::rocksdb_free(error.cast());
        Some(text)
    }
}

#[allow(unsafe_code, reason = "called by RocksDB's C interface")]
// SAFETY: only RocksDB calls it, with what `of` has given to the listener.
unsafe extern "C" fn compaction_completed(
    state: *mut c_void,
    _: *mut ffi::rocksdb_t,
    info: *const ffi::rocksdb_compactionjobinfo_t,
) {
    // SAFETY: `state` is the `Damage` that `of` gave to the listener; RocksDB's structure and the name in it live through this call.
    unsafe {
        let mut error = std::ptr::null_mut();
        ffi::rocksdb_compactionjobinfo_status(info, &raw mut error);
        if let Some(text) = taken(error) {
            let mut length = 0;
            let name = ffi::rocksdb_compactionjobinfo_cf_name(info, &raw mut length);
            let name = std::slice::from_raw_parts(name.cast::<u8>(), length);
            (*state.cast::<Damage>()).met(&String::from_utf8_lossy(name), &text);
        }
    }
}

/// Comes after `compaction_completed`, on the same thread.
#[allow(unsafe_code, reason = "called by RocksDB's C interface")]
unsafe extern "C" fn background_error(
    state: *mut c_void,
    reason: u32,
    status: *mut ffi::rocksdb_status_ptr_t,
) {
    if reason != REASON_COMPACTION {
        return;
    }
    // SAFETY: `state` is the `Damage` that `of` gave to the listener; the status lives through this call.
    unsafe {
        let mut error = std::ptr::null_mut();
        ffi::rocksdb_status_ptr_get_error(status, &raw mut error);
        if taken(error).is_some_and(|text| (*state.cast::<Damage>()).is_known(&text)) {
            ffi::rocksdb_reset_status(status);
        }
    }
}

#[allow(unsafe_code, reason = "called by RocksDB's C interface")]
// SAFETY: only RocksDB calls it, with what `of` has given to the listener.
unsafe extern "C" fn release(state: *mut c_void) {
    // SAFETY: `of` made it from an `Arc`, and this is called once.
    drop(unsafe { Arc::from_raw(state.cast::<Damage>().cast_const()) });
}

extern "C" fn ignore_flush(
    _: *mut c_void,
    _: *mut ffi::rocksdb_t,
    _: *const ffi::rocksdb_flushjobinfo_t,
) {
}

extern "C" fn ignore_compaction(
    _: *mut c_void,
    _: *mut ffi::rocksdb_t,
    _: *const ffi::rocksdb_compactionjobinfo_t,
) {
}

extern "C" fn ignore_subcompaction(_: *mut c_void, _: *const ffi::rocksdb_subcompactionjobinfo_t) {}

extern "C" fn ignore_ingestion(
    _: *mut c_void,
    _: *mut ffi::rocksdb_t,
    _: *const ffi::rocksdb_externalfileingestioninfo_t,
) {
}

extern "C" fn ignore_stall(_: *mut c_void, _: *const ffi::rocksdb_writestallinfo_t) {}

extern "C" fn ignore_memtable(_: *mut c_void, _: *const ffi::rocksdb_memtableinfo_t) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_told_from_what_passes_and_from_failed_writes() {
        let damage = [
            "Corruption: block checksum mismatch: stored = 1, computed = 2, type = 4  in /a b/000012.sst offset 0 size 9",
            "Corruption: Compaction sees out-of-order keys.",
            "IO error: While pread offset 0 len 9: /a b/000012.sst: Input/output error",
            "IO error: No such file or directory: While open a file for random read: /a b/000012.sst: No such file or directory",
        ];
        let other = [
            "IO error: No space left on device: While open a file for random read: /a b/000012.sst: Too many open files",
            "IO error: While fsync: /a b/000012.sst: Input/output error",
            "IO error: While appending to file: /a b/000012.sst: Input/output error",
            "Shutdown in progress: Database shutdown",
        ];
        for text in damage {
            assert!(is_damage(text), "{text}");
        }
        for text in other {
            assert!(!is_damage(text), "{text}");
        }
        assert_eq!(table_of(damage[0]), Some("000012.sst"));
        assert_eq!(table_of(damage[1]), None);
    }
}
