//! Calls nobody may make, and the few places that may, each with its reason.

use super::Complaint;
use super::source::Source;

/// What is banned, and what to do instead.
const BANNED: &[(&str, &str)] = &[
    ("SystemTime::now", "ask the clock of lapsedb-record"),
    ("Instant::now", "ask the clock of lapsedb-record"),
    ("Timestamp::now", "ask the clock of lapsedb-record"),
    ("Zoned::now", "ask the clock of lapsedb-record"),
    ("todo!", "finish it, or answer an error"),
    ("unimplemented!", "finish it, or answer an error"),
    ("dbg!", "use tracing"),
];

/// Paths that may make a banned call. Tests may look at the time too, but nowhere may work be left unfinished.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "crates/record/src/clock",
        "SystemTime::now",
        "it is the clock",
    ),
    ("crates/record/src/clock", "Instant::now", "it is the clock"),
    (
        "crates/server/src/",
        "Instant::now",
        "how long a request and a shutdown take is no matter of TTL",
    ),
    (
        "crates/testkit/src/",
        "Instant::now",
        "it gives up on a server that does not start",
    ),
    (
        "crates/testkit/src/",
        "SystemTime::now",
        "it plays a client, which signs requests by its own clock",
    ),
    (
        "crates/testkit/src/",
        "Timestamp::now",
        "it plays a client, which signs requests by its own clock",
    ),
    ("bench/src/", "Instant::now", "it measures time"),
    (
        "tools/rocksdb/src/",
        "Instant::now",
        "it says how long a build has taken",
    ),
    (
        "crates/kv/examples/",
        "Instant::now",
        "it measures the engine's speed",
    ),
    (
        "crates/sql/examples/",
        "Instant::now",
        "it measures the evaluator's speed",
    ),
    (
        "clients/",
        "Instant::now",
        "it plays a client, which has a clock of its own",
    ),
    (
        "bench/src/",
        "SystemTime::now",
        "it plays a client, which signs requests by its own clock",
    ),
    (
        "bench/src/",
        "Timestamp::now",
        "it plays a client, which signs requests by its own clock",
    ),
];

/// Checks one file; `is_test` says that all of it is a test.
pub fn check(path: &str, source: &Source, is_test: bool, complaints: &mut Vec<Complaint>) {
    for &(call, instead) in BANNED {
        // A macro's bang is not part of its name, so the name is looked for and then the bang.
        let (word, bang) = call
            .strip_suffix('!')
            .map_or((call, false), |word| (word, true));
        for at in source.find_word(word) {
            let is_call = !bang || source.code[at + word.len()..].starts_with('!');
            let may_ask_time = !bang && (is_test || source.in_tests(at));
            if is_call && !may_ask_time && !is_allowed(path, call) {
                complaints.push(Complaint::new(
                    path,
                    source.line_of(at),
                    format!("`{call}` is banned: {instead}"),
                ));
            }
        }
    }
}

fn is_allowed(path: &str, call: &str) -> bool {
    ALLOWED
        .iter()
        .any(|(place, allowed, _)| path.starts_with(place) && call == *allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> usize {
        let mut found = Vec::new();
        check(path, &Source::read(text), false, &mut found);
        found.len()
    }

    #[test]
    fn each_banned_call_is_found() {
        for (call, _) in BANNED {
            assert_eq!(
                complaints(
                    "crates/store/src/a.rs",
                    &format!("fn f() {{ std::x::{call}(); }}")
                ),
                1,
                "{call}"
            );
        }
    }

    #[test]
    fn text_about_a_banned_call_is_no_call() {
        assert_eq!(
            complaints(
                "crates/store/src/a.rs",
                "// SystemTime::now is banned\nlet a = \"todo!()\"; let todo = 1;"
            ),
            0
        );
    }

    #[test]
    fn only_the_named_places_may() {
        let text = "fn f() { Instant::now(); }";
        assert_eq!(complaints("crates/record/src/clock.rs", text), 0);
        assert_eq!(complaints("crates/record/src/ttl.rs", text), 1);
        assert_eq!(complaints("crates/server/src/telemetry.rs", text), 0);
        assert_eq!(
            complaints(
                "crates/server/src/telemetry.rs",
                "fn f() { SystemTime::now(); }"
            ),
            1
        );
    }

    #[test]
    fn tests_may_ask_the_time_but_not_stay_unfinished() {
        let text = "#[cfg(test)]\nmod tests { fn f() { Instant::now(); } }";
        assert_eq!(complaints("crates/store/src/a.rs", text), 0);
        let text = "#[cfg(test)]\nmod tests { fn f() { todo!(); } }";
        assert_eq!(complaints("crates/store/src/a.rs", text), 1);
    }
}
