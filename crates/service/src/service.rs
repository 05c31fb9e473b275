//! What all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lapsedb_record::clock::{ClockError, Move};
use lapsedb_record::{Clock, Millis, Secs};
use lapsedb_store::{OpenError, OpenOptions, Place, Store, View};
use lapsedb_value::budget::Stop;
use lapsedb_value::{Account, Budget};

use crate::counts::Counts;
use crate::ctx::Ctx;
use crate::documents::{State, partial_filters};
use crate::error::{Error, Kind, Result};
use crate::figures::Figures;
use crate::maintain::Maintenance;
use crate::throughput::Throughputs;
use crate::turns::give_way;

/// How to open the service.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the store lives.
    pub place: Place,
    /// Acknowledge before fsync.
    pub relaxed: bool,
    /// Time stands still until it is moved.
    pub virtual_clock: bool,
    /// Start although the clock is far from the store's last time.
    pub accept_clock: bool,
    /// Whether the dead are removed in the background.
    pub purge: bool,
    /// How long the dead stay on disk, in seconds.
    pub purge_grace: u64,
    /// How long what change streams need is kept.
    pub change_retention: Secs,
    /// Whether it is kept for all collections from their beginning, and not from the first stream on.
    pub keep_changes: bool,
    /// How long a request may take that says nothing itself; none may take any time.
    pub request_time_max: Option<Duration>,
    /// Bytes of memory that all requests together may hold.
    pub request_memory_max: usize,
    /// Whether offers are enforced that nobody asked for.
    pub rate_limiting: bool,
    /// The account's master key, decoded: resource tokens are signed with it.
    pub master_key: Vec<u8>,
}

/// How long what change streams need is kept, unless something else is said.
pub const CHANGE_RETENTION: Secs = Secs(7 * 24 * 60 * 60);

/// How long a request may take, unless something else is said.
pub const REQUEST_TIME_MAX: Duration = Duration::from_secs(60);

impl Config {
    /// A store in memory whose time stands still: what tests begin with.
    #[must_use]
    pub const fn in_memory(master_key: Vec<u8>) -> Config {
        Config {
            place: Place::Memory,
            relaxed: false,
            virtual_clock: true,
            accept_clock: false,
            purge: false,
            purge_grace: 0,
            change_retention: CHANGE_RETENTION,
            keep_changes: false,
            request_time_max: Some(REQUEST_TIME_MAX),
            request_memory_max: usize::MAX,
            rate_limiting: false,
            master_key,
        }
    }
}

/// The store and what goes with it.
pub struct Service {
    store: Store,
    config: Config,
    throughputs: Throughputs,
    maintenance: Maintenance,
    figures: Figures,
    documents: State,
    counts: Counts,
    memory: Arc<Account>,
    stopping: Arc<AtomicBool>,
}

impl Service {
    /// Opens the store.
    ///
    /// # Errors
    /// When another process has it, the clock does not fit, or the engine fails.
    pub async fn open(config: Config) -> std::result::Result<Arc<Service>, OpenError> {
        let store = Store::open(OpenOptions {
            place: config.place.clone(),
            relaxed: config.relaxed,
            virtual_clock: config.virtual_clock,
            accept_clock: config.accept_clock,
        })
        .await?;
        store.set_filters(partial_filters());
        let memory = Arc::new(Account::new(config.request_memory_max, Clock::monotonic));
        let throughputs = Throughputs::new(config.rate_limiting);
        let service = Arc::new(Service {
            store,
            memory,
            config,
            throughputs,
            maintenance: Maintenance::default(),
            figures: Figures::default(),
            documents: State::default(),
            counts: Counts::default(),
            stopping: Arc::default(),
        });
        let now = service.clock().now();
        service.documents.operations.index_uses.begin(now);
        service.keep_all_changes().await?;
        Ok(service)
    }

    /// The engine's clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        self.store.clock()
    }

    /// Bytes on disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.store.disk_bytes()
    }

    /// How the service was opened.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Says to all requests that are being evaluated that the server stops: they end with an error.
    pub fn stop_evaluation(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// The memory of all requests.
    #[must_use]
    pub const fn memory(&self) -> &Arc<Account> {
        &self.memory
    }

    /// What a request may use: bytes of its own limit, drawn from the memory of all.
    #[must_use]
    pub fn budget(&self) -> Budget {
        Budget::default().drawing_from(&self.memory)
    }

    /// What a page of a query may use that begins now: so many bytes, and a time, but no more than any request may take.
    pub(crate) fn query_budget(&self, time_max: Duration, ctx: &Ctx) -> Arc<Budget> {
        let budget = self.budget();
        let time_max = self
            .config
            .request_time_max
            .map_or(time_max, |limit| limit.min(time_max));
        let end = Clock::monotonic() + time_max;
        let stopping = self.stopping();
        let (gone, received) = (ctx.gone.clone(), ctx.received.clone());
        let budget = Arc::new(budget);
        let stop = move || {
            if stopping.load(Ordering::Relaxed) {
                return Some(Stop::Shutdown);
            }
            if gone.as_ref().is_some_and(|gone| gone()) {
                return Some(Stop::Interrupted);
            }
            if let Some(stop) = received.as_ref().and_then(|received| received.stopped()) {
                return Some(stop);
            }
            (Clock::monotonic() >= end).then_some(Stop::Time)
        };
        budget.set_probe(Arc::new(move || {
            let busy = give_way(|| stop().is_some()).err();
            busy.or_else(&stop)
        }));
        budget
    }

    /// Whether the server stops now.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Whether the server stops.
    pub(crate) fn stopping(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stopping)
    }

    /// Makes the clock's present value durable.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn persist_clock(&self) -> Result<()> {
        Ok(self.store.persist_clock().await?)
    }

    /// Moves the virtual clock; the move is durable before anybody sees it. The caller lets it run to its end.
    ///
    /// # Errors
    /// When the clock cannot be moved so (the inner error), or the engine fails.
    pub async fn move_clock(
        &self,
        plan: impl FnOnce(&Clock) -> std::result::Result<Move, ClockError>,
    ) -> Result<std::result::Result<Millis, ClockError>> {
        Ok(self.store.move_clock(plan).await?)
    }

    /// Finishes what is waiting and closes the store.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn close(&self) -> Result<()> {
        Ok(self.store.close().await?)
    }

    /// What the verbs on documents keep in memory.
    #[must_use]
    pub const fn documents_state(&self) -> &State {
        &self.documents
    }

    /// Whether the dead are removed by and by.
    pub(crate) fn purges(&self) -> bool {
        self.config().purge && self.documents.ttl_monitor.enabled()
    }

    /// How many catalog records have been read from the engine since the start, and how many entries of the catalog in memory were
    /// listed: for tests that count work.
    #[must_use]
    pub fn catalog_work(&self) -> (u64, u64) {
        self.store().catalog_work()
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) const fn throughputs(&self) -> &Throughputs {
        &self.throughputs
    }

    /// What queries have read since the start.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) const fn figures(&self) -> &Figures {
        &self.figures
    }

    pub(crate) const fn maintenance(&self) -> &Maintenance {
        &self.maintenance
    }

    pub(crate) async fn view(&self) -> Result<View> {
        self.maintenance
            .requests
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(self.store.view().await?)
    }
}

/// What a verb that ran too often against faster writers answers.
pub(crate) fn always_slower() -> Error {
    Error::new(
        Kind::RetryWith,
        "Conflicting request to resource has been attempted. Retry to avoid conflicts.",
    )
}
