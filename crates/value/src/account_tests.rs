use std::cell::Cell;

use super::*;
use crate::Budget;
use crate::budget::Held;

const MIB: usize = 1024 * 1024;

fn request(account: &Arc<Account>) -> Arc<Budget> {
    Arc::new(Budget::new(usize::MAX).drawing_from(account))
}

fn holding(account: &Arc<Account>, bytes: usize) -> (Arc<Budget>, Held) {
    let budget = request(account);
    let held = Held::new(&budget);
    held.add(bytes).unwrap();
    (budget, held)
}

const STOP: Stop = Stop::Account {
    bytes_max: 16 * MIB,
};

/// The time as the tests of one thread have it.
fn now() -> Instant {
    NOW.get()
}

thread_local! {
    static NOW: Cell<Instant> = Cell::new(beginning());
}

#[allow(
    clippy::disallowed_methods,
    reason = "there is no other way to an instant"
)]
fn beginning() -> Instant {
    Instant::now()
}

fn account() -> Arc<Account> {
    Arc::new(Account::new(16 * MIB, now))
}

#[test]
fn what_is_drawn_is_given_back() {
    let account = account();
    let (budget, held) = holding(&account, 5 * MIB);
    assert!((5 * MIB..7 * MIB).contains(&account.bytes()));
    held.remove(4 * MIB);
    assert!((MIB..4 * MIB).contains(&account.bytes()));
    budget.give_back();
    assert_eq!(account.bytes(), MIB);
    drop((budget, held));
    assert_eq!(account.bytes(), 0);
    assert_eq!(account.stopped(), 0);
}

#[test]
fn few_bytes_are_drawn_once() {
    let account = account();
    let budget = request(&account);
    assert_eq!(account.bytes(), 0);
    for _ in 0..PORTION_BYTES_MIN {
        budget.charge(1).unwrap();
    }
    assert_eq!(account.bytes(), PORTION_BYTES_MIN);
}

#[test]
fn the_largest_is_stopped_and_the_others_go_on() {
    let account = account();
    let (large, _large) = holding(&account, 9 * MIB);
    let (small, held) = holding(&account, 5 * MIB);
    held.add(3 * MIB).unwrap();
    assert_eq!(large.check(), Err(STOP));
    assert_eq!(large.charge(4 * MIB), Err(STOP));
    assert_eq!(small.check(), Ok(()));
    assert_eq!(account.stopped(), 1);
    drop((large, _large));
    assert_eq!(small.charge(6 * MIB), Ok(()));
}

#[test]
fn who_holds_most_is_stopped_by_its_own_draw() {
    let account = account();
    let (small, _small) = holding(&account, 4 * MIB);
    let (large, held) = holding(&account, 10 * MIB);
    assert_eq!(held.add(8 * MIB), Err(STOP));
    assert_eq!(large.check(), Err(STOP));
    assert_eq!(small.check(), Ok(()));
}

#[test]
fn the_reserve_has_an_end() {
    let account = account();
    let (large, _large) = holding(&account, 9 * MIB);
    let (_small, held) = holding(&account, 6 * MIB);
    let mut last = Ok(());
    for _ in 0..6 {
        last = last.and_then(|()| held.add(MIB));
    }
    assert_eq!(last, Err(STOP), "the largest has given nothing back");
    assert_eq!(large.stopped(), Some(STOP));
    assert!(account.bytes() <= 18 * MIB);
}

#[test]
fn what_is_there_already_counts_whatever_is_left() {
    let account = account();
    let (large, _large) = holding(&account, 9 * MIB);
    let (small, held) = holding(&account, MIB);
    held.put(7 * MIB);
    assert_eq!((large.stopped(), small.stopped()), (Some(STOP), None));
    drop((large, _large));
    held.put(9 * MIB);
    assert_eq!(small.stopped(), Some(STOP), "now it is the largest itself");
}

#[test]
fn who_waits_is_woken_when_it_is_stopped() {
    let account = account();
    let (waiting, held) = holding(&account, 10 * MIB);
    let held = Arc::new(Mutex::new(Some(held)));
    let drops = Arc::clone(&held);
    let let_go: OnStop = Arc::new(move |_| drop(locked(&drops).take()));
    let guard = waiting.when_stopped(Arc::clone(&let_go));
    let (other, more) = holding(&account, 4 * MIB);
    more.add(4 * MIB).unwrap();
    assert!(locked(&held).is_none());
    assert_eq!(other.check(), Ok(()));
    assert!(account.bytes() < 12 * MIB, "nothing of the reserve is used");
    drop(guard);
    *locked(&held) = Some(Held::new(&waiting));
    let _again = waiting.when_stopped(let_go);
    assert!(locked(&held).is_none(), "it was stopped before");
}

#[test]
fn one_that_does_not_notice_is_not_waited_for() {
    let account = account();
    let (first, _first_held) = holding(&account, 9 * MIB);
    let (second, _second_held) = holding(&account, 5 * MIB);
    let (_third, third_held) = holding(&account, MIB);
    third_held.add(2 * MIB).unwrap();
    assert!(first.stopped().is_some() && second.stopped().is_none());
    // The reserve is used up, and the first one is counted as one that gives back.
    let more = third_held.add(2 * MIB);
    assert_eq!((more, second.stopped()), (Err(STOP), None));
    let (_fourth, fourth_held) = holding(&account, 1024);
    NOW.set(NOW.get() + 2 * NOTICE_TIME_MAX);
    let more = fourth_held.add(2 * MIB);
    assert!(second.stopped().is_some(), "{more:?}");
}

#[test]
fn threads_that_give_back_at_once_give_back_nothing_twice() {
    let account = account();
    for _ in 0..200 {
        let budget = request(&account);
        let held: Vec<Held> = (0..2).map(|_| Held::new(&budget)).collect();
        held.iter().for_each(|held| held.put(3 * MIB));
        std::thread::scope(|scope| {
            for held in held {
                scope.spawn(move || drop(held));
            }
            scope.spawn(|| budget.give_back());
        });
        drop(budget);
        assert_eq!(account.bytes(), 0);
    }
}
