use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::*;

/// Patterns of every kind of part, with options.
const PATTERNS: &[&str] = &[
    "ab",
    "a|ab|abc",
    "(a|ab)(c|bc)?",
    "(a+)(b*)",
    "(a*?)b",
    "^a",
    "c$",
    "(?m)^b|c$",
    r"\bb",
    r"\Bb",
    r"(?-u:\B)",
    r"(?-u:\b)b",
    "",
    "()|a",
    "(?:a|())*b",
    "[^a]",
    "é+",
    r"\w+",
    ".*b",
    "(?s).*",
    "(?i)É",
    "x",
];

fn texts() -> Vec<String> {
    let mut all = vec![String::new()];
    for at in 0..155 {
        for sign in ['a', 'b', 'c', 'é', '\n'] {
            let longer = format!("{}{sign}", all[at]);
            all.push(longer);
        }
    }
    all
}

fn compiled(pattern: &str) -> Pattern {
    Pattern::new(pattern, PatternOptions::default(), &Budget::default()).unwrap()
}

#[test]
fn all_engines_find_the_same() {
    let budget = Budget::default();
    for source in PATTERNS {
        let pattern = compiled(source);
        let nfa = &pattern.inner.nfa;
        let bounds_len = nfa.group_info().slot_len();
        for text in texts() {
            let found = pattern.is_match(&text, &budget).unwrap();
            let followed = threads::search(nfa, &text, 0, 0, &budget).unwrap();
            assert_eq!(followed.is_some(), found, "{source} in {text:?}");
            if let Some(pieces) = pattern.is_match_in_pieces(&text, &budget).unwrap() {
                assert_eq!(pieces, found, "{source} in {text:?} in pieces");
            }
            for start in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let found = pattern.find_at(&text, start, &budget).unwrap();
                let bounds = threads::search(nfa, &text, start, bounds_len, &budget).unwrap();
                let followed = bounds.and_then(|bounds| Found::from_bounds(&bounds));
                assert_eq!(followed, found, "{source} in {text:?} from {start}");
            }
        }
        assert_eq!(budget.scratch(), 0, "{source}: what a search took is free");
    }
}

#[test]
fn a_search_looks_at_the_budget_in_proportion_to_its_work() {
    // Patterns of few and of many states, some of which the automaton gives up on.
    for source in ["b", r"\w+b", "[ab]*a[ab]{200}b", r"(\w{20}|\d{40}){3}b"] {
        let pattern = compiled(source);
        let text = "a0".repeat(1 << 20);
        let asked = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&asked);
        let limit = 40;
        let budget = Budget::default();
        budget.set_probe(Arc::new(move || {
            let times = count.fetch_add(1, Ordering::Relaxed) + 1;
            (times >= limit).then_some(Stop::Interrupted)
        }));
        let answer = pattern.is_match(&text, &budget);
        let work = text.len() as u64 * pattern.states() as u64;
        let looks = asked.load(Ordering::Relaxed);
        assert!(
            looks >= (work / WORK_MAX as u64).min(limit),
            "{source}: {looks} looks for {work}"
        );
        assert!(answer == Ok(false) || looks >= limit, "{source}");
    }
}

#[test]
fn ordinary_patterns_are_small_and_all_are_bounded() {
    for (source, bytes_max) in [
        ("abc", 16 << 10),
        ("^[a-z]+@[a-z]+[.]com$", 32 << 10),
        (r"(\d+)-(\d+)", 256 << 10),
        (r"\w+\s\w+", 1 << 20),
        (r"(?:\w{10}){5}", 24 << 20),
    ] {
        let budget = Budget::default();
        let pattern = Pattern::new(source, PatternOptions::default(), &budget).unwrap();
        for text in ["abc@abc.com", "123-45", &"ab ".repeat(100)] {
            pattern.is_match(text, &budget).unwrap();
            pattern.find_at(text, 0, &budget).unwrap();
        }
        assert_eq!(pattern.bytes(), budget.kept(), "{source}");
        assert!(pattern.bytes() < bytes_max, "{source}: {}", pattern.bytes());
    }
    // Groups of this one would take gigabytes.
    let budget = Budget::default();
    let many = Pattern::new(
        &"()".repeat(PATTERN_BYTES_MAX / 2),
        PatternOptions::default(),
        &budget,
    );
    let found = many.map(|many| many.find_at("aaa", 0, &budget));
    assert!(matches!(
        found,
        Ok(Err(Stop::Memory { .. })) | Err(PatternError::TooLarge(_))
    ));
}

#[test]
fn what_is_too_large_or_no_pattern_is_refused() {
    let budget = Budget::default();
    let refused = |source: &str| Pattern::new(source, PatternOptions::default(), &budget).err();
    let large = refused(r"(?:\w{1000}){1000}");
    assert!(matches!(large, Some(PatternError::TooLarge(_))));
    for source in ["(", "a(?=b)", r"(a)\1", "["] {
        let error = refused(source);
        assert!(matches!(error, Some(PatternError::Syntax(_))), "{source}");
    }
}

#[test]
fn classes_whose_case_is_ignored_have_a_limit() {
    let ignoring = PatternOptions {
        case_insensitive: true,
        ..PatternOptions::default()
    };
    for hostile in [
        r"\P{Any}".repeat(4_000),
        format!("[{}]", r"\P{Any}".repeat(4_000)),
        r"[\x{0}-\x{10FFFF}]".repeat(1_500),
        format!("[{}]", r"[^a]".repeat(6_000)),
    ] {
        let refused = |source: &str, options| {
            let compiled = Pattern::new(source, options, &Budget::default());
            matches!(compiled, Err(PatternError::TooLarge(_)))
        };
        assert!(refused(&hostile, ignoring));
        assert!(refused(
            &format!("(?i){hostile}"),
            PatternOptions::default()
        ));
        assert!(refused(
            &format!("(?i:{hostile})"),
            PatternOptions::default()
        ));
    }
    for ordinary in [r"\w+@\w+\.\w{2,}", r"^[^a-z]+\d*$", r"\p{L}+\P{L}"] {
        assert!(Pattern::new(ordinary, ignoring, &Budget::default()).is_ok());
    }
}
