//! The engine finds what the `fancy-regex` crate finds.

use lapsedb_value::budget::Stop;

use super::super::translate::translate;
use super::visits::COMPILE_VISITS_MAX;
use super::*;

/// Every kind of part that is supported, alone and within others.
const PATTERNS: &[&str] = &[
    r"a(?=b)",
    r"a(?!b)",
    r"(?<=a)b",
    r"(?<!a)b",
    r"(?<=ab|c)b",
    r"(?<!ab|c)b+",
    r"(?<=(a))b\1",
    r"(a|b)\1",
    r"(?i)(a|b)\1",
    r"(?:(a)|b)*\1",
    r"(a+)b\1",
    r"(a*?)b\1c?",
    r"(\w{2,3}?)\1",
    r"(?>a+)ab",
    r"(?>a|ab)b?c",
    r"a++b",
    r"(?:a|b)*+c",
    r"(?=(a+))a*b\1",
    r"(?=(a+?))(\1)",
    r"(?:a(?=b)|b(?=a))+",
    r"(?!aa)(?:ab?){1,2}(?<!b)",
    r"(?:(?=a)a|b)*?c",
    r"((?:a|(?=b))*)b\1",
    r"^(?=.*b)(?=.*a).{2,4}$",
    r"(?m)^(?!b).*$",
    r"(?s)a.*(?=b)",
    r"a\Kb(?=c?)",
    r"(?<x>a)(?<y>b)?\k<x>",
    r"(?i)(?<=A)B",
    r"(a)?(?(1)b|c)",
    r"(?:(a)|c)(?(1)b|c)(?=a|$)",
    r"(?((?=a))ab|c)",
    r"\b(a)\1?\b",
    r"\B(?=b)b",
    r"[^a](?=[a-c])",
    r"(é|ö)\1(?!a)",
    r"(?<=é)b",
    r"(?:(?=a)a){0}b(?!c)",
    r"((a)|b){2}\2",
    r"(?:(a|b)(?!\1))+",
    r"(?x) a (?= b )",
    r"()\1(?=b)",
    r"(?:)(?=a)a|(?<=c)",
    r"(?i)(?=a)[\S\s][^C][[:alpha:]]?[\P{Lu}\n]?\p{Ll}*",
];

/// All texts of up to so many of these characters.
fn texts(chars_max: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..chars_max {
        let end = all.len();
        for at in from..end {
            for sign in ['a', 'b', 'c', 'é', '\n'] {
                let longer = format!("{}{sign}", all[at]);
                all.push(longer);
            }
        }
        from = end;
    }
    all
}

fn compiled(pattern: &str) -> Backtracking {
    Backtracking::new(pattern, &Budget::default())
        .unwrap_or_else(|why| panic!("{pattern}: {why:?}"))
}

/// Patterns that copy a large part so many times so many times, and have no instruction for any of the copies.
fn copies_of_nothing(times: usize) -> Vec<String> {
    let large = vec!["ab"; 6_000].join("|");
    let groups = vec!["(b)"; 6_000].join("|");
    [
        format!("(?:{large}){{0}}"),
        format!("(?:{groups}){{0}}"),
        format!("(?(DEFINE){large})"),
        format!("(?(DEFINE){groups})"),
        format!("(?:(?:{large})*){{0}}"),
    ]
    .iter()
    .map(|part| format!("(?=a)(?:(?:{part}){{{times}}}){{{times}}}"))
    .collect()
}

#[test]
fn every_part_means_what_it_means_elsewhere() {
    let texts = texts(4);
    for pattern in PATTERNS {
        let own = compiled(pattern);
        let other = fancy_regex::Regex::new(pattern).unwrap();
        // Here words are of ASCII, as in MongoDB.
        let words = pattern.contains(r"\b") || pattern.contains(r"\B");
        for text in texts.iter().filter(|text| !words || text.is_ascii()) {
            let budget = Budget::default();
            for start in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let found = own.find_at(text, start, &budget).unwrap();
                let wanted = other.captures_from_pos(text, start).unwrap();
                let wanted = wanted.and_then(|captures| {
                    let bounds = captures.iter().flat_map(|group| {
                        let range = group.map(|group| group.range());
                        [
                            range.as_ref().map(|range| range.start),
                            range.map(|range| range.end),
                        ]
                    });
                    Found::from_bounds(&bounds.collect::<Vec<_>>())
                });
                assert_eq!(found, wanted, "{pattern} in {text:?} from {start}");
            }
            assert_eq!(budget.bytes(), 0, "{pattern}: what a search took is free");
        }
    }
}

#[test]
fn calls_and_verbs_do_what_pcre_documents() {
    for (pattern, text, wanted) in [
        (r"\((?:[^()]|(?R))*\)", "x(a(b)(c(d)))y)", Some(1..13)),
        (r"^(\((?:[^()]|(?1))*\))$", "(a(b)", None),
        (r"(a|b)(?1)c", "xabc", Some(1..4)),
        (r"(?(DEFINE)(?<n>\d+))(?&n)-\g<n>", "a12-345", Some(1..7)),
        (r"(?:a(*FAIL)|ab)", "ab", Some(0..2)),
        (r"a(*ACCEPT)b", "ac", Some(0..1)),
        (r"a+(*COMMIT)c|b", "aab", None),
        (r"a+(*PRUNE)c|b", "aab", Some(2..3)),
        (r"a+(*SKIP)c|a|b", "aab", Some(2..3)),
    ] {
        let own = compiled(&translate(pattern, false, false));
        let found = own.find_at(text, 0, &Budget::default()).unwrap();
        assert_eq!(found.map(|found| found.range), wanted, "{pattern}");
    }
}

#[test]
fn what_cannot_be_run_is_refused() {
    for pattern in [
        r"(?<=a*)b",
        r"(?<=(a)\1)b",
        r"\2(a)",
        r"(?:(a{1000}){1000}){1000}(?=b)",
        r"(?:(?:(?(DEFINE)a)){1000000000})(?=b)",
        r"(a){3,2}(?=b)",
    ] {
        assert!(
            Backtracking::new(pattern, &Budget::default()).is_err(),
            "{pattern}"
        );
    }
}

#[test]
fn compiling_looks_once_at_what_it_copies() {
    for pattern in copies_of_nothing(200) {
        let budget = Budget::default();
        let own = Backtracking::new(&pattern, &budget);
        assert!(own.is_ok(), "{}: {:?}", &pattern[..40], own.err());
        // Some times for each copy, and some times for each part of the tree.
        let steps = budget.steps_done();
        assert!(steps < 300_000, "{}: {steps}", &pattern[..40]);
    }
}

#[test]
fn compiling_has_a_limit_of_its_own() {
    let mut patterns = copies_of_nothing(2_000);
    patterns.extend(copies_of_nothing(1_000_000_000));
    patterns.push(format!("(?=a)(?:{}){{1000}}", "(?:ab){0}".repeat(3_000)));
    // Case is ignored in all of Unicode, again and again.
    patterns.push(format!("(?i)(?=a)[{}]", r"\P{Any}".repeat(4_000)));
    patterns.push(format!(
        "(?i)(?=a)[{}]",
        r"\p{Cn}a-\x{10FFFF}".repeat(1_500)
    ));
    let ranges = (1..1_000).map(|at| format!(r"[^\x{{{at:x}}}-\x{{10FFFF}}]"));
    patterns.push(format!("(?i)(?=a){}", ranges.collect::<String>()));
    for pattern in patterns {
        let budget = Budget::default();
        let refused = Backtracking::new(&pattern, &budget).err();
        assert!(
            matches!(refused, Some(Refused::Invalid(_))),
            "{}: {refused:?}",
            &pattern[..40]
        );
        let steps = budget.steps_done();
        assert!(
            steps <= COMPILE_VISITS_MAX as u64,
            "{}: {steps}",
            &pattern[..40]
        );
    }
}

#[test]
fn compiling_stops_by_the_budget() {
    let steps_max = 5_000;
    let stop = Stop::Steps { steps_max };
    let mut patterns = copies_of_nothing(200);
    patterns.extend(copies_of_nothing(2_000));
    // The tree alone is too much.
    patterns.push(format!("(?=a){}", "b".repeat(20_000)));
    for pattern in &patterns {
        let budget = Budget::default().with_steps_max(steps_max);
        let refused = Backtracking::new(pattern, &budget).err();
        assert_eq!(refused, Some(Refused::Stop(stop)), "{}", &pattern[..40]);
        assert!(budget.steps_done() < 2 * steps_max, "{}", &pattern[..40]);
    }
    // A request is told the one as it is told of its other limits, and the other as of every pattern that is too large.
    let pattern = &copies_of_nothing(2_000)[0];
    let budget = Budget::default().with_steps_max(steps_max);
    let stopped = crate::pattern::Pattern::new(pattern, "", &budget);
    assert_eq!(stopped.err(), Some(stop.into()));
    let refused = crate::pattern::Pattern::new(pattern, "", &Budget::default());
    assert_eq!(refused.err().map(|error| error.code), Some(51091));
}

#[test]
fn hostile_patterns_stop_by_the_budget() {
    for (pattern, text) in [
        (r"^(?:a|a)*(?=b)", "a".repeat(64)),
        (r"^(a|aa)+(?=b)", "a".repeat(64)),
        (r"(\w+)\s\1", "a".repeat(1 << 20)),
        (r"(?=[\s\S]*b)a\b", "a".repeat(1 << 20)),
        (r"(?:a(?R)?)*(?=b)", "a".repeat(64)),
        (r"((?1)?a)*(?=b)", "a".repeat(64)),
    ] {
        let own = compiled(&translate(pattern, false, false));
        let steps_max = 1_000_000;
        let budget = Budget::default().with_steps_max(steps_max);
        let stopped = own.is_match(&text, &budget);
        assert_eq!(
            stopped,
            Err(Unanswered::Stop(Stop::Steps { steps_max })),
            "{pattern}"
        );
        assert!(budget.steps_done() < 2 * steps_max, "{pattern}");
    }
    // Each iteration keeps what can be tried yet.
    let own = compiled(r"(?:a|b(?=c))*(?=d)");
    let budget = Budget::new(1 << 20);
    let stopped = own.is_match(&"a".repeat(1 << 20), &budget);
    assert_eq!(
        stopped,
        Err(Unanswered::Stop(Stop::Memory { bytes_max: 1 << 20 }))
    );
}

#[test]
fn an_attempt_has_the_match_limit_of_pcre() {
    let text = format!("{}!", "a".repeat(1_000));
    for pattern in [r"(?<=a)(a+)+$", r"^(?:a|a)*(?=b)", r"(?=(?:a|aa)+$)a"] {
        let own = compiled(pattern);
        let found = own.is_match(&text, &Budget::default());
        assert_eq!(found, Err(Unanswered::MatchLimit), "{pattern}");
    }
    // Many attempts that are short each are no attempt that is long.
    let own = compiled(r"(a+)\1{3}!");
    let budget = Budget::default();
    assert_eq!(own.is_match(&"a".repeat(6_000), &budget), Ok(false));
    assert!(budget.steps_done() > 2_000_000, "{}", budget.steps_done());
}
