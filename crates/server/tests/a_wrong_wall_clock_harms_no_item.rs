//! The rows C1 to C10 and C13 of clock faults, on the real server with a wall clock that is set under it.

use crate::common::machine::{Machine, wait_until};
use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;
/// Seconds that no part of a test takes, on however busy a machine: an item with this ttl is live until the wall is set ahead.
const WHILE: i64 = 20 * MINUTE;

const DOCS: &str = "/dbs/d/colls/c/docs";
const PK: &str = r#"x-ms-documentdb-partitionkey: ["p"]"#;

/// A machine with a running server and a container in which only a ttl of an item's own counts.
fn room(mut machine: Machine) -> Machine {
    machine.start(&[]);
    let made = machine.cosmos("POST", "/dbs", &[], r#"{"id":"d"}"#);
    assert_eq!(made.status, 201, "{made:?}");
    let definition =
        r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":-1}"#;
    let made = machine.cosmos("POST", "/dbs/d/colls", &[], definition);
    assert_eq!(made.status, 201, "{made:?}");
    machine
}

/// Writes an item and gives its `_ts`.
fn put(machine: &Machine, id: &str, ttl: i64) -> i64 {
    let body = format!(r#"{{"id":"{id}","pk":"p","ttl":{ttl}}}"#);
    let upsert = "x-ms-documentdb-is-upsert: true";
    let reply = machine.cosmos("POST", DOCS, &[PK, upsert], &body);
    assert!([200, 201].contains(&reply.status), "{reply:?}");
    reply.member("_ts").parse().unwrap()
}

fn seen(machine: &Machine, id: &str) -> bool {
    let reply = machine.cosmos("GET", &format!("{DOCS}/{id}"), &[PK], "");
    match reply.status {
        200 => true,
        404 => false,
        _ => panic!("{reply:?}"),
    }
}

fn admin(machine: &Machine, method: &str, path: &str, body: &str) -> Value {
    let path = format!("/_lapsedb{path}");
    let reply = machine.server().admin(method, &path, body);
    assert_eq!(reply.status, 200, "{reply:?}");
    serde_json::from_str(&reply.body).unwrap()
}

/// Engine time in milliseconds, and whether the wall is suspect.
fn clock(machine: &Machine) -> (i64, bool) {
    let clock = admin(machine, "GET", "/clock", "");
    (
        clock["nowMillis"].as_i64().unwrap(),
        clock["suspect"].as_bool().unwrap(),
    )
}

/// Living items, dead ones on disk, and whether purging waits.
fn figures(machine: &Machine) -> (i64, i64, bool) {
    let report = admin(machine, "GET", "/dbs/d/colls/c/ttl", "");
    (
        report["live"]["items"].as_i64().unwrap(),
        report["expired"]["items"].as_i64().unwrap(),
        report["purge"]["paused"].as_bool().unwrap(),
    )
}

fn trust(machine: &Machine) {
    admin(machine, "POST", "/clock", r#"{"trust":true}"#);
}

fn gauge(machine: &Machine) -> bool {
    let metrics = machine.server().call("GET", "/metrics", &[], "");
    metrics.body.contains("\nlapsedb_clock_suspect 1")
}

#[test]
fn c1_a_small_step_ahead_is_followed() {
    for step in [30, 59] {
        let mut machine = room(Machine::new());
        put(&machine, "short", 20);
        put(&machine, "long", 1000);
        let before = clock(&machine).0;
        machine.set_wall(step);
        assert!(!seen(&machine, "short") && seen(&machine, "long"));
        let (now, suspect) = clock(&machine);
        assert!(now >= before + step * 1000 && !suspect, "{before} {now}");
        wait_until("what has expired is purged", || {
            figures(&machine) == (1, 0, false)
        });
    }
}

/// A wall that jumps ahead and is not believed until an operator says so.
fn c2(step: i64) {
    let mut machine = room(Machine::new());
    put(&machine, "short", WHILE);
    put(&machine, "long", 2 * WHILE);
    put(&machine, "never", -1);
    let before = clock(&machine).0;
    machine.set_wall(step);
    for id in ["short", "long", "never"] {
        assert!(seen(&machine, id), "{id} is hidden by a step of {step} s");
    }
    wait_until("the alarm", || clock(&machine).1 && gauge(&machine));
    wait_until("a line in the log", || {
        machine.logged("is not believed") == 1
    });
    assert_eq!(figures(&machine), (3, 0, true));
    let written = put(&machine, "later", WHILE);
    assert!(written * 1000 < before + WHILE * 1000, "{written}");
    assert!(clock(&machine).0 < before + WHILE * 1000);
    trust(&machine);
    let (now, suspect) = clock(&machine);
    assert!(now >= before + step * 1000 && !suspect);
    for id in ["short", "long", "later"] {
        assert!(!seen(&machine, id), "{id}");
    }
    assert!(seen(&machine, "never") && !gauge(&machine));
    wait_until("what has expired is purged", || {
        figures(&machine) == (1, 0, false)
    });
    assert_eq!(machine.logged("is not believed"), 1);
    assert_eq!(machine.logged("and is believed"), 1);
}

#[test]
fn c2_an_hour_ahead_hides_nothing_until_it_is_trusted() {
    c2(HOUR);
}

#[test]
fn c2_a_month_ahead_hides_nothing_until_it_is_trusted() {
    c2(30 * DAY);
}

#[test]
fn c2_ten_years_ahead_hide_nothing_until_they_are_trusted() {
    c2(10 * YEAR);
}

#[test]
fn c3_a_step_that_is_taken_back_has_no_effect() {
    let mut machine = room(Machine::new());
    let first = put(&machine, "a", WHILE);
    let before = clock(&machine).0;
    machine.set_wall(HOUR);
    wait_until("the alarm", || clock(&machine).1);
    assert!(seen(&machine, "a"));
    machine.set_wall(0);
    wait_until("the end of the alarm", || !clock(&machine).1);
    wait_until("a line in the log", || machine.logged("has come back") == 1);
    assert!(seen(&machine, "a"));
    assert_eq!(figures(&machine), (1, 0, false));
    assert!(clock(&machine).0 < before + WHILE * 1000);
    let again = put(&machine, "a", WHILE);
    assert!(first <= again && again < first + WHILE);
}

#[test]
fn c4_a_step_back_brings_nothing_back_and_time_goes_on() {
    for back in [1, HOUR, 10 * YEAR] {
        let mut machine = room(Machine::new());
        put(&machine, "dead", 20);
        machine.set_wall(30);
        assert!(!seen(&machine, "dead"));
        let written = put(&machine, "kept", 1000);
        let before = clock(&machine).0;
        machine.set_wall(30 - back);
        assert!(!seen(&machine, "dead") && seen(&machine, "kept"));
        let (now, suspect) = clock(&machine);
        assert!(now >= before && !suspect, "{back}: {before} {now}");
        assert!(put(&machine, "kept", 1000) >= written);
        put(&machine, "brief", 1);
        wait_until("time goes on by the monotonic clock", || {
            !seen(&machine, "brief")
        });
        assert!(!seen(&machine, "dead") && clock(&machine).0 > now);
    }
}

#[test]
fn c5_a_step_back_across_a_restart_or_a_kill_brings_nothing_back() {
    for kill in [false, true] {
        for back in [1, HOUR] {
            let mut machine = room(Machine::new());
            put(&machine, "dead", 20);
            let written = put(&machine, "kept", 1000);
            machine.set_wall(30);
            // No write comes after this: what a reader has seen is enough.
            assert!(!seen(&machine, "dead"));
            let before = clock(&machine).0;
            if kill {
                machine.kill();
            } else {
                machine.stop();
            }
            machine.set_wall(30 - back);
            machine.start(&[]);
            assert!(!seen(&machine, "dead") && seen(&machine, "kept"));
            assert!(clock(&machine).0 >= before, "{back} {kill}");
            assert!(put(&machine, "kept", 1000) >= written);
        }
    }
}

#[test]
fn c6_after_a_long_absence_reads_are_exact_and_purging_waits() {
    for (away, alive) in [(25 * HOUR, 26 * HOUR), (30 * DAY, 31 * DAY)] {
        let mut machine = room(Machine::new());
        put(&machine, "dead", away - MINUTE);
        put(&machine, "kept", alive);
        machine.stop();
        machine.set_wall(away);
        machine.start(&[]);
        assert!(!seen(&machine, "dead") && seen(&machine, "kept"));
        assert_eq!(figures(&machine), (1, 1, true));
        assert!(!clock(&machine).1);
        let purged = admin(&machine, "POST", "/dbs/d/colls/c/ttl/purge", "");
        assert_eq!(purged["purged"]["items"], 0);
        // The hold survives a restart.
        machine.kill();
        machine.start(&[]);
        assert_eq!(figures(&machine), (1, 1, true));
        trust(&machine);
        wait_until("purging after the hold", || {
            figures(&machine) == (1, 0, false)
        });
    }
}

#[test]
fn c7_a_start_far_from_the_last_time_is_refused() {
    let mut machine = room(Machine::new());
    put(&machine, "a", 20);
    put(&machine, "never", -1);
    machine.stop();
    for wall in [401 * DAY, 10 * YEAR, -10 * YEAR, -100 * YEAR] {
        machine.set_wall(wall);
        let output = machine.refused(&[]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.lines().count() == 1 && error.contains("--accept-clock"),
            "{error}"
        );
    }
    machine.set_wall(399 * DAY);
    machine.start(&[]);
    machine.stop();
    machine.set_wall(900 * DAY);
    machine.start(&["--accept-clock"]);
    assert!(!seen(&machine, "a") && seen(&machine, "never"));
    machine.stop();
    // A wall before the program's own date is no reason for time to go back.
    machine.set_wall(-10 * YEAR);
    machine.start(&["--accept-clock"]);
    assert!(!seen(&machine, "a") && seen(&machine, "never"));
}

#[test]
fn c8_a_synchronised_clock_is_followed_at_once() {
    let mut machine = room(Machine::synchronised());
    put(&machine, "short", 20);
    put(&machine, "long", 2 * HOUR);
    machine.set_wall(HOUR);
    assert!(!seen(&machine, "short") && seen(&machine, "long"));
    wait_until("purging goes on", || figures(&machine) == (1, 0, false));
    assert_eq!(machine.logged("is not believed"), 0);
}

#[test]
fn c9_a_leap_second_is_a_second_more_or_less() {
    // Repeated, as most machines do it, or left out.
    for step in [-1, 1] {
        let mut machine = room(Machine::new());
        let written = put(&machine, "brief", 3);
        put(&machine, "long", WHILE);
        let before = clock(&machine).0;
        machine.set_wall(step);
        assert!(seen(&machine, "long"));
        let (now, suspect) = clock(&machine);
        assert!(now >= before && !suspect, "{step}: {before} {now}");
        assert!(put(&machine, "other", WHILE) >= written);
        wait_until("an end", || !seen(&machine, "brief"));
        assert!(clock(&machine).0 >= (written + 3) * 1000, "not before it");
        assert!(seen(&machine, "long"));
        assert_eq!(machine.logged("is not believed"), 0);
    }
}

#[test]
fn c13_rewriting_the_disk_drops_nothing_that_only_a_suspect_clock_calls_dead() {
    let mut machine = room(Machine::new());
    // Something is purged before the fault, so that there is a reason to rewrite the disk during it.
    put(&machine, "first", 1);
    wait_until("the first is purged", || {
        !seen(&machine, "first") && figures(&machine) == (0, 0, false)
    });
    let ids = ["short", "long", "never"];
    for (id, ttl) in ids.into_iter().zip([WHILE, HOUR, -1]) {
        put(&machine, id, ttl);
    }
    machine.set_wall(30 * DAY);
    wait_until("the alarm", || clock(&machine).1);
    let answer = admin(&machine, "POST", "/dbs/d/colls/c/ttl/purge", "");
    assert_eq!(answer["purged"]["items"], 0);
    wait_until("the disk is rewritten", || {
        machine.logged("has left the disk") == 1
    });
    assert_eq!(figures(&machine), (3, 0, true));
    machine.set_wall(0);
    wait_until("the end of the alarm", || !clock(&machine).1);
    assert!(ids.iter().all(|id| seen(&machine, id)));
    machine.stop();
    machine.start(&[]);
    assert!(ids.iter().all(|id| seen(&machine, id)));
    let counted = admin(&machine, "POST", "/dbs/d/colls/c/ttl/recount", "");
    assert_eq!(counted["bucketsWrong"], 0, "{counted}");
}

#[test]
fn c10_time_zones_and_summer_time_have_no_effect() {
    let mut machine = Machine::new();
    // Summer time begins in Europe on 2027-03-28 at 01:00:00 UTC.
    let seconds = |text: &str| -> i64 {
        let date = std::process::Command::new("date")
            .args(["-u", "-d", text, "+%s"])
            .output()
            .unwrap();
        String::from_utf8(date.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    };
    let change = seconds("2027-03-28T01:00:00Z");
    machine.set_wall(change - 2 - seconds("now"));
    machine.set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    let mut machine = room(machine);
    let written = put(&machine, "a", 2 * WHILE);
    assert!((written - change).abs() < WHILE, "{written}");
    wait_until("summer time begins", || {
        clock(&machine).0 >= (change + 1) * 1000
    });
    assert!(seen(&machine, "a") && !clock(&machine).1);
    let life = "/dbs/d/colls/c/docs/a/ttl?partitionKey=%5B%22p%22%5D";
    let expires = admin(&machine, "GET", life, "")["expiresAt"].clone();
    for zone in ["XXX+12", "XXX-14", "America/New_York"] {
        machine.stop();
        machine.set_zone(zone);
        machine.start(&[]);
        assert!(seen(&machine, "a"));
        assert_eq!(admin(&machine, "GET", life, "")["expiresAt"], expires);
        let again = put(&machine, "b", 1000);
        assert!(
            written <= again && again < written + WHILE,
            "{zone}: {again}"
        );
    }
}
