//! What one request may use: bytes, steps and time.
//!
//! Both query languages charge the same [`Budget`] where values are made and loops run. It has no clock of its own: the one who
//! makes it says, by a probe, when the request has to stop. The probe is asked once in [`PROBE_STEPS`] steps, so that a step
//! in the middle of an evaluation costs no more than a decrement. What it counts it draws from the [`Account`] of all requests.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::account::{Account, OnStop, PORTION_BYTES_MAX, Share, WhenStopped};
use crate::{Object, Value};

/// Bytes that one request may hold at once, unless it is told otherwise.
pub const REQUEST_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Steps between two looks at the probe.
pub const PROBE_STEPS: u32 = 1024;

/// Bytes that are made, copied or searched within one step.
pub const STEP_BYTES: usize = 256;

/// Elements that are sorted without a look at the budget.
const SORT_RUN_ELEMENTS: usize = 4096;

/// Why an evaluation has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It would hold more bytes than it may.
    Memory {
        /// How many it may hold.
        bytes_max: usize,
    },
    /// All requests together would hold more bytes than they may, and this one was chosen to stop.
    Account {
        /// How many they may hold.
        bytes_max: usize,
    },
    /// It took more steps than it may.
    Steps {
        /// How many it may take.
        steps_max: u64,
    },
    /// Its time is up.
    Time,
    /// As many requests as may are being evaluated for long.
    Busy {
        /// How many may.
        evaluations_max: usize,
    },
    /// Somebody ended it, or nobody waits for its answer.
    Interrupted,
    /// The server is stopping.
    Shutdown,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Memory { bytes_max } => write!(
                f,
                "the request would hold more than {bytes_max} bytes in memory, which is its limit"
            ),
            Stop::Account { bytes_max } => write!(
                f,
                "all requests together would hold more than {bytes_max} bytes in memory, which is the limit set by \
                 --request-memory-max-mib, and this one was stopped because it holds most; try again later, or with less"
            ),
            Stop::Steps { steps_max } => write!(
                f,
                "the request took more than {steps_max} steps of evaluation, which is its limit"
            ),
            Stop::Time => f.write_str("operation exceeded time limit"),
            Stop::Busy { evaluations_max } => write!(
                f,
                "the server already evaluates {evaluations_max} requests that take long; try again later"
            ),
            Stop::Interrupted => f.write_str("operation was interrupted"),
            Stop::Shutdown => f.write_str("operation was interrupted: the server is stopping"),
        }
    }
}

impl std::error::Error for Stop {}

/// Says whether a request has to stop, and why.
pub type Probe = dyn Fn() -> Option<Stop> + Send + Sync;

/// What one request may use, and what it has used.
///
/// Bytes are counted in two ways: *held* are those that stay, such as rows of a sort, until their [`Held`] is dropped;
/// *scratch* are those of the values that one evaluation makes, which are counted from zero for each document. Constants that are
/// computed while a query is parsed are held too.
pub struct Budget {
    /// Steps until the next look at the probe. Only one thread evaluates a request at a time, so no exchange is needed.
    until_probe: AtomicU32,
    steps: AtomicU64,
    steps_max: u64,
    scratch: AtomicUsize,
    held: AtomicUsize,
    kept: AtomicUsize,
    bytes_max: usize,
    share: Option<Share>,
    probe: Mutex<Option<Arc<Probe>>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new(REQUEST_BYTES_MAX)
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("steps", &self.steps_done())
            .field("bytes", &self.bytes())
            .field("bytes_max", &self.bytes_max)
            .finish_non_exhaustive()
    }
}

impl Budget {
    /// So many bytes, and no end of steps and time.
    #[must_use]
    pub fn new(bytes_max: usize) -> Budget {
        Budget {
            until_probe: AtomicU32::new(PROBE_STEPS),
            steps: AtomicU64::new(0),
            steps_max: u64::MAX,
            scratch: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            bytes_max,
            share: None,
            probe: Mutex::new(None),
        }
    }

    /// The same, drawing what it counts from an account.
    #[must_use]
    pub fn drawing_from(mut self, account: &Arc<Account>) -> Budget {
        self.share = Some(account.share());
        self
    }

    /// Has something done when the request is stopped because the account is used up.
    pub fn when_stopped(&self, action: OnStop) -> WhenStopped {
        match &self.share {
            Some(share) => share.when_stopped(action),
            None => WhenStopped::never(),
        }
    }

    /// Why the request has to stop, if the account has stopped it.
    pub fn stopped(&self) -> Option<Stop> {
        self.share.as_ref().and_then(Share::stop)
    }

    /// Gives back what was drawn and is no longer counted, as before a pause.
    pub fn give_back(&self) {
        if let Some(share) = &self.share {
            share.give_back(self.bytes());
        }
    }

    /// The same with a limit on steps.
    #[must_use]
    pub fn with_steps_max(mut self, steps_max: u64) -> Budget {
        self.steps_max = steps_max;
        self
    }

    /// From now on this probe is asked. A cursor has another one for each batch.
    pub fn set_probe(&self, probe: Arc<Probe>) {
        *self.probe.lock().unwrap_or_else(PoisonError::into_inner) = Some(probe);
    }

    /// Steps done so far, to within [`PROBE_STEPS`].
    pub fn steps_done(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Bytes counted now.
    pub fn bytes(&self) -> usize {
        let held = self.held.load(Ordering::Relaxed);
        self.scratch()
            .saturating_add(held)
            .saturating_add(self.kept())
    }

    /// Counts one step.
    ///
    /// # Errors
    /// When the request has to stop.
    #[inline]
    pub fn step(&self) -> Result<(), Stop> {
        self.steps(1)
    }

    /// Counts several steps.
    ///
    /// # Errors
    /// When the request has to stop.
    #[inline]
    pub fn steps(&self, steps: u32) -> Result<(), Stop> {
        let left = self.until_probe.load(Ordering::Relaxed);
        if steps < left {
            self.until_probe.store(left - steps, Ordering::Relaxed);
            return Ok(());
        }
        self.ask(left, steps)
    }

    #[cold]
    fn ask(&self, left: u32, steps: u32) -> Result<(), Stop> {
        let done = u64::from(PROBE_STEPS - left.min(PROBE_STEPS)) + u64::from(steps);
        let done = self.steps.load(Ordering::Relaxed).saturating_add(done);
        self.steps.store(done, Ordering::Relaxed);
        self.until_probe.store(PROBE_STEPS, Ordering::Relaxed);
        if done > self.steps_max {
            let steps_max = self.steps_max;
            return Err(Stop::Steps { steps_max });
        }
        self.check()
    }

    /// Asks the probe now.
    ///
    /// # Errors
    /// When the request has to stop.
    pub fn check(&self) -> Result<(), Stop> {
        if let Some(stop) = self.stopped() {
            return Err(stop);
        }
        // The lock is not held while the probe runs, which may take a while.
        let probe = {
            let probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
            probe.clone()
        };
        match probe.and_then(|probe| probe()) {
            Some(stop) => Err(stop),
            None => Ok(()),
        }
    }

    /// Counts the work on so many bytes as steps: copying, comparing, searching.
    ///
    /// # Errors
    /// When the request has to stop.
    #[inline]
    pub fn work(&self, bytes: usize) -> Result<(), Stop> {
        self.steps(u32::try_from(1 + bytes / STEP_BYTES).unwrap_or(u32::MAX))
    }

    /// Counts bytes of values that an evaluation makes; to be called before they are made.
    ///
    /// # Errors
    /// When the request would hold too much, or has to stop.
    #[inline]
    pub fn charge(&self, bytes: usize) -> Result<(), Stop> {
        let scratch = self.scratch().saturating_add(bytes);
        self.fits(scratch)?;
        self.scratch.store(scratch, Ordering::Relaxed);
        self.work(bytes)
    }

    /// Whether the request may count so many bytes beside what it holds.
    #[inline]
    fn fits(&self, bytes: usize) -> Result<(), Stop> {
        let bytes_max = self.bytes_max;
        let held = self.held.load(Ordering::Relaxed);
        let total = bytes.saturating_add(held).saturating_add(self.kept());
        if total > bytes_max {
            return Err(Stop::Memory { bytes_max });
        }
        match &self.share {
            Some(share) if total > share.drawn() => share.draw(total),
            Some(_) | None => Ok(()),
        }
    }

    /// Draws for what is counted already.
    #[inline]
    fn catch_up(&self) {
        if let Some(share) = &self.share
            && self.bytes() > share.drawn()
        {
            share.draw_at_once(self.bytes());
        }
    }

    /// Counts bytes of constants, which stay as long as what was parsed.
    ///
    /// # Errors
    /// When the request would hold too much, or has to stop.
    pub fn keep(&self, bytes: usize) -> Result<(), Stop> {
        let kept = self.kept().saturating_add(bytes);
        self.fits(self.scratch().saturating_add(bytes))?;
        self.set_kept(kept);
        self.work(bytes)
    }

    /// Bytes of constants counted so far.
    pub fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    /// From now on so many bytes of constants are counted: what was parsed in between is gone.
    pub fn set_kept(&self, bytes: usize) {
        self.kept.store(bytes, Ordering::Relaxed);
    }

    /// Bytes of values made in this evaluation that are still counted.
    #[inline]
    pub fn scratch(&self) -> usize {
        self.scratch.load(Ordering::Relaxed)
    }

    /// From now on so many bytes of this evaluation are counted: what was made in between is gone.
    #[inline]
    pub fn set_scratch(&self, bytes: usize) {
        self.scratch.store(bytes, Ordering::Relaxed);
    }

    /// Counts a value that an evaluation has made since `before`, and forgets what it was made from.
    ///
    /// # Errors
    /// When the request would hold too much, or has to stop.
    #[inline]
    pub fn made(&self, before: usize, value: Value) -> Result<Value, Stop> {
        self.set_scratch(before);
        if owns_memory(&value) {
            self.charge(owned_bytes(&value))?;
        }
        Ok(value)
    }

    /// A copy of a value, counted before it is made.
    ///
    /// # Errors
    /// When the request would hold too much, or has to stop.
    #[inline]
    pub fn copy(&self, value: &Value) -> Result<Value, Stop> {
        if owns_memory(value) {
            self.charge(owned_bytes(value))?;
        }
        Ok(value.clone())
    }
}

/// Bytes that a request holds for longer than one evaluation, until this is dropped.
#[derive(Debug)]
pub struct Held {
    budget: Arc<Budget>,
    bytes: AtomicUsize,
}

impl Held {
    /// Nothing yet.
    #[must_use]
    pub fn new(budget: &Arc<Budget>) -> Held {
        Held {
            budget: Arc::clone(budget),
            bytes: AtomicUsize::new(0),
        }
    }

    /// How many bytes it is.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts more.
    ///
    /// # Errors
    /// When the request would hold too much, or has to stop.
    pub fn add(&self, bytes: usize) -> Result<(), Stop> {
        self.budget
            .fits(self.budget.scratch().saturating_add(bytes))?;
        self.put(bytes);
        self.budget.work(bytes)
    }

    /// Counts more of what is there already; the next charge finds out if it was too much.
    pub fn put(&self, bytes: usize) {
        self.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.budget.catch_up();
    }

    /// Counts less.
    pub fn remove(&self, bytes: usize) {
        let bytes = bytes.min(self.bytes());
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.held.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(share) = &self.budget.share
            && share.drawn().saturating_sub(self.budget.bytes()) > 2 * PORTION_BYTES_MAX
        {
            self.budget.give_back();
        }
    }

    /// Counts nothing any more.
    pub fn clear(&self) {
        self.remove(self.bytes());
    }

    /// Takes over what another one counts.
    pub fn absorb(&self, other: &Held) {
        let bytes = other.bytes.swap(0, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Bytes of one value without what it owns.
pub const VALUE_BYTES: usize = size_of::<Value>();

/// Bytes of a member of an object without what name and value own.
pub const MEMBER_BYTES: usize = size_of::<(crate::Str, Value)>();

/// Whether a value owns memory beyond its own few bytes.
#[inline]
pub fn owns_memory(value: &Value) -> bool {
    matches!(
        value,
        Value::String(_)
            | Value::Array(_)
            | Value::Object(_)
            | Value::Binary { .. }
            | Value::Code(_)
            | Value::Symbol(_)
            | Value::Regex { .. }
            | Value::CodeWithScope { .. }
            | Value::DbPointer { .. }
    )
}

/// Bytes that a text takes outside of its own place: short ones take none.
pub fn text_bytes(len: usize) -> usize {
    if len <= size_of::<crate::Str>() {
        0
    } else {
        len
    }
}

/// Bytes that a value owns beyond its own few, near enough to limit them.
pub fn owned_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => text_bytes(text.len()),
        Value::Array(elements) => elements
            .iter()
            .map(|element| VALUE_BYTES + owned_bytes(element))
            .sum(),
        Value::Object(object) => object_bytes(object),
        Value::Binary { bytes, .. } => bytes.len(),
        Value::Regex { pattern, options } => {
            2 * size_of::<crate::Str>() + text_bytes(pattern.len()) + text_bytes(options.len())
        }
        Value::CodeWithScope { code, scope } => text_bytes(code.len()) + object_bytes(scope),
        Value::DbPointer { ns, .. } => text_bytes(ns.len()),
        Value::Undefined
        | Value::Null
        | Value::Bool(_)
        | Value::Int32(_)
        | Value::Int64(_)
        | Value::Double(_)
        | Value::Date(_)
        | Value::ObjectId(_)
        | Value::Decimal128(_)
        | Value::Timestamp(_)
        | Value::MinKey
        | Value::MaxKey => 0,
    }
}

/// Bytes that an object owns.
pub fn object_bytes(object: &Object) -> usize {
    let member = |(name, value): (&crate::Str, &Value)| {
        MEMBER_BYTES + text_bytes(name.len()) + owned_bytes(value)
    };
    object.iter().map(member).sum()
}

/// Sorts as `sort_by` does, equals in the order they came, and stops when the budget says so.
///
/// # Errors
/// When the request has to stop; then nothing is left of the values.
pub fn sort_by<T>(
    values: Vec<T>,
    budget: &Budget,
    mut compare: impl FnMut(&T, &T) -> std::cmp::Ordering,
) -> Result<Vec<T>, Stop> {
    let mut runs: Vec<Vec<T>> = Vec::new();
    let count = values.len();
    let mut values = values.into_iter();
    if count <= SORT_RUN_ELEMENTS {
        let mut only: Vec<T> = values.collect();
        only.sort_by(&mut compare);
        return Ok(only);
    }
    loop {
        let mut run: Vec<T> = values.by_ref().take(SORT_RUN_ELEMENTS).collect();
        if run.is_empty() {
            break;
        }
        budget.steps(PROBE_STEPS)?;
        run.sort_by(&mut compare);
        runs.push(run);
    }
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(first) = pairs.next() {
            merged.push(match pairs.next() {
                Some(second) => merge(first, second, budget, &mut compare)?,
                None => first,
            });
        }
        runs = merged;
    }
    Ok(runs.pop().unwrap_or_default())
}

fn merge<T>(
    first: Vec<T>,
    second: Vec<T>,
    budget: &Budget,
    compare: &mut impl FnMut(&T, &T) -> std::cmp::Ordering,
) -> Result<Vec<T>, Stop> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        budget.step()?;
        let next = if compare(a, b).is_gt() {
            second.next()
        } else {
            first.next()
        };
        merged.extend(next);
    }
    merged.extend(first);
    merged.extend(second);
    Ok(merged)
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
