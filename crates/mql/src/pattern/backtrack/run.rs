//! Runs the instructions of a pattern over a text.

use fancy_regex::Assertion;
use lapsedb_value::Budget;
use lapsedb_value::budget::{PROBE_STEPS, Stop};
use lapsedb_value::pattern::VISITS_PER_STEP;

use super::program::{Control, Program, Step};
use super::set::Set;

/// No such place in the text, or no such call.
const NOWHERE: usize = usize::MAX;

/// Characters of one set that are matched for each instruction counted.
const CHARS_PER_VISIT: usize = 16;

/// Instructions that one attempt to match at one place of the text may take: PCRE's default limit, which mongod keeps.
const ATTEMPT_VISITS_MAX: u64 = 10_000_000;

/// Why a search has ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pattern) enum Unanswered {
    /// The request has to stop.
    Stop(Stop),
    /// An attempt took more than [`ATTEMPT_VISITS_MAX`] instructions.
    MatchLimit,
}

impl From<Stop> for Unanswered {
    fn from(stop: Stop) -> Unanswered {
        Unanswered::Stop(stop)
    }
}

type Result<T> = std::result::Result<T, Unanswered>;

/// The bounds of the first match at or behind a byte.
pub(super) fn search(
    program: &Program,
    text: &str,
    start: usize,
    budget: &Budget,
) -> Result<Option<Vec<Option<usize>>>> {
    let before = budget.scratch();
    let mut run = Run {
        program,
        text,
        search_start: start,
        at: start,
        next: 0,
        places: vec![NOWHERE; program.places_len],
        tries: Vec::new(),
        calls: Vec::new(),
        call: NOWHERE,
        visits: 0,
        attempt_visits_left: ATTEMPT_VISITS_MAX,
        budget,
    };
    let found = run.search(start);
    let bounds = run.places;
    budget.set_scratch(before);
    if !found? {
        return Ok(None);
    }
    let bounds = bounds.into_iter().take(2 * program.groups_len);
    let place = |at: usize| (at != NOWHERE).then_some(at);
    Ok(Some(bounds.map(place).collect()))
}

/// What is to be tried when the present way fails, and what is to be undone before.
#[derive(Clone, Copy)]
enum Try {
    /// Goes on at an instruction and a place of the text.
    Branch { step: u32, at: usize },
    /// The same with one character less, unless that is too few.
    Fewer {
        step: u32,
        least_at: usize,
        at: usize,
    },
    /// The instruction matches one character more.
    More { step: u32, left: u32, at: usize },
    /// One character further back.
    Further { step: u32, left: u32, at: usize },
    /// Sets a place back.
    Restore { place: u32, value: usize },
    /// Ends a call that was begun.
    Uncall,
    /// Goes on with a call that had ended.
    Recall(usize),
    /// Begins anew elsewhere.
    Control(Control, usize),
}

/// A group that is being called.
struct Call {
    outer: usize,
    step: u32,
    back: u32,
    at: usize,
    places: Box<[usize]>,
}

/// How an attempt ended.
enum End {
    Match,
    Fail,
    /// The next attempt begins there, or there is none.
    Resume(Option<usize>),
}

struct Run<'a> {
    program: &'a Program,
    text: &'a str,
    search_start: usize,
    at: usize,
    next: u32,
    places: Vec<usize>,
    tries: Vec<Try>,
    calls: Vec<Call>,
    call: usize,
    visits: u32,
    attempt_visits_left: u64,
    budget: &'a Budget,
}

impl Run<'_> {
    fn search(&mut self, start: usize) -> Result<bool> {
        if !self.text.is_char_boundary(start) || (self.program.at_start && start > 0) {
            return Ok(false);
        }
        let mut from = start;
        loop {
            self.attempt_visits_left = ATTEMPT_VISITS_MAX;
            self.visit(1)?;
            let sign = self.sign_at(from);
            let mut resume = from + sign.map_or(1, char::len_utf8);
            let begins = |set: &Set| sign.is_some_and(|sign| set.contains(sign));
            if self.program.first.as_ref().is_none_or(begins) {
                match self.attempt(from)? {
                    End::Match => return Ok(true),
                    End::Fail => {}
                    End::Resume(None) => return Ok(false),
                    End::Resume(Some(at)) => resume = resume.max(at),
                }
            }
            if sign.is_none() || self.program.at_start || resume > self.text.len() {
                return Ok(false);
            }
            from = resume;
        }
    }

    fn attempt(&mut self, start: usize) -> Result<End> {
        self.visit(self.places.len() / CHARS_PER_VISIT)?;
        self.places.fill(NOWHERE);
        self.tries.clear();
        while self.calls.pop().is_some() {
            self.forget_call();
        }
        self.call = NOWHERE;
        (self.at, self.next) = (start, 0);
        self.places[0] = start;
        let program = self.program;
        loop {
            let Some(step) = program.steps.get(self.next as usize) else {
                return Ok(End::Fail);
            };
            self.visit(1)?;
            self.next += 1;
            if matches!(step, Step::Match) {
                self.places[1] = self.at;
                return Ok(End::Match);
            }
            if !self.execute(step)?
                && let Some(end) = self.go_back()?
            {
                return Ok(end);
            }
        }
    }

    /// Counts so much work.
    #[inline]
    fn visit(&mut self, visits: usize) -> Result<()> {
        self.visits = self
            .visits
            .saturating_add(u32::try_from(visits).unwrap_or(u32::MAX));
        if self.visits >= PROBE_STEPS * VISITS_PER_STEP {
            let visits = u64::from(self.visits);
            let steps = self.visits / VISITS_PER_STEP;
            self.visits = 0;
            self.budget.steps(steps)?;
            // Counted here, once in many instructions, and so exact to as many.
            self.attempt_visits_left = self
                .attempt_visits_left
                .checked_sub(visits)
                .ok_or(Unanswered::MatchLimit)?;
        }
        Ok(())
    }

    /// Adds something to try, whose memory is counted before it is taken.
    fn push(&mut self, attempt: Try) -> Result<()> {
        let capacity = self.tries.capacity();
        if self.tries.len() == capacity {
            let more = capacity.max(64);
            self.budget.charge(more * size_of::<Try>())?;
            self.tries.reserve_exact(more);
        }
        self.tries.push(attempt);
        Ok(())
    }

    fn set(&mut self, place: u32, value: usize) -> Result<()> {
        let old = std::mem::replace(&mut self.places[place as usize], value);
        self.push(Try::Restore { place, value: old })
    }

    #[inline]
    fn sign_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    #[inline]
    fn sign_before(&self, at: usize) -> Option<char> {
        self.text.get(..at)?.chars().next_back()
    }

    /// Whether the instruction succeeds.
    fn execute(&mut self, step: &Step) -> Result<bool> {
        match step {
            Step::Text(text) => {
                let rest = &self.text.as_bytes()[self.at..];
                if !rest.starts_with(text.as_bytes()) {
                    return Ok(false);
                }
                self.at += text.len();
            }
            Step::One(set) => match self.sign_at(self.at) {
                Some(sign) if set.contains(sign) => self.at += sign.len_utf8(),
                _ => return Ok(false),
            },
            Step::Many {
                set,
                least,
                most,
                greedy,
            } => return self.many(set, (*least, *most), *greedy),
            Step::Assert(assertion) => return Ok(self.holds(assertion)),
            Step::Split(first, second) => {
                let (step, at) = (*second, self.at);
                self.push(Try::Branch { step, at })?;
                self.next = *first;
            }
            Step::Jump(target) => self.next = *target,
            Step::Save(place) => self.set(*place, self.at)?,
            Step::Return(place) => self.at = self.places[*place as usize],
            Step::Here(place) => return Ok(self.places[*place as usize] == self.at),
            Step::IfNothing(place, target) => {
                if self.places[*place as usize] == self.at {
                    self.next = *target;
                }
            }
            Step::Back { least, most } => return self.back(*least, *most),
            Step::Same {
                group,
                case_insensitive,
            } => return self.same(*group, *case_insensitive),
            Step::UnlessGroup(group, target) => {
                if self.places[2 * *group as usize + 1] == NOWHERE {
                    self.next = *target;
                }
            }
            Step::SearchStart => return Ok(self.at == self.search_start),
            Step::Fail | Step::Match => return Ok(false),
            Step::Mark(_) | Step::Cut(_) | Step::Unless(..) | Step::Contradict(_) => {
                return self.bound(step);
            }
            Step::Call(target) => return self.begin_call(*target),
            Step::End => self.end_call()?,
            Step::Control(control) => {
                let at = self.at;
                self.push(Try::Control(*control, at))?;
            }
        }
        Ok(true)
    }

    /// Instructions that keep or drop what could be tried yet.
    fn bound(&mut self, step: &Step) -> Result<bool> {
        match step {
            Step::Mark(place) => {
                // What sets the place back stays below the mark.
                self.set(*place, self.tries.len() + 1)?;
            }
            Step::Cut(place) => {
                let mark = self.places[*place as usize];
                self.visit(self.tries.len().saturating_sub(mark))?;
                let mut kept = mark;
                for at in mark..self.tries.len() {
                    let undoes = matches!(
                        self.tries[at],
                        Try::Restore { .. } | Try::Uncall | Try::Recall(_)
                    );
                    if undoes {
                        self.tries[kept] = self.tries[at];
                        kept += 1;
                    }
                }
                self.tries.truncate(kept);
            }
            Step::Unless(place, target) => {
                self.set(*place, self.tries.len() + 1)?;
                let (step, at) = (*target, self.at);
                self.push(Try::Branch { step, at })?;
            }
            Step::Contradict(place) => {
                let mark = self.places[*place as usize];
                self.visit(self.tries.len().saturating_sub(mark))?;
                while self.tries.len() > mark
                    && let Some(attempt) = self.tries.pop()
                {
                    self.undo(attempt);
                }
                return Ok(false);
            }
            _ => {}
        }
        Ok(true)
    }

    /// Sets back what a step has changed.
    fn undo(&mut self, attempt: Try) {
        match attempt {
            Try::Restore { place, value } => self.places[place as usize] = value,
            Try::Uncall => {
                self.call = self.calls.pop().map_or(NOWHERE, |call| call.outer);
                self.forget_call();
            }
            Try::Recall(call) => self.call = call,
            Try::Branch { .. }
            | Try::Fewer { .. }
            | Try::More { .. }
            | Try::Further { .. }
            | Try::Control(..) => {}
        }
    }

    /// Takes up the newest thing to try; the end of the attempt if there is none.
    fn go_back(&mut self) -> Result<Option<End>> {
        loop {
            self.visit(1)?;
            let Some(attempt) = self.tries.pop() else {
                return Ok(Some(End::Fail));
            };
            match attempt {
                Try::Branch { step, at } => (self.next, self.at) = (step, at),
                Try::Fewer { step, least_at, at } => {
                    let Some(sign) = self.sign_before(at).filter(|_| at > least_at) else {
                        continue;
                    };
                    let at = at - sign.len_utf8();
                    self.push(Try::Fewer { step, least_at, at })?;
                    (self.next, self.at) = (step, at);
                }
                Try::More { step, left, at } => {
                    if !self.one_more(step, left, at)? {
                        continue;
                    }
                }
                Try::Further { step, left, at } => {
                    let Some(sign) = self.sign_before(at).filter(|_| left > 0) else {
                        continue;
                    };
                    let (at, left) = (at - sign.len_utf8(), left - 1);
                    self.push(Try::Further { step, left, at })?;
                    (self.next, self.at) = (step, at);
                }
                Try::Control(control, at) => {
                    return Ok(Some(match control {
                        Control::Commit => End::Resume(None),
                        Control::Prune => End::Fail,
                        Control::Skip => End::Resume(Some(at)),
                    }));
                }
                undone @ (Try::Restore { .. } | Try::Uncall | Try::Recall(_)) => {
                    self.undo(undone);
                    continue;
                }
            }
            return Ok(None);
        }
    }

    /// One character again and again: as many as there are, or as few as are needed.
    fn many(&mut self, set: &Set, (least, most): (u32, u32), greedy: bool) -> Result<bool> {
        let step = self.next;
        let wanted = if greedy { most } else { least };
        let (mut count, mut least_at) = (0_u32, self.at);
        while count < wanted
            && let Some(sign) = self.sign_at(self.at)
            && set.contains(sign)
        {
            self.at += sign.len_utf8();
            count += 1;
            if count <= least {
                least_at = self.at;
            }
            if count.is_multiple_of(CHARS_PER_VISIT as u32) {
                self.visit(1)?;
            }
        }
        if count < least {
            return Ok(false);
        }
        let at = self.at;
        if greedy && at > least_at {
            self.push(Try::Fewer { step, least_at, at })?;
        }
        if !greedy && most > least {
            let left = if most == u32::MAX {
                u32::MAX
            } else {
                most - least
            };
            self.push(Try::More { step, left, at })?;
        }
        Ok(true)
    }

    /// One character more of a set that is to match as few as possible.
    fn one_more(&mut self, step: u32, left: u32, at: usize) -> Result<bool> {
        let Some(Step::Many { set, .. }) = self.program.steps.get(step as usize - 1) else {
            return Ok(false);
        };
        let Some(sign) = self.sign_at(at).filter(|sign| set.contains(*sign)) else {
            return Ok(false);
        };
        let at = at + sign.len_utf8();
        let left = match left {
            u32::MAX => u32::MAX,
            left => left - 1,
        };
        if left > 0 {
            self.push(Try::More { step, left, at })?;
        }
        (self.next, self.at) = (step, at);
        Ok(true)
    }

    fn back(&mut self, least: u32, most: u32) -> Result<bool> {
        self.visit(least as usize)?;
        for _ in 0..least {
            let Some(sign) = self.sign_before(self.at) else {
                return Ok(false);
            };
            self.at -= sign.len_utf8();
        }
        if most > least {
            let (step, at, left) = (self.next, self.at, most - least);
            self.push(Try::Further { step, left, at })?;
        }
        Ok(true)
    }

    /// The text that a group has matched, once more.
    fn same(&mut self, group: u32, case_insensitive: bool) -> Result<bool> {
        let group = 2 * group as usize;
        let (start, end) = (self.places[group], self.places[group + 1]);
        let Some(wanted) = self.text.get(start..end) else {
            return Ok(false);
        };
        self.visit(wanted.len() / CHARS_PER_VISIT)?;
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !case_insensitive {
            let found = rest.starts_with(wanted);
            self.at += if found { wanted.len() } else { 0 };
            return Ok(found);
        }
        let mut signs = rest.chars();
        for sign in wanted.chars() {
            let same = |other: &char| other.to_lowercase().eq(sign.to_lowercase());
            if signs.next().filter(same).is_none() {
                return Ok(false);
            }
        }
        self.at = self.text.len() - signs.as_str().len();
        Ok(true)
    }

    /// Bytes of a group that is being called.
    fn call_bytes(&self) -> usize {
        size_of::<Call>() + size_of_val(self.places.as_slice())
    }

    /// A call that was counted is no more.
    fn forget_call(&self) {
        let scratch = self.budget.scratch();
        self.budget
            .set_scratch(scratch.saturating_sub(self.call_bytes()));
    }

    /// Begins a call, unless it would call itself for ever without taking a character.
    fn begin_call(&mut self, target: u32) -> Result<bool> {
        let mut outer = self.call;
        let mut active = 0;
        while let Some(call) = self.calls.get(outer)
            && call.at == self.at
        {
            if call.step == target {
                return Ok(false);
            }
            active += 1;
            outer = call.outer;
        }
        self.visit(active)?;
        self.visit(self.places.len() / CHARS_PER_VISIT)?;
        self.budget.charge(self.call_bytes())?;
        let places = self.places.as_slice().into();
        self.calls.push(Call {
            outer: self.call,
            step: target,
            back: self.next,
            at: self.at,
            places,
        });
        self.call = self.calls.len() - 1;
        self.push(Try::Uncall)?;
        self.next = target;
        Ok(true)
    }

    /// Ends a call: all places are again what they were when it began.
    fn end_call(&mut self) -> Result<()> {
        let ended = self.call;
        let Some(call) = self.calls.get(ended) else {
            return Ok(());
        };
        (self.next, self.call) = (call.back, call.outer);
        self.push(Try::Recall(ended))?;
        self.visit(self.places.len() / CHARS_PER_VISIT)?;
        for place in 0..self.places.len() {
            let value = self.calls[ended].places[place];
            if self.places[place] != value {
                self.set(place as u32, value)?;
            }
        }
        Ok(())
    }

    fn holds(&self, assertion: &Assertion) -> bool {
        let (before, behind) = (self.sign_before(self.at), self.sign_at(self.at));
        let word = |sign: Option<char>| {
            sign.is_some_and(|sign| sign.is_ascii_alphanumeric() || sign == '_')
        };
        let (left, right) = (word(before), word(behind));
        match assertion {
            Assertion::StartText => before.is_none(),
            Assertion::EndText => behind.is_none(),
            Assertion::EndTextIgnoreTrailingNewlines { .. } => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                rest.is_empty() || rest == "\n"
            }
            Assertion::StartLine { crlf } | Assertion::StartLineOniguruma { crlf } => {
                let after_return = *crlf && before == Some('\r') && behind != Some('\n');
                before.is_none() || before == Some('\n') || after_return
            }
            Assertion::EndLine { crlf } => match *crlf {
                true => match behind {
                    Some('\n') => before != Some('\r'),
                    other => other.is_none() || other == Some('\r'),
                },
                false => behind.is_none() || behind == Some('\n'),
            },
            Assertion::LeftWordBoundary => !left && right,
            Assertion::LeftWordHalfBoundary => !left,
            Assertion::RightWordBoundary => left && !right,
            Assertion::RightWordHalfBoundary => !right,
            Assertion::WordBoundary => left != right,
            Assertion::NotWordBoundary => left == right,
        }
    }
}
