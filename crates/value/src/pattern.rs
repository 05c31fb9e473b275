//! Regular expressions that both query languages search texts with, in time linear in the text.
//!
//! A search looks at the request's budget at least once in about 50 ms, whatever pattern and text are. The fast engine cannot be
//! interrupted, so it is given a text only while the worst case is short ([`WORK_MAX`]). Longer texts are searched piece by piece: by an
//! automaton that is built while it runs (`pieces`), or, where that gives up and where groups are wanted, by following all threads of
//! the pattern at once (`threads`).

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use regex_automata::hybrid::dfa;
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, meta};

use crate::budget::{Budget, PROBE_STEPS, Stop};

pub mod fold;
mod pieces;
mod threads;

/// Bytes of the text of a regular expression, as its user has written it.
pub const PATTERN_BYTES_MAX: usize = 32_764;

/// Bytes of a compiled regular expression.
pub const COMPILED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Characters that all classes of a pattern together may name where case is to be ignored: about 150 ms at worst.
pub const FOLDED_CHARS_MAX: usize = 1 << 24;

/// States of a pattern times bytes of a text that are searched without a look at the budget: about 50 ms at worst.
pub const WORK_MAX: usize = 1 << 23;

/// States that a search visits, or instructions that it runs, for each step of the budget.
pub const VISITS_PER_STEP: u32 = 8;

/// Bytes of the automaton that is built while a text is searched.
const AUTOMATON_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of the automaton that is built beforehand to find groups.
const ONE_PASS_BYTES_MAX: usize = 256 * 1024;

/// Bytes that the fast engine may take for groups; beyond, they are counted before they are taken.
const GROUP_BYTES_MAX: usize = 1024 * 1024;

/// How a pattern is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternOptions {
    /// Upper and lower case are the same.
    pub case_insensitive: bool,
    /// `^` and `$` also match at the ends of lines.
    pub multi_line: bool,
    /// `.` matches line breaks too.
    pub dot_matches_new_line: bool,
    /// White space in the pattern means nothing.
    pub ignore_whitespace: bool,
}

/// Why there is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// It is not a regular expression, or has look-around or back references.
    Syntax(String),
    /// Compiled it is larger than [`COMPILED_BYTES_MAX`].
    TooLarge(String),
    /// The request has to stop.
    Stop(Stop),
}

impl From<Stop> for PatternError {
    fn from(stop: Stop) -> PatternError {
        PatternError::Stop(stop)
    }
}

/// Where a pattern was found, and its groups, as byte ranges of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The whole.
    pub range: Range<usize>,
    /// The groups in order; nothing for one that took no part.
    pub groups: Vec<Option<Range<usize>>>,
}

impl Found {
    /// From the bounds of the whole and of each group: start, end, start, end.
    #[must_use]
    pub fn from_bounds(bounds: &[Option<usize>]) -> Option<Found> {
        let mut ranges = bounds.chunks_exact(2).map(|pair| match pair {
            [Some(start), Some(end)] => Some(*start..*end),
            _ => None,
        });
        Some(Found {
            range: ranges.next()??,
            groups: ranges.collect(),
        })
    }
}

/// A regular expression without back references and look-around, compiled. Clones share it.
#[derive(Clone)]
pub struct Pattern {
    inner: Arc<Inner>,
}

struct Inner {
    fast: meta::Regex,
    nfa: NFA,
    /// Built for the first long text; nothing if it cannot be.
    automaton: OnceLock<Option<dfa::DFA>>,
    caches: Mutex<Caches>,
    /// Bytes without the caches.
    compiled_bytes: usize,
    /// Bytes that were counted so far.
    counted: AtomicUsize,
}

/// What engines keep from one search to the next. A search takes its cache out, and puts it back.
#[derive(Default)]
struct Caches {
    fast: Option<Box<meta::Cache>>,
    automaton: Option<Box<dfa::Cache>>,
    fast_bytes: usize,
    automaton_bytes: usize,
}

impl Caches {
    fn bytes(&self) -> usize {
        self.fast_bytes + self.automaton_bytes
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern")
            .field("states", &self.states())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

impl Pattern {
    /// Compiles a pattern. What it takes is counted as kept by the request, now and when searches make it grow.
    ///
    /// # Errors
    /// When it is no pattern, is too large, or the request has to stop.
    pub fn new(
        source: &str,
        options: PatternOptions,
        budget: &Budget,
    ) -> Result<Pattern, PatternError> {
        let too_large = || {
            let why = format!("pattern takes more than {COMPILED_BYTES_MAX} bytes when compiled");
            PatternError::TooLarge(why)
        };
        budget.steps(PROBE_STEPS)?;
        let dialect = syntax::Config::new()
            .case_insensitive(options.case_insensitive)
            .multi_line(options.multi_line)
            .dot_matches_new_line(options.dot_matches_new_line)
            .ignore_whitespace(options.ignore_whitespace);
        let folding = fold::folding(source, options.ignore_whitespace);
        let ignores_case = options.case_insensitive || folding.ignores_case;
        if ignores_case && folding.chars > FOLDED_CHARS_MAX {
            let why = format!(
                "pattern names classes of more than {FOLDED_CHARS_MAX} characters whose case is to be ignored"
            );
            return Err(PatternError::TooLarge(why));
        }
        let tree = syntax::parse_with(source, &dialect)
            .map_err(|error| PatternError::Syntax(error.to_string()))?;
        let size = thompson::Config::new().nfa_size_limit(Some(COMPILED_BYTES_MAX));
        let nfa = thompson::Compiler::new()
            .configure(size)
            .build_from_hir(&tree)
            .map_err(|_| too_large())?;
        budget.steps(PROBE_STEPS)?;
        let fast = meta::Config::new()
            .match_kind(MatchKind::LeftmostFirst)
            .utf8_empty(true)
            .nfa_size_limit(Some(COMPILED_BYTES_MAX))
            .hybrid_cache_capacity(AUTOMATON_BYTES_MAX)
            .onepass_size_limit(Some(ONE_PASS_BYTES_MAX));
        let fast = meta::Builder::new()
            .configure(fast)
            .build_from_hir(&tree)
            .map_err(|_| too_large())?;
        let pattern = Pattern {
            inner: Arc::new(Inner {
                compiled_bytes: nfa.memory_usage() + fast.memory_usage(),
                fast,
                nfa,
                automaton: OnceLock::new(),
                caches: Mutex::default(),
                counted: AtomicUsize::new(0),
            }),
        };
        pattern.count(budget, 0)?;
        Ok(pattern)
    }

    /// Bytes that were counted for it so far, in whatever budgets it was used with.
    pub fn bytes(&self) -> usize {
        self.inner.counted.load(Ordering::Relaxed)
    }

    /// Whether the text contains the pattern.
    ///
    /// # Errors
    /// When the request has to stop.
    pub fn is_match(&self, text: &str, budget: &Budget) -> Result<bool, Stop> {
        if self.is_short(text.len(), budget)? {
            let input = Input::new(text).earliest(true);
            let search = |cache: &mut meta::Cache| self.inner.fast.search_half_with(cache, &input);
            return Ok(self.with_fast(budget, search)?.is_some());
        }
        if let Some(found) = self.is_match_in_pieces(text, budget)? {
            return Ok(found);
        }
        let found = threads::search(&self.inner.nfa, text, 0, 0, budget)?;
        Ok(found.is_some())
    }

    /// The first place at or behind a byte of the text where the pattern is.
    ///
    /// # Errors
    /// When the request has to stop.
    pub fn find_at(
        &self,
        text: &str,
        start: usize,
        budget: &Budget,
    ) -> Result<Option<Found>, Stop> {
        if !text.is_char_boundary(start) {
            return Ok(None);
        }
        let bounds_len = self.inner.nfa.group_info().slot_len();
        let bytes = (text.len() - start).saturating_mul(bounds_len);
        let groups_fit = threads::bytes(&self.inner.nfa, bounds_len) <= GROUP_BYTES_MAX;
        if groups_fit && self.is_short(bytes, budget)? {
            let mut slots: Vec<Option<NonMaxUsize>> = vec![None; bounds_len];
            let input = Input::new(text).range(start..);
            self.with_fast(budget, |cache| {
                self.inner.fast.search_slots_with(cache, &input, &mut slots)
            })?;
            let bounds: Vec<Option<usize>> = slots
                .into_iter()
                .map(|slot| slot.map(NonMaxUsize::get))
                .collect();
            return Ok(Found::from_bounds(&bounds));
        }
        let bounds = threads::search(&self.inner.nfa, text, start, bounds_len, budget)?;
        Ok(bounds.and_then(|bounds| Found::from_bounds(&bounds)))
    }

    fn states(&self) -> usize {
        self.inner.nfa.states().len()
    }

    /// Whether the fast engine may search so many bytes. If so, the search is counted.
    fn is_short(&self, bytes: usize, budget: &Budget) -> Result<bool, Stop> {
        let work = bytes.saturating_mul(self.states());
        if work > WORK_MAX {
            return Ok(false);
        }
        budget.work(bytes)?;
        // A search of the most work is followed by a look at the budget.
        let steps = work / (WORK_MAX / PROBE_STEPS as usize);
        budget.steps(u32::try_from(steps).unwrap_or(u32::MAX))?;
        Ok(true)
    }

    fn with_fast<T>(
        &self,
        budget: &Budget,
        search: impl FnOnce(&mut meta::Cache) -> T,
    ) -> Result<T, Stop> {
        let mut cache = self
            .caches()
            .fast
            .take()
            .unwrap_or_else(|| Box::new(self.inner.fast.create_cache()));
        let found = search(&mut cache);
        let caches_bytes = {
            let mut caches = self.caches();
            caches.fast_bytes = cache.memory_usage();
            caches.fast = Some(cache);
            caches.bytes()
        };
        self.count(budget, caches_bytes)?;
        Ok(found)
    }

    /// Whether the text contains the pattern; nothing if the automaton cannot tell.
    fn is_match_in_pieces(&self, text: &str, budget: &Budget) -> Result<Option<bool>, Stop> {
        let automaton = self.inner.automaton.get_or_init(|| {
            // The automaton looks at bytes, and would find an empty match within a character.
            let can_tell = !self.inner.nfa.has_empty();
            can_tell.then(|| pieces::build(&self.inner.nfa, AUTOMATON_BYTES_MAX))?
        });
        let Some(automaton) = automaton else {
            return Ok(None);
        };
        let mut cache = self
            .caches()
            .automaton
            .take()
            .unwrap_or_else(|| Box::new(automaton.create_cache()));
        let piece_bytes = (WORK_MAX / self.states()).max(1);
        let found = pieces::is_match(automaton, &mut cache, text.as_bytes(), piece_bytes, budget);
        let caches_bytes = {
            let mut caches = self.caches();
            caches.automaton_bytes = cache.memory_usage();
            caches.automaton = Some(cache);
            caches.bytes()
        };
        self.count(budget, caches_bytes)?;
        found
    }

    fn caches(&self) -> std::sync::MutexGuard<'_, Caches> {
        self.inner
            .caches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what it takes now beyond what was counted before.
    fn count(&self, budget: &Budget, caches_bytes: usize) -> Result<(), Stop> {
        let bytes = self.inner.compiled_bytes + caches_bytes;
        let before = self.inner.counted.fetch_max(bytes, Ordering::Relaxed);
        match bytes.checked_sub(before) {
            Some(more) if more > 0 => budget.keep(more),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
