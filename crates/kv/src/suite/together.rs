//! Many committers at once.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::model::{Model, contents};
use super::{Bench, all, get, wait};
use crate::*;

const WRITERS: usize = 8;

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// Runs a closure on several threads, each given its number.
fn threads<T: Send>(run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let run = &run;
        let all: Vec<_> = (0..WRITERS)
            .map(|number| scope.spawn(move || run(number)))
            .collect();
        all.into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

pub fn one_creator_wins(bench: fn() -> Bench) {
    let bench = bench();
    for round in 0..50u8 {
        let won = threads(|writer| {
            let mut batch = Batch::new();
            batch.check(Space::Items, [round], Expect::Absent).put(
                Space::Items,
                vec![round],
                vec![writer as u8],
            );
            // Who has seen that it is absent may say when; that helps nobody who is too late.
            let snapshot = bench.snapshot();
            if round % 2 == 0 && get(&snapshot, Space::Items, &[round]).is_none() {
                batch.absent_at(snapshot.stamp());
            }
            bench.commit(batch).map(|_| writer as u8)
        });
        let winners: Vec<u8> = won
            .iter()
            .filter_map(|result| result.as_ref().ok().copied())
            .collect();
        assert_eq!(bench.get(Space::Items, &[round]), Some(winners.clone()));
        assert_eq!(winners.len(), 1);
        assert!(
            won.iter()
                .all(|result| matches!(result, Ok(_) | Err(CommitError::Conflict)))
        );
    }
}

pub fn sharing_a_check_is_no_conflict(bench: fn() -> Bench) {
    let bench = bench();
    let mut settings = Batch::new();
    settings.put(Space::Meta, &b"settings"[..], &b"v1"[..]);
    bench.commit(settings).unwrap();
    threads(|writer| {
        for round in 0..50u8 {
            let mut batch = Batch::new();
            batch.check(
                Space::Meta,
                &b"settings"[..],
                Expect::StartsWith(b"v1".to_vec()),
            );
            batch
                .put(Space::Items, vec![writer as u8, round], &b""[..])
                .add(&b"all"[..], 1, 10);
            bench.commit(batch).unwrap();
        }
    });
    let all = 50 * WRITERS as i64;
    assert_eq!(
        bench.get(Space::Tally, b"all"),
        Some(tally::encode(all, 10 * all).to_vec())
    );
}

pub fn snapshots_never_see_half_a_batch(bench: fn() -> Bench) {
    let bench = bench();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = Stamp(0);
            while !done.load(Ordering::SeqCst) {
                let snapshot = bench.snapshot();
                assert!(snapshot.stamp() >= last);
                last = snapshot.stamp();
                let one = get(&snapshot, Space::Items, b"one").map(|value| number(&value));
                let two = get(&snapshot, Space::Log, b"two").map(|value| number(&value));
                assert_eq!(one, two);
                assert_eq!(one.unwrap_or(0), snapshot.stamp().0);
            }
        });
        threads(|_| {
            for _ in 0..100 {
                let mut stamp = Template::default();
                stamp.fill(Fill::Stamp);
                let mut batch = Batch::new();
                batch.put(Space::Items, &b"one"[..], stamp.clone()).put(
                    Space::Log,
                    &b"two"[..],
                    stamp,
                );
                let committed = bench.commit(batch).unwrap();
                // What was acknowledged is seen by whoever asks next.
                assert!(bench.snapshot().stamp() >= committed.stamp);
            }
        });
        done.store(true, Ordering::SeqCst);
        reader.join().unwrap();
    });
}

/// Random batches from many threads: replaying the admitted ones by their stamps gives the same
/// store, and every check held at its place.
pub fn the_order_of_stamps_explains_everything(bench: fn() -> Bench) {
    let bench = bench();
    let mut runner = TestRunner::deterministic();
    let strategy = super::random::batch();
    let work: Vec<Vec<Batch>> = (0..WRITERS)
        .map(|_| {
            (0..80)
                .map(|_| strategy.new_tree(&mut runner).unwrap().current())
                .collect()
        })
        .collect();
    let results = threads(|writer| {
        // Several at a time from each thread, so that groups form.
        let mut results = Vec::new();
        for chunk in work[writer].chunks(8) {
            bench.time.0.fetch_add(7, Ordering::SeqCst);
            let commits = chunk.iter().map(|batch| bench.engine.commit(batch.clone()));
            let answers = wait(all(commits, async {}));
            results.extend(answers.into_iter().zip(chunk.iter().cloned()));
        }
        results
    });
    let mut admitted = Vec::new();
    for (result, batch) in results.into_iter().flatten() {
        match result {
            Ok(committed) if !batch.ops.is_empty() => admitted.push((committed, batch)),
            Ok(_) | Err(CommitError::Conflict | CommitError::TooLate) => {}
            Err(other) => panic!("{other}"),
        }
    }
    admitted.sort_by_key(|(committed, _)| committed.stamp);
    let mut model = Model::default();
    let (mut now, mut last) = (0, 0);
    for (committed, batch) in &admitted {
        assert_eq!(committed.stamp.0, last + 1);
        last = committed.stamp.0 + super::random::further(batch);
        assert!(committed.now >= now);
        now = committed.now;
        assert_eq!(model.admits(batch, now), Ok(()));
        model.apply(batch, committed.stamp.0, now);
    }
    assert!(admitted.len() > 100);
    assert_eq!(contents(&bench.snapshot()), model);
}
