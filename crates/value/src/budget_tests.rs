use std::sync::atomic::AtomicBool;

use super::*;

fn text(len: usize) -> Value {
    Value::from("x".repeat(len))
}

#[test]
fn bytes_of_an_evaluation_are_counted_until_they_are_gone() {
    let budget = Budget::new(1000);
    assert!(budget.charge(600).is_ok());
    let before = budget.scratch();
    assert!(budget.charge(300).is_ok());
    assert_eq!(budget.charge(200), Err(Stop::Memory { bytes_max: 1000 }));
    assert_eq!(budget.bytes(), 900, "what was refused is not counted");
    budget.set_scratch(before);
    assert!(budget.charge(400).is_ok());
}

#[test]
fn a_made_value_counts_and_what_it_was_made_from_does_not() {
    let budget = Budget::new(1000);
    let before = budget.scratch();
    budget.charge(900).unwrap();
    budget.made(before, text(500)).unwrap();
    assert_eq!(budget.bytes(), 500);
    budget.made(before, Value::Int32(1)).unwrap();
    assert_eq!(budget.bytes(), 0, "a number owns nothing");
    assert!(budget.copy(&text(1001)).is_err());
}

#[test]
fn held_bytes_count_until_they_are_dropped() {
    let budget = Arc::new(Budget::new(1000));
    let held = Held::new(&budget);
    held.add(800).unwrap();
    budget.set_scratch(0);
    assert_eq!(budget.charge(300), Err(Stop::Memory { bytes_max: 1000 }));
    let other = Held::new(&budget);
    other.absorb(&held);
    drop(held);
    assert_eq!(budget.bytes(), 800);
    other.remove(300);
    assert_eq!((budget.bytes(), other.bytes()), (500, 500));
    drop(other);
    assert_eq!(budget.bytes(), 0);
}

#[test]
fn the_probe_is_asked_within_some_steps() {
    let budget = Budget::default();
    let stopped = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stopped);
    budget.set_probe(Arc::new(move || {
        asked.load(Ordering::Relaxed).then_some(Stop::Interrupted)
    }));
    let steps = |count: u32| (0..count).try_for_each(|_| budget.step());
    assert_eq!(steps(10 * PROBE_STEPS), Ok(()));
    stopped.store(true, Ordering::Relaxed);
    assert_eq!(steps(PROBE_STEPS), Err(Stop::Interrupted));
    assert_eq!(
        budget.work(PROBE_STEPS as usize * STEP_BYTES),
        Err(Stop::Interrupted),
        "work on bytes is steps too"
    );
}

#[test]
fn steps_have_a_limit() {
    let budget = Budget::default().with_steps_max(5000);
    let all = (0..1_000_000).try_for_each(|_| budget.step());
    assert_eq!(all, Err(Stop::Steps { steps_max: 5000 }));
    assert!(budget.steps_done() <= 5000 + 2 * u64::from(PROBE_STEPS));
}

#[test]
fn sorting_is_stable_and_stops() {
    let budget = Budget::default();
    let values: Vec<(u32, u32)> = (0..50_000).map(|at| (at * 7919 % 101, at)).collect();
    let mut wanted = values.clone();
    wanted.sort_by_key(|(key, _)| *key);
    let sorted = sort_by(values.clone(), &budget, |a, b| a.0.cmp(&b.0)).unwrap();
    assert_eq!(sorted, wanted);
    let short = Budget::default().with_steps_max(10_000);
    let stopped = sort_by(values, &short, |a, b| a.0.cmp(&b.0));
    assert_eq!(stopped, Err(Stop::Steps { steps_max: 10_000 }));
}

#[test]
fn members_replace_each_other_in_their_place() {
    let mut members = crate::Members::new();
    let name = |at: usize| crate::Str::from(format!("n{at}"));
    for round in 0..3 {
        for at in 0..100 {
            let old = members.insert(&name(at), Value::Int32(round));
            assert_eq!(old.is_some(), round > 0);
        }
    }
    assert_eq!(members.len(), 100);
    let again = crate::Members::from(members.to_object());
    let object = again.into_object();
    assert!(object.keys().enumerate().all(|(at, key)| *key == name(at)));
    assert!(object.values().all(|value| value.as_i64() == Some(2)));
}
