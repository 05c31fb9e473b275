//! One behaviour each.

use super::{Bench, FLOOR_KEY, all, get, wait};
use crate::*;

fn put(key: &[u8], value: &[u8]) -> Batch {
    let mut batch = Batch::new();
    batch.put(Space::Items, key, value);
    batch
}

fn keys(snapshot: &AnySnapshot, space: Space) -> Vec<Vec<u8>> {
    let page = wait(snapshot.scan(Scan::prefix(space, b""))).unwrap();
    page.rows.into_iter().map(|(key, _)| key.to_vec()).collect()
}

pub fn commits_are_seen_in_order(bench: fn() -> Bench) {
    let bench = bench();
    assert_eq!(bench.snapshot().stamp(), Stamp(0));
    for number in 1..=20u8 {
        bench.time.set(1_000 + u64::from(number));
        let committed = bench.commit(put(b"k", &[number])).unwrap();
        assert_eq!(
            committed,
            Committed {
                stamp: Stamp(u64::from(number)),
                now: 1_000 + u64::from(number)
            }
        );
        let snapshot = bench.snapshot();
        assert_eq!(
            (snapshot.stamp(), snapshot.now()),
            (committed.stamp, committed.now)
        );
        assert_eq!(get(&snapshot, Space::Items, b"k"), Some(vec![number]));
    }
}

pub fn fills_are_written(bench: fn() -> Bench) {
    let bench = bench();
    bench.time.set(3_605_999);
    bench.commit(put(b"first", b"")).unwrap();
    let mut key = Template::from(&b"k"[..]);
    key.fill(Fill::Stamp).push(b"/").fill(Fill::Ordinal(5));
    let mut value = Template::with_capacity(24);
    value
        .fill(Fill::Seconds { plus: 0, unit: 1 })
        .fill(Fill::Seconds { plus: 55, unit: 60 });
    value.fill(Fill::Seconds {
        plus: u64::MAX,
        unit: 0,
    });
    let mut sum = Template::from(&b"sum"[..]);
    sum.fill(Fill::Seconds {
        plus: 0,
        unit: 3600,
    });
    let mut batch = Batch::new();
    batch.put(Space::Log, key, value).add(sum, 1, 2);
    let committed = bench.commit(batch).unwrap();
    let key = [
        b"k",
        &2u64.to_be_bytes()[..],
        b"/",
        &(2u64 << 10 | 5).to_be_bytes(),
    ]
    .concat();
    let value = [3605u64, 61, u64::MAX].map(u64::to_be_bytes).concat();
    assert_eq!(bench.get(Space::Log, &key), Some(value));
    assert_eq!(ordinal(committed.stamp, 5), 2 << 10 | 5);
    let sum = [&b"sum"[..], &1u64.to_be_bytes()].concat();
    assert_eq!(
        bench.get(Space::Tally, &sum),
        Some(tally::encode(1, 2).to_vec())
    );
}

pub fn failed_checks_leave_no_trace(bench: fn() -> Bench) {
    let bench = bench();
    bench.commit(put(b"there", b"abc")).unwrap();
    let cases = [
        (&b"there"[..], Expect::Absent, false),
        (b"not there", Expect::Absent, true),
        (b"there", Expect::StartsWith(b"".to_vec()), true),
        (b"there", Expect::StartsWith(b"ab".to_vec()), true),
        (b"there", Expect::StartsWith(b"abc".to_vec()), true),
        (b"there", Expect::StartsWith(b"abcd".to_vec()), false),
        (b"there", Expect::StartsWith(b"b".to_vec()), false),
        (b"not there", Expect::StartsWith(b"".to_vec()), false),
    ];
    for (at, (key, expect, holds)) in cases.into_iter().enumerate() {
        let before = bench.snapshot().stamp();
        let written = format!("written {at}");
        let mut batch = put(written.as_bytes(), b"x");
        batch
            .check(Space::Items, key, expect.clone())
            .check(Space::Log, key, Expect::Absent);
        let result = bench.commit(batch);
        let seen = bench.get(Space::Items, written.as_bytes()).is_some();
        assert_eq!((result.is_ok(), seen), (holds, holds), "{expect:?}");
        if !holds {
            assert_eq!(result, Err(CommitError::Conflict));
            assert_eq!(bench.snapshot().stamp(), before);
        }
    }
}

pub fn what_was_absent_is_asked_again_once_others_have_committed(bench: fn() -> Bench) {
    let bench = bench();
    let seen = bench.commit(put(b"other", b"")).unwrap().stamp;
    let create = |key: &[u8]| {
        let mut batch = put(key, b"own");
        batch
            .check(Space::Items, key, Expect::Absent)
            .absent_at(seen);
        batch
    };
    let stamp = bench.commit(create(b"first")).unwrap().stamp;
    assert_eq!(bench.commit(create(b"first")), Err(CommitError::Conflict));
    assert!(bench.commit(create(b"second")).is_ok());
    // Only of absent records does it say anything.
    let newest = Stamp(stamp.0 + 1);
    for (space, expect) in [
        (Space::Items, Expect::StartsWith(b"x".to_vec())),
        (Space::Meta, Expect::StartsWith(b"x".to_vec())),
    ] {
        let mut batch = put(b"third", b"own");
        batch.check(space, b"first", expect).absent_at(newest);
        assert_eq!(bench.commit(batch), Err(CommitError::Conflict));
    }
    let mut meta = Batch::new();
    meta.put(Space::Meta, &b"m"[..], &b""[..]);
    let newest = bench.commit(meta).unwrap().stamp;
    let mut batch = put(b"third", b"own");
    batch
        .check(Space::Meta, b"m", Expect::Absent)
        .absent_at(newest);
    assert_eq!(bench.commit(batch), Err(CommitError::Conflict));
}

pub fn checks_alone_take_no_stamp(bench: fn() -> Bench) {
    let bench = bench();
    let first = bench.commit(put(b"k", b"v")).unwrap();
    let mut batch = Batch::new();
    batch.check(Space::Items, &b"k"[..], Expect::StartsWith(b"v".to_vec()));
    assert_eq!(bench.commit(batch.clone()).unwrap().stamp, first.stamp);
    batch.check(Space::Items, &b"k"[..], Expect::Absent);
    assert_eq!(bench.commit(batch), Err(CommitError::Conflict));
    assert_eq!(bench.snapshot().stamp(), first.stamp);
}

pub fn late_batches_are_refused(bench: fn() -> Bench) {
    let bench = bench();
    for (limit, in_time) in [(999, false), (1_000, false), (1_001, true)] {
        let mut batch = put(&[limit as u8], b"");
        batch.not_after(5_000).not_after(limit).not_after(4_000);
        let result = bench.commit(batch);
        assert_eq!(result.is_ok(), in_time, "{limit}");
        assert_eq!(bench.get(Space::Items, &[limit as u8]).is_some(), in_time);
        assert!(in_time || result == Err(CommitError::TooLate));
    }
}

pub fn time_never_steps_back(bench: fn() -> Bench) {
    let bench = bench();
    bench.time.set(9_000);
    bench.commit(put(b"k", b"1")).unwrap();
    bench.time.set(2_000);
    assert_eq!(bench.snapshot().now(), 9_000);
    assert_eq!(bench.commit(put(b"k", b"2")).unwrap().now, 9_000);
    let mut late = put(b"k", b"3");
    late.not_after(9_000);
    assert_eq!(bench.commit(late), Err(CommitError::TooLate));
    bench.time.set(9_001);
    assert_eq!(bench.snapshot().now(), 9_001);
}

pub fn the_clock_leaves_its_floor(bench: fn() -> Bench) {
    let bench = bench();
    assert_eq!(bench.get(Space::Meta, FLOOR_KEY), None);
    bench.time.set(7_777);
    bench.commit(put(b"k", b"")).unwrap();
    assert_eq!(
        bench.get(Space::Meta, FLOOR_KEY),
        Some(7_777u64.to_be_bytes().to_vec())
    );
}

pub fn sums_add_up_and_vanish(bench: fn() -> Bench) {
    let bench = bench();
    let add = |items, bytes| {
        let mut batch = Batch::new();
        batch
            .add(&b"s"[..], items, bytes)
            .add(&b"s"[..], items, bytes);
        bench.commit(batch).unwrap();
        bench
            .get(Space::Tally, b"s")
            .map(|value| tally::decode(&value).unwrap())
    };
    assert_eq!(add(1, 100), Some((2, 200)));
    assert_eq!(add(-3, 5), Some((-4, 210)));
    let held = bench.snapshot();
    assert_eq!(add(2, -105), None);
    assert_eq!(keys(&bench.snapshot(), Space::Tally), Vec::<Vec<u8>>::new());
    let mut absent = Batch::new();
    absent.check(Space::Tally, &b"s"[..], Expect::Absent);
    bench.commit(absent).unwrap();
    assert_eq!(
        get(&held, Space::Tally, b"s"),
        Some(tally::encode(-4, 210).to_vec())
    );
    assert_eq!(add(1, 0), Some((2, 0)));
    // A counter that every commit touches stays exact.
    for round in 1..=300 {
        assert_eq!(add(1, round), Some((2 + 2 * round, round * (round + 1))));
    }
}

pub fn ops_apply_in_order(bench: fn() -> Bench) {
    let bench = bench();
    let mut batch = Batch::new();
    for key in [b"a", b"b", b"c", b"d"] {
        batch.put(Space::Items, &key[..], &b"old"[..]);
    }
    batch
        .delete(Space::Items, &b"d"[..])
        .put(Space::Items, &b"d"[..], &b"again"[..]);
    batch.delete_range(Space::Items, &b"a"[..], &b"c"[..]).put(
        Space::Items,
        &b"b"[..],
        &b"new"[..],
    );
    // Not greater than its start, or ending nowhere: nothing to delete.
    batch
        .delete_range(Space::Items, &b"d"[..], &b"d"[..])
        .delete_range(Space::Items, &b"d"[..], &b"a"[..]);
    batch.delete_range(Space::Items, &b"a"[..], &b""[..]);
    batch
        .add(&b"s"[..], 1, 1)
        .delete(Space::Tally, &b"s"[..])
        .add(&b"s"[..], 5, 5);
    batch
        .put(Space::Tally, &b"t"[..], &tally::encode(7, 7)[..])
        .add(&b"t"[..], 1, 1);
    bench.commit(batch).unwrap();
    let snapshot = bench.snapshot();
    assert_eq!(keys(&snapshot, Space::Items), [b"b", b"c", b"d"]);
    assert_eq!(get(&snapshot, Space::Items, b"b"), Some(b"new".to_vec()));
    assert_eq!(get(&snapshot, Space::Items, b"d"), Some(b"again".to_vec()));
    assert_eq!(
        get(&snapshot, Space::Tally, b"s"),
        Some(tally::encode(5, 5).to_vec())
    );
    assert_eq!(
        get(&snapshot, Space::Tally, b"t"),
        Some(tally::encode(8, 8).to_vec())
    );
}

pub fn pages_keep_their_limits(bench: fn() -> Bench) {
    let bench = bench();
    let mut batch = Batch::new();
    for number in 0..10u8 {
        batch.put(Space::Index, vec![b'k', number], vec![number; 8]);
    }
    batch.put(Space::Index, vec![b'l'], vec![]);
    bench.commit(batch).unwrap();
    let snapshot = bench.snapshot();
    for reverse in [false, true] {
        for (rows_max, bytes_max, per_page) in [
            (3, usize::MAX, 3),
            (usize::MAX, 25, 3),
            (usize::MAX, 20, 2),
            (0, 0, 1),
            (10, 1000, 10),
            (5, 1000, 5),
        ] {
            let mut scan = Scan {
                reverse,
                rows_max,
                bytes_max,
                ..Scan::prefix(Space::Index, b"k")
            };
            let mut seen = Vec::new();
            loop {
                let page = wait(snapshot.scan(scan.clone())).unwrap();
                assert!(page.rows.len() <= per_page);
                seen.extend(
                    page.rows
                        .iter()
                        .map(|(key, value)| (key[1], value.to_vec())),
                );
                assert_eq!(page.more, seen.len() < 10, "no page is promised in vain");
                if !page.more {
                    break;
                }
                assert_eq!(page.rows.len(), per_page);
                scan.resume_after(&page.rows[page.rows.len() - 1].0);
            }
            let mut all: Vec<_> = (0..10u8).map(|number| (number, vec![number; 8])).collect();
            if reverse {
                all.reverse();
            }
            assert_eq!(seen, all);
        }
    }
}

pub fn spaces_are_apart(bench: fn() -> Bench) {
    let bench = bench();
    for space in Space::ALL {
        let mut batch = Batch::new();
        batch.put(space, &b"k"[..], &tally::encode(space as i64 + 1, 0)[..]);
        bench.commit(batch).unwrap();
    }
    for space in Space::ALL {
        assert_eq!(
            bench.get(space, b"k"),
            Some(tally::encode(space as i64 + 1, 0).to_vec())
        );
        let mut batch = Batch::new();
        batch.delete_range(space, &b"a"[..], &b"z"[..]);
        bench.commit(batch).unwrap();
        assert_eq!(bench.get(space, b"k"), None);
    }
}

pub fn snapshots_stand_still(bench: fn() -> Bench) {
    let bench = bench();
    let mut held = Vec::new();
    for number in 0..30u8 {
        bench.commit(put(&[number % 7], &[number])).unwrap();
        if number % 5 == 0 {
            let mut batch = Batch::new();
            batch
                .delete_range(Space::Items, [2], [4])
                .delete(Space::Items, [6]);
            bench.commit(batch).unwrap();
        }
        let snapshot = bench.snapshot();
        let page = wait(snapshot.scan(Scan::prefix(Space::Items, b""))).unwrap();
        held.push((snapshot, page));
        if number % 4 == 0 {
            held.remove(0);
        }
    }
    for (snapshot, page) in held {
        assert_eq!(
            wait(snapshot.clone().scan(Scan::prefix(Space::Items, b""))).unwrap(),
            page
        );
        for (key, value) in page.rows {
            assert_eq!(get(&snapshot, Space::Items, &key), Some(value.to_vec()));
        }
    }
}

pub fn broken_batches_are_refused(bench: fn() -> Bench) {
    let bench = bench();
    let caps = bench.engine.caps();
    let filled = |fill| {
        let mut template = Template::default();
        template.fill(fill);
        template
    };
    let outside = Template {
        bytes: vec![0; 9],
        fills: vec![(2, Fill::Stamp)],
    };
    let beyond = Template {
        bytes: vec![],
        fills: vec![(u32::MAX, Fill::Stamp)],
    };
    let mut broken: Vec<Batch> = vec![Batch::new(); 8];
    broken[0].put(Space::Items, outside.clone(), &b""[..]);
    broken[1].put(Space::Items, &b"k"[..], outside);
    broken[2].put(Space::Items, &b"k"[..], beyond);
    broken[3].put(Space::Items, filled(Fill::Ordinal(ORDINALS_MAX)), &b""[..]);
    broken[4].ops.push(Op::Add {
        space: Space::Items,
        key: Template::default(),
        items: 1,
        bytes: 1,
    });
    broken[5].put(Space::Tally, &b"k"[..], &b"not a sum"[..]);
    broken[6].put(Space::Items, vec![0; caps.key_bytes_max + 1], &b""[..]);
    broken[7].put(Space::Items, &b"k"[..], vec![0; caps.value_bytes_max + 1]);
    for (at, mut batch) in broken.into_iter().enumerate() {
        batch.put(Space::Log, &b"side"[..], &b""[..]);
        let error = bench.commit(batch).unwrap_err();
        let kind = matches!(
            (at, &error),
            (0..6, CommitError::Failed(EngineError::Invalid(_)))
                | (6.., CommitError::Failed(EngineError::TooLarge(_)))
        );
        assert!(kind, "{at}: {error}");
    }
    assert_eq!(bench.get(Space::Log, b"side"), None);
    let longest = vec![7; caps.key_bytes_max];
    bench.commit(put(&longest, b"at the limit")).unwrap();
    assert_eq!(
        bench.get(Space::Items, &longest),
        Some(b"at the limit".to_vec())
    );
}

pub fn dropped_ranges_are_gone(bench: fn() -> Bench) {
    let bench = bench();
    for key in [b"a", b"b", b"c"] {
        bench.commit(put(key, b"v")).unwrap();
    }
    let held = bench.snapshot();
    wait(bench.engine.drop_range(Space::Items, b"a", b"c")).unwrap();
    wait(bench.engine.drop_range(Space::Items, b"c", b"a")).unwrap();
    assert_eq!(keys(&bench.snapshot(), Space::Items), [b"c"]);
    assert_eq!(keys(&held, Space::Items), [b"a", b"b", b"c"]);
}

pub fn a_commit_survives_its_caller(bench: fn() -> Bench) {
    let bench = bench();
    wait(async {
        for number in 0..20u8 {
            let mut commit = Box::pin(bench.engine.commit(put(&[number], b"v")));
            std::future::poll_fn(|cx| std::task::Poll::Ready(commit.as_mut().poll(cx).is_ready()))
                .await;
            drop(commit);
            // Never polled: never sent.
            drop(bench.engine.commit(put(&[100 + number], b"v")));
        }
    });
    bench.commit(put(b"last", b"v")).unwrap();
    let mut expected: Vec<Vec<u8>> = (0..20u8).map(|number| vec![number]).collect();
    expected.push(b"last".to_vec());
    assert_eq!(keys(&bench.snapshot(), Space::Items), expected);
}

pub fn closing_finishes_and_refuses(bench: fn() -> Bench) {
    let bench = bench();
    let commits = (0..50u8).map(|number| bench.engine.commit(put(&[number], b"v")));
    let close = async { bench.engine.close().await.unwrap() };
    let answers = wait(all(commits, close));
    assert!(answers.iter().all(|answer| answer.is_ok()));
    wait(bench.engine.close()).unwrap();
    assert_eq!(
        bench.commit(put(b"k", b"v")),
        Err(CommitError::Failed(EngineError::Closed))
    );
    assert_eq!(
        wait(bench.engine.snapshot()).err(),
        Some(EngineError::Closed)
    );
}
