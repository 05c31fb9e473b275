//! Random work, one batch after the other, against the model.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::model::{Model, contents};
use super::{Bench, wait};
use crate::*;

/// An engine is opened for each, which takes RocksDB some ten milliseconds.
const CASES: u32 = 40;

/// Few keys, some the prefix of others, so that batches meet each other.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(vec![0u8, 1, 127, 255]), 1..4),
        prop::collection::vec(prop::sample::select(vec![1u8, 2]), 1..3),
    ]
}

fn space() -> impl Strategy<Value = Space> {
    prop::sample::select(vec![Space::Items, Space::Log, Space::Meta])
}

fn fill() -> impl Strategy<Value = Fill> {
    prop_oneof![
        Just(Fill::Stamp),
        Just(Fill::Millis),
        (0..ORDINALS_MAX).prop_map(Fill::Ordinal),
        (0u64..10_000, 1u64..4_000).prop_map(|(plus, unit)| Fill::Seconds { plus, unit }),
    ]
}

fn template(bytes: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Template> {
    (
        bytes,
        prop::option::weighted(0.3, fill()),
        prop::option::weighted(0.2, fill()),
    )
        .prop_map(|(bytes, one, two)| {
            let mut template = Template::from(bytes);
            for fill in [one, two].into_iter().flatten() {
                template.fill(fill).push(b"-");
            }
            template
        })
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(0u8..4, 0..4),
        prop::collection::vec(any::<u8>(), 500..600)
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => (space(), template(key()), template(value())).prop_map(|(space, key, value)| Op::Put { space, key, value }),
        2 => (space(), key()).prop_map(|(space, key)| Op::Delete { space, key }),
        3 => (template(key()), -2i64..3, -2i64..3)
            .prop_map(|(key, items, bytes)| Op::Add { space: Space::Tally, key, items, bytes }),
        1 => key().prop_map(|key| Op::Delete { space: Space::Tally, key }),
        1 => (prop_oneof![space(), Just(Space::Tally)], key(), key())
            .prop_map(|(space, from, to)| Op::DeleteRange { space, from, to }),
    ]
}

fn expect() -> impl Strategy<Value = Expect> {
    prop_oneof![
        Just(Expect::Absent),
        prop::collection::vec(0u8..3, 0..2).prop_map(Expect::StartsWith)
    ]
}

pub fn batch() -> impl Strategy<Value = Batch> {
    let checked = prop_oneof![4 => space(), 1 => Just(Space::Tally)];
    let check =
        (checked, key(), expect()).prop_map(|(space, key, expect)| Check { space, key, expect });
    let checks =
        prop_oneof![2 => Just(vec![]).boxed(), 1 => prop::collection::vec(check, 1..3).boxed()];
    let not_after = prop::option::weighted(0.2, 1_000u64..200_000);
    (checks, not_after, prop::collection::vec(op(), 0..8)).prop_map(|(checks, not_after, ops)| {
        Batch {
            checks,
            not_after,
            holds_readers: false,
            ops,
            absent_at: None,
            token: None,
        }
    })
}

fn scan() -> impl Strategy<Value = Scan> {
    let space = prop_oneof![4 => space(), 1 => Just(Space::Tally)];
    let to = prop_oneof![key(), Just(vec![])];
    let from = prop_oneof![key(), Just(vec![])];
    (
        space,
        from,
        to,
        any::<bool>(),
        0usize..6,
        prop_oneof![0usize..700, Just(usize::MAX)],
    )
        .prop_map(|(space, from, to, reverse, rows_max, bytes_max)| Scan {
            space,
            from,
            to,
            reverse,
            rows_max,
            bytes_max,
        })
}

#[derive(Clone, Debug)]
enum Step {
    Commit(Batch),
    Scan(Scan),
    Gets(Space, Vec<Vec<u8>>),
    Hold,
    Release,
    Wait(Millis),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => batch().prop_map(Step::Commit),
        4 => scan().prop_map(Step::Scan),
        2 => (prop_oneof![space(), Just(Space::Tally)], prop::collection::vec(key(), 0..5)).prop_map(|(s, k)| Step::Gets(s, k)),
        1 => Just(Step::Hold),
        1 => Just(Step::Release),
        1 => (0u64..20_000).prop_map(Step::Wait),
    ]
}

pub fn agrees_with_the_model(bench: fn() -> Bench) {
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    });
    let steps = prop::collection::vec(step(), 1..60);
    runner
        .run(&steps, |steps| {
            run(&bench(), steps);
            Ok(())
        })
        .unwrap();
}

/// Stamps that a batch with many ordinals takes behind its own.
pub fn further(batch: &Batch) -> u64 {
    let templates = batch.ops.iter().flat_map(|op| match op {
        Op::Put { key, value, .. } => vec![key, value],
        Op::Add { key, .. } => vec![key],
        Op::Delete { .. } | Op::DeleteRange { .. } => Vec::new(),
    });
    let ordinals = templates
        .flat_map(|template| &template.fills)
        .map(|(_, fill)| match fill {
            Fill::Ordinal(index) => u64::from(*index) / 1024,
            Fill::Stamp | Fill::Seconds { .. } | Fill::Millis => 0,
        });
    ordinals.max().unwrap_or(0)
}

fn run(bench: &Bench, steps: Vec<Step>) {
    let mut model = Model::default();
    let mut stamp = 0;
    let mut held: Vec<(AnySnapshot, Model, u64)> = Vec::new();
    for step in steps {
        match step {
            Step::Commit(mut batch) => {
                let now = bench.time.now();
                let absent = batch.checks.iter().all(|check| {
                    let found = model.rows.contains_key(&(check.space, check.key.clone()));
                    check.space != Space::Items || check.expect != Expect::Absent || !found
                });
                batch.absent_at = absent.then_some(Stamp(stamp));
                let expected = model.admits(&batch, now);
                let result = bench.commit(batch.clone());
                let own = stamp + u64::from(!batch.ops.is_empty());
                if expected.is_ok() {
                    model.apply(&batch, own, now);
                    stamp = own + further(&batch);
                }
                assert_eq!(
                    result,
                    expected.map(|()| Committed {
                        stamp: Stamp(own),
                        now
                    })
                );
            }
            Step::Scan(scan) => {
                let expected = model.scan(&scan);
                let found = wait(bench.snapshot().scan(scan.clone())).unwrap();
                assert_eq!(found, expected);
                if !scan.reverse {
                    assert_visit(&bench.snapshot(), scan, expected);
                }
            }
            Step::Gets(space, keys) => {
                let found = wait(bench.snapshot().multi_get(space, &keys)).unwrap();
                let found: Vec<_> = found
                    .iter()
                    .map(|value| value.as_ref().map(|value| value.as_ref().to_vec()))
                    .collect();
                let expected: Vec<_> = keys
                    .iter()
                    .map(|key| model.rows.get(&(space, key.clone())).cloned())
                    .collect();
                assert_eq!(found, expected);
            }
            Step::Hold => held.push((bench.snapshot(), model.clone(), stamp)),
            Step::Release => {
                if !held.is_empty() {
                    held.remove(0);
                }
            }
            Step::Wait(by) => bench.time.set(bench.time.now() + by),
        }
    }
    held.push((bench.snapshot(), model, stamp));
    for (snapshot, model, stamp) in held {
        assert_eq!(snapshot.stamp(), Stamp(stamp));
        assert_eq!(contents(&snapshot), model);
    }
}

/// Rows are shown in place as a page has them, and the next page begins behind them.
fn assert_visit(snapshot: &AnySnapshot, mut scan: Scan, expected: Page) {
    let mut seen = Vec::new();
    let next = wait(snapshot.visit(scan.clone(), |key, value| {
        seen.push((key.to_vec().into(), value.to_vec().into()));
    }))
    .unwrap();
    assert_eq!(seen, expected.rows);
    assert_eq!(next.is_some(), expected.more);
    if let Some(next) = next {
        scan.from = seen
            .last()
            .map_or_else(Vec::new, |(key, _)| [key, &[0][..]].concat());
        let behind = wait(snapshot.scan(scan.clone())).unwrap();
        scan.from = next;
        assert_eq!(wait(snapshot.scan(scan)).unwrap(), behind);
    }
}
