//! An automaton that is built while it runs, over a text piece by piece.

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Builder, Cache, Config, DFA};
use regex_automata::nfa::thompson::NFA;

use crate::budget::{Budget, PROBE_STEPS, Stop};

/// How often the automaton may be thrown away because it has grown too large, unless each of its states served long enough.
const CLEARS_MIN: usize = 3;

/// Bytes of text that each state must have served, or following threads is faster.
const BYTES_PER_STATE_MIN: usize = 10;

/// The automaton of a pattern, of so many bytes at most; nothing if it does not fit.
pub(super) fn build(nfa: &NFA, bytes_max: usize) -> Option<DFA> {
    let config = Config::new()
        .cache_capacity(bytes_max)
        .unicode_word_boundary(true)
        .minimum_cache_clear_count(Some(CLEARS_MIN))
        .minimum_bytes_per_state(Some(BYTES_PER_STATE_MIN));
    Builder::new()
        .configure(config)
        .build_from_nfa(nfa.clone())
        .ok()
}

/// Whether the text contains the pattern; nothing if the automaton grows too much or meets a byte that it cannot judge.
pub(super) fn is_match(
    automaton: &DFA,
    cache: &mut Cache,
    text: &[u8],
    piece_bytes: usize,
    budget: &Budget,
) -> Result<Option<bool>, Stop> {
    let input = Input::new(text).earliest(true);
    let Ok(mut state) = automaton.start_state_forward(cache, &input) else {
        return Ok(None);
    };
    cache.search_start(0);
    let mut at = 0;
    for piece in text.chunks(piece_bytes) {
        budget.steps(PROBE_STEPS)?;
        for byte in piece {
            let Ok(next) = automaton.next_state(cache, state, *byte) else {
                return Ok(None);
            };
            state = next;
            if state.is_tagged() {
                if state.is_match() {
                    return Ok(Some(true));
                }
                if state.is_dead() {
                    return Ok(Some(false));
                }
                if state.is_quit() {
                    return Ok(None);
                }
            }
        }
        at += piece.len();
        cache.search_update(at);
    }
    let end = automaton.next_eoi_state(cache, state);
    Ok(end.ok().map(|state| state.is_match()))
}
