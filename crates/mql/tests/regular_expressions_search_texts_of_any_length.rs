//! A regular expression works on a text of any length, whatever engine it needs; one that would run for ever stops by the budget.

use lapsedb_mql::error::MAX_TIME_MS_EXPIRED;
use lapsedb_mql::pattern::Pattern;
use lapsedb_value::Budget;

/// Bytes of the texts: below and above every limit that there was, up to the largest document.
const LENGTHS: [usize; 5] = [1 << 10, 33 << 10, 300 << 10, 1 << 20, 16 << 20];

/// Patterns of each kind, and whether the text has them. It ends with `needle 42 42`.
const ORDINARY: &[(&str, &str, bool)] = &[
    ("needle", "", true),
    ("needles", "", false),
    ("NEEDLE", "i", true),
    ("^lorem", "", true),
    ("42$", "", true),
    (r"\bneedle\b", "", true),
    (r"[0-9]+ [0-9]+", "", true),
    ("(lorem|ipsum)x", "", false),
    ("(xy|z){9000}", "", false),
    ("needle(?= 42)", "", true),
    ("needle(?= 43)", "", false),
    ("needle(?! 43)", "", true),
    ("(?<=needle )42", "", true),
    ("(?<!lorem )needle", "", true),
    (r"(\d+) \1", "", true),
    (r"(?>needle) 42", "", true),
    (r"\b(needle)(?= 42)\b", "", true),
];

/// Patterns that take a long time over a long text, whatever engine runs them.
const HOSTILE: &[&str] = &[
    "[a-z ]*m[a-z ]{500}!",
    r"(\w+)\1!",
    r"(?=[\s\S]*!)l",
    r"^(?:[a-z]|[a-z ])*(?=!)",
];

fn text(bytes: usize) -> String {
    let end = "needle 42 42";
    format!("{}{end}", "lorem ipsum ".repeat((bytes - end.len()) / 12))
}

#[test]
fn ordinary_patterns_work_at_all_lengths() {
    for length in LENGTHS {
        let text = text(length);
        for (source, options, wanted) in ORDINARY {
            let budget = Budget::default();
            let pattern = Pattern::new(source, options, &budget).unwrap();
            let found = pattern.is_match(&text, &budget);
            assert_eq!(found, Ok(*wanted), "{source} in {length} bytes");
        }
    }
}

#[test]
fn matches_are_found_in_long_texts_with_their_groups() {
    let text = text(1 << 20);
    let end = text.len();
    for source in [r"(needle) (42)", r"(needle) (\d+)(?= \2)"] {
        let budget = Budget::default();
        let pattern = Pattern::new(source, "", &budget).unwrap();
        let found = pattern.find_at(&text, 0, &budget).unwrap().unwrap();
        assert_eq!(found.range, end - 12..end - 3, "{source}");
        let groups = [Some(end - 12..end - 6), Some(end - 5..end - 3)];
        assert_eq!(found.groups, groups, "{source}");
    }
}

#[test]
fn hostile_patterns_stop_by_the_budget() {
    let text = text(16 << 20);
    for source in HOSTILE {
        let steps_max = 200_000;
        let budget = Budget::default().with_steps_max(steps_max);
        let pattern = Pattern::new(source, "", &budget).unwrap();
        let stopped = pattern.is_match(&text, &budget).unwrap_err();
        assert_eq!(stopped.code, MAX_TIME_MS_EXPIRED, "{source}");
        assert!(budget.steps_done() < 2 * steps_max, "{source}");
    }
}
