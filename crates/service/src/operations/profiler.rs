//! The database profiler: which commands are recorded, and those that wait to be written.
//!
//! Levels belong to databases, the other settings to the server. Nothing of it outlives the process, as in MongoDB. A server that
//! profiles nothing asks one flag per command.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lapsedb_value::Object;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::documents::fault::Result;
use crate::documents::matches;

/// The collection that commands are recorded in.
pub const PROFILE_COLLECTION: &str = "system.profile";
/// Records that wait to be written at most; more are lost.
const QUEUE_MAX: usize = 1_000;
/// A command is slow from this time on, in milliseconds, unless a client says otherwise.
const SLOW_MS_DEFAULT: i64 = 100;

/// Which commands of a database are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// None.
    #[default]
    Off,
    /// Those that are slow, or that a filter matches.
    Slow,
    /// All.
    All,
}

impl Level {
    /// The level of a number, if there is one.
    #[must_use]
    pub const fn numbered(number: i64) -> Option<Level> {
        match number {
            0 => Some(Level::Off),
            1 => Some(Level::Slow),
            2 => Some(Level::All),
            _ => None,
        }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Level::Off => 0,
            Level::Slow => 1,
            Level::All => 2,
        }
    }
}

/// The settings of a database.
#[derive(Clone, Debug, Default)]
pub struct Profiled {
    /// Which commands are recorded.
    pub level: Level,
    /// What a record must match instead of being slow.
    pub filter: Option<Object>,
}

/// The settings of all databases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// From when on a command is slow, in milliseconds.
    pub milliseconds: i64,
    /// Which part of the slow commands is recorded.
    pub sample_rate: f64,
}

/// One record, or somebody who waits until all before are written.
pub enum Queued {
    /// A record, for a database.
    Record(String, Object),
    /// To be answered.
    Flush(oneshot::Sender<()>),
}

/// The profiler.
pub struct Profiler {
    /// Whether a database is profiled.
    on: AtomicBool,
    settings: Mutex<(Slow, HashMap<String, Profiled>)>,
    queue: mpsc::Sender<Queued>,
    /// The other end, until somebody begins to write.
    waiting: Mutex<Option<mpsc::Receiver<Queued>>>,
    lost: AtomicU64,
}

impl Default for Profiler {
    fn default() -> Profiler {
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let slow = Slow {
            milliseconds: SLOW_MS_DEFAULT,
            sample_rate: 1.0,
        };
        Profiler {
            on: AtomicBool::new(false),
            settings: Mutex::new((slow, HashMap::new())),
            queue,
            waiting: Mutex::new(Some(waiting)),
            lost: AtomicU64::new(0),
        }
    }
}

impl Profiler {
    /// Whether any database is profiled.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// The settings of a database, and of all.
    #[must_use]
    pub fn settings(&self, database: &str) -> (Profiled, Slow) {
        let settings = self.settings.lock();
        let own = settings.1.get(database).cloned().unwrap_or_default();
        (own, settings.0)
    }

    /// Changes the settings of a database, and of all.
    pub fn set(&self, database: &str, profiled: Profiled, slow: Slow) {
        let mut settings = self.settings.lock();
        settings.0 = slow;
        if profiled.level == Level::Off && profiled.filter.is_none() {
            settings.1.remove(database);
        } else {
            settings.1.insert(database.to_owned(), profiled);
        }
        let on = |own: &Profiled| own.level != Level::Off;
        self.on
            .store(settings.1.values().any(on), Ordering::Relaxed);
    }

    /// A database is about to be dropped: its commands are recorded no more, and again if it is not dropped after all.
    #[must_use]
    pub fn forget<'p>(&'p self, database: &'p str) -> Forgotten<'p> {
        let (was, slow) = self.settings(database);
        self.set(database, Profiled::default(), slow);
        Forgotten {
            profiler: self,
            database,
            was: Some(was),
        }
    }

    /// Whether a command may have to be recorded: false, if its record need not even be made.
    #[must_use]
    pub fn may_record(&self, database: &str, took: Duration) -> bool {
        if !self.is_on() {
            return false;
        }
        let settings = self.settings.lock();
        let Some(own) = settings.1.get(database) else {
            return false;
        };
        match own.level {
            Level::Off => false,
            Level::Slow if own.filter.is_some() => true,
            Level::Slow => settings.0.is_slow(took),
            Level::All => true,
        }
    }

    /// Records a command, if the filter of its database has nothing against it. Nobody waits for it to be written.
    pub fn record(&self, database: &str, record: Object) {
        let (own, _) = self.settings(database);
        let wanted = match &own.filter {
            Some(filter) => matches(filter, &record).unwrap_or(false),
            None => true,
        };
        if wanted
            && self
                .queue
                .try_send(Queued::Record(database.to_owned(), record))
                .is_err()
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many records were lost because too many waited.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// What is to be written, for who begins to write it: once.
    #[must_use]
    pub fn writing(&self) -> Option<mpsc::Receiver<Queued>> {
        self.waiting.lock().take()
    }

    /// Waits until all that was recorded before is written.
    pub async fn flush(&self) {
        if self.waiting.lock().is_some() {
            // Nobody has ever recorded anything.
            return;
        }
        let (written, heard) = oneshot::channel();
        if self.queue.send(Queued::Flush(written)).await.is_ok() {
            let _ = heard.await;
        }
    }

    /// Refuses a filter that cannot be one.
    ///
    /// # Errors
    /// When it is wrong.
    pub fn check_filter(filter: &Object) -> Result<()> {
        matches(filter, &Object::new()).map(|_| ())
    }
}

/// The settings of a database that is being dropped. They come back, unless it is.
pub struct Forgotten<'p> {
    profiler: &'p Profiler,
    database: &'p str,
    was: Option<Profiled>,
}

impl Forgotten<'_> {
    /// The database was dropped.
    pub fn keep_so(&mut self) {
        self.was = None;
    }
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        if let Some(was) = self.was.take() {
            let (_, slow) = self.profiler.settings(self.database);
            self.profiler.set(self.database, was, slow);
        }
    }
}

impl Slow {
    fn is_slow(&self, took: Duration) -> bool {
        let milliseconds = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        milliseconds >= self.milliseconds && self.is_sampled()
    }

    fn is_sampled(&self) -> bool {
        if self.sample_rate >= 1.0 {
            return true;
        }
        // Sixteen random bits are enough for a share.
        let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
        let share = f64::from(u16::try_from(random >> 48).unwrap_or(0)) / 65_536.0;
        share < self.sample_rate
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const SLOW: Slow = Slow {
        milliseconds: 10,
        sample_rate: 1.0,
    };

    fn at(level: Level) -> Profiled {
        Profiled {
            level,
            filter: None,
        }
    }

    #[test]
    fn a_level_says_what_is_recorded_of_its_database() {
        let profiler = Profiler::default();
        let long = Duration::from_millis(10);
        let short = Duration::from_millis(9);
        assert!(!profiler.may_record("a", long) && !profiler.is_on());
        profiler.set("a", at(Level::Slow), SLOW);
        assert!(profiler.may_record("a", long) && !profiler.may_record("a", short));
        assert!(!profiler.may_record("b", long));
        profiler.set("a", at(Level::All), SLOW);
        assert!(profiler.may_record("a", Duration::ZERO));
        let never = Slow {
            sample_rate: 0.0,
            ..SLOW
        };
        profiler.set("a", at(Level::Slow), never);
        assert!(!profiler.may_record("a", long));
        drop(profiler.forget("a"));
        assert!(profiler.is_on(), "the database was not dropped");
        profiler.forget("a").keep_so();
        assert!(!profiler.is_on());
        assert_eq!(profiler.settings("a").1, never, "it is of all databases");
    }

    #[test]
    fn a_filter_stands_for_the_time_and_more_than_can_wait_is_lost() {
        let profiler = Profiler::default();
        let mut filter = Object::new();
        filter.push("op", "query");
        let filtered = Profiled {
            level: Level::Slow,
            filter: Some(filter),
        };
        profiler.set("a", filtered, SLOW);
        assert!(profiler.may_record("a", Duration::ZERO));
        let mut writing = profiler.writing().unwrap();
        assert!(profiler.writing().is_none());
        for op in ["insert", "query"] {
            let mut record = Object::new();
            record.push("op", op);
            profiler.record("a", record);
        }
        assert!(matches!(writing.try_recv(), Ok(Queued::Record(..))));
        assert!(writing.try_recv().is_err());
        profiler.set("a", at(Level::All), SLOW);
        for _ in 0..QUEUE_MAX + 3 {
            profiler.record("a", Object::new());
        }
        assert_eq!(profiler.lost(), 3);
    }
}
