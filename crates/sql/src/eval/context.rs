//! What an execution carries: the time, its budgets and its compiled expressions.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use lapsedb_value::budget::{Held, PROBE_STEPS, STEP_BYTES};
use lapsedb_value::pattern::{PATTERN_BYTES_MAX, Pattern, PatternError, PatternOptions};
use lapsedb_value::{Budget, Value};

use super::weight_within;
use crate::error::SqlError;
use crate::limits::{
    BUFFERED_ROWS_MAX, DOCUMENT_BYTES_MAX, DOCUMENT_STEPS_MAX, REGEXES_MAX, VALUE_LEVELS_MAX,
};
use crate::span::Span;

/// Tells when an item is gone.
pub type ExpiryOf<'a> = dyn Fn(&Value) -> Option<i64> + Sync + 'a;

/// What a query may know of the world around it.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The time for `GetCurrentDateTime` and its kin: milliseconds since 1970.
    pub now_ms: i64,
    /// What `RAND` starts from.
    pub seed: u64,
    /// What the request may use; it is charged while the query runs.
    pub budget: Option<&'a Arc<Budget>>,
    /// Tells the instant at which an item is gone, in milliseconds since 1970; none if that never comes.
    pub expiry: Option<&'a ExpiryOf<'a>>,
}

impl<'a> Env<'a> {
    /// The world at that time.
    pub fn new(now_ms: i64) -> Env<'a> {
        Env {
            now_ms,
            seed: now_ms as u64,
            budget: None,
            expiry: None,
        }
    }

    /// The same with another start for `RAND`.
    pub fn with_seed(self, seed: u64) -> Env<'a> {
        Env { seed, ..self }
    }

    /// The same within a request's budget.
    pub fn within(self, budget: &'a Arc<Budget>) -> Env<'a> {
        Env {
            budget: Some(budget),
            ..self
        }
    }

    /// The same with a way to tell when an item is gone. The rule itself is not of this crate.
    pub fn with_expiry(self, expiry: &'a ExpiryOf<'a>) -> Env<'a> {
        Env {
            expiry: Some(expiry),
            ..self
        }
    }
}

/// The state of one execution.
pub(crate) struct Ctx<'e> {
    env: Env<'e>,
    steps: Cell<u64>,
    document_end: Cell<u64>,
    bytes: Cell<u64>,
    buffered_rows: Cell<u64>,
    budget: Arc<Budget>,
    /// What blocking parts of the query keep.
    buffered: Held,
    random: Cell<u64>,
    /// Whether a number was made that is not finite.
    nonfinite: Cell<bool>,
    regexes: RefCell<Vec<Compiled>>,
}

impl<'e> Ctx<'e> {
    pub(crate) fn new(env: Env<'e>) -> Ctx<'e> {
        let budget = env.budget.map_or_else(Arc::default, Arc::clone);
        Ctx {
            buffered: Held::new(&budget),
            budget,
            env,
            steps: Cell::new(0),
            document_end: Cell::new(DOCUMENT_STEPS_MAX),
            bytes: Cell::new(0),
            buffered_rows: Cell::new(0),
            random: Cell::new(env.seed),
            nonfinite: Cell::new(false),
            regexes: RefCell::new(Vec::new()),
        }
    }

    /// When an item is gone, in milliseconds since 1970: nothing if it never is, or if nobody here can tell.
    pub(crate) fn expiry_ms(&self, item: &Value) -> Option<i64> {
        self.env.expiry.and_then(|expiry| expiry(item))
    }

    /// The time of the execution.
    pub(crate) fn now_ms(&self) -> i64 {
        self.env.now_ms
    }

    /// The next document has its own budget.
    pub(crate) fn next_document(&self) {
        self.document_end.set(self.steps.get() + DOCUMENT_STEPS_MAX);
        self.bytes.set(0);
        self.budget.set_scratch(0);
    }

    /// Counts one step of evaluation.
    pub(crate) fn step(&self) -> Result<(), SqlError> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps.is_multiple_of(u64::from(PROBE_STEPS)) {
            self.look_up(steps)
        } else {
            Ok(())
        }
    }

    #[cold]
    fn look_up(&self, steps: u64) -> Result<(), SqlError> {
        if steps > self.document_end.get() {
            return Err(SqlError::work());
        }
        Ok(self.budget.steps(PROBE_STEPS)?)
    }

    /// Counts bytes of values made for the current document.
    pub(crate) fn charge(&self, bytes: u64) -> Result<(), SqlError> {
        let total = self.bytes.get().saturating_add(bytes);
        self.bytes.set(total);
        if total > DOCUMENT_BYTES_MAX {
            return Err(SqlError::work());
        }
        Ok(self
            .budget
            .charge(usize::try_from(bytes).unwrap_or(usize::MAX))?)
    }

    /// Counts a value that is made or copied. What nests too deep is refused here: everything that goes through a value
    /// recurses as deep. Literals add as many levels at most before they come here too.
    pub(crate) fn charge_for(&self, value: &Value) -> Result<(), SqlError> {
        match weight_within(value, VALUE_LEVELS_MAX) {
            Some(bytes) => self.charge(bytes),
            None => Err(SqlError::too_complex(
                "a value nests too deeply",
                Span::default(),
            )),
        }
    }

    /// Bytes counted for the current document so far.
    pub(crate) fn charged(&self) -> u64 {
        self.bytes.get()
    }

    /// Counts a value just made.
    pub(crate) fn made(&self, value: Value) -> Result<Value, SqlError> {
        match &value {
            Value::String(_) | Value::Array(_) | Value::Object(_) => self.charge_for(&value)?,
            value => self.notice(value),
        }
        Ok(value)
    }

    /// Takes note of a number that is not finite: from now on rows are searched for such.
    #[inline]
    pub(crate) fn notice(&self, value: &Value) {
        if let Value::Double(n) = value
            && !n.is_finite()
        {
            self.nonfinite.set(true);
        }
    }

    /// Whether rows can hold numbers that are not finite. Stored documents hold none.
    pub(crate) fn has_nonfinite(&self) -> bool {
        self.nonfinite.get()
    }

    /// Counts a row that a blocking query keeps.
    pub(crate) fn keep(&self, bytes: u64) -> Result<(), SqlError> {
        let rows = self.buffered_rows.get() + 1;
        self.buffered_rows.set(rows);
        if rows > BUFFERED_ROWS_MAX {
            return Err(SqlError::memory());
        }
        Ok(self
            .buffered
            .add(usize::try_from(bytes).unwrap_or(usize::MAX))?)
    }

    /// Rows kept so far are gone.
    pub(crate) fn release(&self, rows: u64, bytes: u64) {
        self.buffered_rows
            .set(self.buffered_rows.get().saturating_sub(rows));
        self.buffered
            .remove(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// What is kept now, to be given to [`Ctx::forget_since`].
    pub(crate) fn kept(&self) -> (u64, usize) {
        (self.buffered_rows.get(), self.buffered.bytes())
    }

    /// What was kept since then is gone.
    pub(crate) fn forget_since(&self, (rows, bytes): (u64, usize)) {
        self.buffered_rows.set(rows);
        self.buffered
            .remove(self.buffered.bytes().saturating_sub(bytes));
    }

    /// A number in [0, 1), another one each time (splitmix64).
    pub(crate) fn random(&self) -> f64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }

    /// What searches count in.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Counts going through so many bytes; what one step goes through is counted with the expression.
    #[inline]
    pub(crate) fn work(&self, bytes: usize) -> Result<(), SqlError> {
        if bytes < STEP_BYTES {
            return Ok(());
        }
        Ok(self.budget.work(bytes)?)
    }

    /// The compiled pattern, from the second use on without work; nothing if it is invalid or too large.
    pub(crate) fn pattern(
        &self,
        source: &str,
        dialect: Dialect<'_>,
    ) -> Result<Option<Pattern>, SqlError> {
        let same = |known: &&Compiled| known.source == source && known.dialect() == dialect;
        if let Some(known) = self.regexes.borrow().iter().find(same) {
            return Ok(known.pattern.clone());
        }
        if source.len() > PATTERN_BYTES_MAX {
            return Ok(None);
        }
        let (flags, escape, pattern) = match dialect {
            Dialect::Regex(flags) => (Some(flags.to_owned()), None, self.compile(source, flags)?),
            Dialect::Like(escape) => (
                None,
                escape,
                self.compile(&super::like::translate(source, escape), "s")?,
            ),
        };
        let mut regexes = self.regexes.borrow_mut();
        if regexes.len() >= REGEXES_MAX {
            // Patterns that come from documents would fill the memory; they are compiled anew.
            let patterns = regexes.iter().filter_map(|known| known.pattern.as_ref());
            let bytes: usize = patterns.map(Pattern::bytes).sum();
            self.budget
                .set_kept(self.budget.kept().saturating_sub(bytes));
            regexes.clear();
        }
        regexes.push(Compiled {
            source: source.to_owned(),
            flags,
            escape,
            pattern: pattern.clone(),
        });
        Ok(pattern)
    }

    fn compile(&self, source: &str, flags: &str) -> Result<Option<Pattern>, SqlError> {
        let mut options = PatternOptions::default();
        for flag in flags.chars() {
            match flag {
                'i' => options.case_insensitive = true,
                'm' => options.multi_line = true,
                's' => options.dot_matches_new_line = true,
                'x' => options.ignore_whitespace = true,
                _ => return Ok(None),
            }
        }
        match Pattern::new(source, options, &self.budget) {
            Ok(pattern) => Ok(Some(pattern)),
            Err(PatternError::Syntax(_) | PatternError::TooLarge(_)) => Ok(None),
            Err(PatternError::Stop(stop)) => Err(stop.into()),
        }
    }
}

/// The two ways to write a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect<'a> {
    /// A regular expression with its flags, of which there are `i`, `m`, `s` and `x`.
    Regex(&'a str),
    /// A pattern of `LIKE` with its escape character.
    Like(Option<char>),
}

/// A pattern and what became of it.
struct Compiled {
    source: String,
    /// The flags of a regular expression; absent for `LIKE`.
    flags: Option<String>,
    escape: Option<char>,
    pattern: Option<Pattern>,
}

impl Compiled {
    fn dialect(&self) -> Dialect<'_> {
        match &self.flags {
            Some(flags) => Dialect::Regex(flags),
            None => Dialect::Like(self.escape),
        }
    }
}
