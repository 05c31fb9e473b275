//! All ways through a pattern at once, byte by byte of the text.
//!
//! Each state of the pattern has at most one thread, so that time is bounded by states times bytes, and memory by states times
//! groups. Threads are in order of preference: the first that ends has found what backtracking would find.

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use super::VISITS_PER_STEP;
use crate::budget::{Budget, PROBE_STEPS, Stop};

/// No such place in the text.
const NOWHERE: usize = usize::MAX;

/// Bytes that a search takes which finds so many bounds of groups.
pub(super) fn bytes(nfa: &NFA, bounds_len: usize) -> usize {
    let lists = 2 * (2 * size_of::<u32>() + bounds_len.saturating_mul(size_of::<usize>()));
    nfa.states().len().saturating_mul(lists)
}

/// The bounds of the first match at or behind a byte: as many as are asked for.
pub(super) fn search(
    nfa: &NFA,
    text: &str,
    start: usize,
    bounds_len: usize,
    budget: &Budget,
) -> Result<Option<Vec<Option<usize>>>, Stop> {
    let before = budget.scratch();
    budget.charge(bytes(nfa, bounds_len))?;
    let mut search = Search {
        nfa,
        text,
        bounds: vec![NOWHERE; bounds_len],
        pending: Vec::new(),
        visits: 0,
    };
    let found = search.run(start, budget);
    budget.set_scratch(before);
    let found = found?.map(|bounds| {
        let place = |at: usize| (at != NOWHERE).then_some(at);
        bounds.into_iter().map(place).collect()
    });
    Ok(found)
}

/// Threads, at most one for each state, in order of preference.
struct Threads {
    order: Vec<StateID>,
    /// For each state its place in the order; only what is found there counts.
    places: Vec<u32>,
    bounds: Vec<usize>,
}

impl Threads {
    fn new(states: usize, bounds_len: usize) -> Threads {
        Threads {
            order: Vec::with_capacity(states),
            places: vec![0; states],
            bounds: vec![NOWHERE; states * bounds_len],
        }
    }

    /// Adds a state, unless it is there already.
    fn insert(&mut self, state: StateID) -> bool {
        let place = &mut self.places[state.as_usize()];
        if self.order.get(*place as usize) == Some(&state) {
            return false;
        }
        *place = self.order.len() as u32;
        self.order.push(state);
        true
    }

    fn bounds(&mut self, state: StateID, len: usize) -> &mut [usize] {
        &mut self.bounds[state.as_usize() * len..][..len]
    }
}

/// What is to be done next when the ways that take no byte are followed.
enum Pending {
    Visit(StateID),
    /// The other ways have the bound as it was.
    Restore(usize, usize),
}

struct Search<'a> {
    nfa: &'a NFA,
    text: &'a str,
    /// The bounds of the thread that is followed.
    bounds: Vec<usize>,
    pending: Vec<Pending>,
    visits: u32,
}

impl Search<'_> {
    fn run(&mut self, start: usize, budget: &Budget) -> Result<Option<Vec<usize>>, Stop> {
        let states = self.nfa.states().len();
        let mut now = Threads::new(states, self.bounds.len());
        let mut next = Threads::new(states, self.bounds.len());
        let mut found = None;
        for at in start..=self.text.len() {
            // A match begins where a character does. Once there is one, only what began before it may replace it.
            if found.is_none() && self.text.is_char_boundary(at) {
                self.bounds.fill(NOWHERE);
                self.follow(&mut now, self.nfa.start_anchored(), at);
            }
            if now.order.is_empty() && found.is_some() {
                break;
            }
            if let Some(bounds) = self.step(&mut now, &mut next, at) {
                found = Some(bounds);
                if self.bounds.is_empty() {
                    break;
                }
            }
            std::mem::swap(&mut now, &mut next);
            next.order.clear();
            if self.visits >= PROBE_STEPS * VISITS_PER_STEP {
                budget.steps(self.visits / VISITS_PER_STEP)?;
                self.visits = 0;
            }
        }
        budget.steps(self.visits / VISITS_PER_STEP)?;
        Ok(found)
    }

    /// Takes a byte in each thread; the bounds of the first thread that has reached the end, which ends all behind it.
    fn step(&mut self, now: &mut Threads, next: &mut Threads, at: usize) -> Option<Vec<usize>> {
        let text = self.text.as_bytes();
        for place in 0..now.order.len() {
            let state = now.order[place];
            self.visits = self.visits.saturating_add(1);
            let target = match self.nfa.state(state) {
                State::ByteRange { trans } => trans.matches(text, at).then_some(trans.next),
                State::Sparse(sparse) => sparse.matches(text, at),
                State::Dense(dense) => dense.matches(text, at),
                State::Match { .. } => {
                    let len = self.bounds.len();
                    return Some(now.bounds(state, len).to_vec());
                }
                State::Look { .. }
                | State::Union { .. }
                | State::BinaryUnion { .. }
                | State::Capture { .. }
                | State::Fail => None,
            };
            if let Some(target) = target {
                let len = self.bounds.len();
                self.bounds.copy_from_slice(now.bounds(state, len));
                self.follow(next, target, at + 1);
            }
        }
        None
    }

    /// Adds a state, and all that are reached from it without a byte.
    fn follow(&mut self, threads: &mut Threads, state: StateID, at: usize) {
        self.pending.push(Pending::Visit(state));
        while let Some(pending) = self.pending.pop() {
            match pending {
                Pending::Restore(bound, place) => self.bounds[bound] = place,
                Pending::Visit(state) if threads.insert(state) => self.visit(threads, state, at),
                Pending::Visit(_) => {}
            }
        }
    }

    fn visit(&mut self, threads: &mut Threads, state: StateID, at: usize) {
        self.visits = self.visits.saturating_add(1);
        match self.nfa.state(state) {
            State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. } => {
                let len = self.bounds.len();
                // Copying many bounds is work too.
                self.visits = self.visits.saturating_add(len as u32 / VISITS_PER_STEP);
                threads.bounds(state, len).copy_from_slice(&self.bounds);
            }
            State::Look { look, next } => {
                let text = self.text.as_bytes();
                if self.nfa.look_matcher().matches(*look, text, at) {
                    self.pending.push(Pending::Visit(*next));
                }
            }
            State::Union { alternates } => {
                let ways = alternates.iter().rev();
                self.pending.extend(ways.map(|way| Pending::Visit(*way)));
            }
            State::BinaryUnion { alt1, alt2 } => {
                self.pending.push(Pending::Visit(*alt2));
                self.pending.push(Pending::Visit(*alt1));
            }
            State::Capture { next, slot, .. } => {
                if let Some(bound) = self.bounds.get_mut(slot.as_usize()) {
                    let restore = Pending::Restore(slot.as_usize(), *bound);
                    *bound = at;
                    self.pending.push(restore);
                }
                self.pending.push(Pending::Visit(*next));
            }
            State::Fail => {}
        }
    }
}
