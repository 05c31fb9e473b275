//! Provisioned throughput: how many request units a database or container may spend.
//!
//! A request is let in while its budget is above zero and may take it below; the next ones wait until it has come back.
//! Knows no clock: milliseconds come in as an argument, and a step back counts as standing still.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

/// Longest wait that a client is told, in milliseconds, however deep the debt.
pub const RETRY_AFTER_MS_MAX: u64 = 60_000;

/// Everything is counted in millionths of a request unit, so that a refill per millisecond is a whole number.
const MILLIONTHS_PER_UNIT: i64 = 1_000_000;
/// One request unit a second is so many millionths a millisecond.
const MILLIONTHS_PER_MS: i64 = 1_000;
const MS_PER_SECOND: u64 = 1_000;
/// The highest rate that is believed, in units per second: far beyond any offer, far from overflow.
const RATE_MAX: u64 = 1_000_000_000;

/// How long a refused request should wait, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetryAfterMs(pub u64);

/// The budget of one database or container.
#[derive(Debug)]
pub struct Budget(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Units per second.
    rate: i64,
    /// What may be spent now, in millionths; never above one second's worth.
    balance: i64,
    /// When the balance was last filled up; nothing before the first request.
    filled_ms: Option<u64>,
    /// The second that is being counted.
    second: u64,
    /// Spent in it, in millionths.
    spent: i64,
    /// Left unspent in the second before it, in millionths.
    left: i64,
}

impl Budget {
    /// A full budget that grows by so many request units a second.
    pub fn new(ru_per_second: u64) -> Self {
        let rate = rate_of(ru_per_second);
        Budget(Mutex::new(State {
            rate,
            balance: rate * MILLIONTHS_PER_UNIT,
            filled_ms: None,
            second: 0,
            spent: 0,
            left: rate * MILLIONTHS_PER_UNIT,
        }))
    }

    /// Lets a request in if anything is left, without spending yet.
    pub fn admit(&self, now_ms: u64) -> Result<(), RetryAfterMs> {
        let mut state = self.0.lock();
        state.advance(now_ms);
        state.admit()
    }

    /// Spends what an admitted request turned out to cost.
    pub fn spend(&self, charge: f64, now_ms: u64) {
        let mut state = self.0.lock();
        state.advance(now_ms);
        state.spend(charge);
    }

    /// Lets a request in if anything is left, and spends its charge.
    pub fn try_spend(&self, charge: f64, now_ms: u64) -> Result<(), RetryAfterMs> {
        let mut state = self.0.lock();
        state.advance(now_ms);
        state.admit()?;
        state.spend(charge);
        Ok(())
    }

    /// What requests left unspent in the last whole second, as far as it is still there: the purger's share.
    pub fn left_over(&self, now_ms: u64) -> f64 {
        let mut state = self.0.lock();
        state.advance(now_ms);
        let left = state.left.min(state.balance).max(0);
        left as f64 / MILLIONTHS_PER_UNIT as f64
    }

    /// Request units per second.
    pub fn rate(&self) -> u64 {
        self.0.lock().rate.unsigned_abs()
    }

    /// Changes the rate from now on; what has been spent stays spent.
    pub fn set_rate(&self, ru_per_second: u64, now_ms: u64) {
        let mut state = self.0.lock();
        state.advance(now_ms);
        state.rate = rate_of(ru_per_second);
        state.balance = state.balance.min(state.full());
        state.left = state.left.min(state.full());
    }
}

fn rate_of(ru_per_second: u64) -> i64 {
    // A rate of zero would never let anybody in again.
    i64::try_from(ru_per_second.clamp(1, RATE_MAX)).unwrap_or(1)
}

impl State {
    fn full(&self) -> i64 {
        self.rate * MILLIONTHS_PER_UNIT
    }

    fn advance(&mut self, now_ms: u64) {
        let second = now_ms / MS_PER_SECOND;
        let Some(filled_ms) = self.filled_ms else {
            self.filled_ms = Some(now_ms);
            self.second = second;
            return;
        };
        if now_ms <= filled_ms {
            return;
        }
        let elapsed = i64::try_from(now_ms - filled_ms).unwrap_or(i64::MAX);
        let refill = elapsed.saturating_mul(self.rate * MILLIONTHS_PER_MS);
        self.balance = self.balance.saturating_add(refill).min(self.full());
        self.filled_ms = Some(now_ms);
        if second > self.second {
            // In a second in which nobody came, all of it was left.
            let spent = if second == self.second + 1 {
                self.spent
            } else {
                0
            };
            self.left = (self.full() - spent).max(0);
            self.spent = 0;
            self.second = second;
        }
    }

    fn admit(&self) -> Result<(), RetryAfterMs> {
        if self.balance > 0 {
            return Ok(());
        }
        let per_ms = (self.rate * MILLIONTHS_PER_MS).unsigned_abs();
        // One millisecond more than fills the debt, because the balance must be above zero.
        let wait = self.balance.unsigned_abs() / per_ms + 1;
        Err(RetryAfterMs(wait.min(RETRY_AFTER_MS_MAX)))
    }

    fn spend(&mut self, charge: f64) {
        // The cast stays within bounds by itself, and takes what is not a number for zero.
        let cost = (charge * MILLIONTHS_PER_UNIT as f64).round().max(0.0) as i64;
        self.balance = self.balance.saturating_sub(cost);
        self.spent = self.spent.saturating_add(cost);
    }
}

/// Whose budget it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A database whose containers share.
    Database(u32),
    /// A container with throughput of its own.
    Collection(u32),
}

/// The budgets of all databases and containers that have one; who has none spends without limit.
#[derive(Debug, Default)]
pub struct Budgets(RwLock<HashMap<Owner, Arc<Budget>>>);

impl Budgets {
    /// No budgets.
    pub fn new() -> Self {
        Budgets::default()
    }

    /// The budget of an owner, if it has one.
    pub fn get(&self, owner: Owner) -> Option<Arc<Budget>> {
        self.0.read().get(&owner).cloned()
    }

    /// Gives an owner a budget, or changes its rate.
    pub fn set(&self, owner: Owner, ru_per_second: u64, now_ms: u64) {
        let mut all = self.0.write();
        match all.get(&owner) {
            Some(budget) => budget.set_rate(ru_per_second, now_ms),
            None => {
                all.insert(owner, Arc::new(Budget::new(ru_per_second)));
            }
        }
    }

    /// Takes an owner's budget away.
    pub fn remove(&self, owner: Owner) {
        self.0.write().remove(&owner);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const START: u64 = 1_000_000;

    fn units(units: u64) -> f64 {
        units as f64
    }

    #[test]
    fn a_request_is_let_in_while_anything_is_left() {
        let budget = Budget::new(400);
        assert_eq!(budget.try_spend(units(399), START), Ok(()));
        assert_eq!(
            budget.try_spend(units(1000), START),
            Ok(()),
            "one unit is left, so the costly one gets in"
        );
        // The debt of 999 comes back at 0.4 a millisecond.
        assert_eq!(budget.try_spend(units(1), START), Err(RetryAfterMs(2498)));
        assert_eq!(budget.admit(START + 2497), Err(RetryAfterMs(1)));
        assert_eq!(budget.try_spend(units(1), START + 2498), Ok(()));
    }

    #[test]
    fn the_told_wait_is_enough_and_not_a_millisecond_too_long() {
        for rate in [1, 7, 400, 1000, 1_000_000] {
            for debt in [0, 1, 5, 399, 400, 401, 12_345] {
                let budget = Budget::new(rate);
                let all = units(rate) + debt as f64 / 100.0;
                budget.try_spend(all, START).unwrap();
                let RetryAfterMs(wait) = budget.admit(START).unwrap_err();
                if wait < RETRY_AFTER_MS_MAX {
                    assert!(budget.admit(START + wait - 1).is_err(), "{rate} {debt}");
                    assert_eq!(budget.admit(START + wait), Ok(()), "{rate} {debt}");
                }
            }
        }
    }

    #[test]
    fn no_more_than_one_second_is_saved_up() {
        let budget = Budget::new(400);
        budget.try_spend(units(1), START).unwrap();
        budget.try_spend(units(400), START + 3_600_000).unwrap();
        assert_eq!(budget.admit(START + 3_600_000), Err(RetryAfterMs(1)));
    }

    #[test]
    fn the_rate_is_kept_over_a_minute() {
        let budget = Budget::new(400);
        let admitted = (0..60_000)
            .filter(|ms| budget.try_spend(units(1), START + ms).is_ok())
            .count();
        assert!((24_300..=24_401).contains(&admitted), "{admitted}");
    }

    #[test]
    fn time_that_steps_back_stands_still() {
        let budget = Budget::new(400);
        budget.try_spend(units(500), START).unwrap();
        assert_eq!(budget.admit(0), Err(RetryAfterMs(251)));
        assert_eq!(budget.admit(START), Err(RetryAfterMs(251)));
        assert_eq!(budget.admit(START + 251), Ok(()));
    }

    #[test]
    fn a_change_of_rate_acts_at_once() {
        let budget = Budget::new(400);
        budget.try_spend(units(800), START).unwrap();
        assert_eq!(budget.admit(START), Err(RetryAfterMs(1001)));
        budget.set_rate(4000, START);
        assert_eq!(budget.rate(), 4000);
        assert_eq!(budget.admit(START), Err(RetryAfterMs(101)));
        assert_eq!(budget.admit(START + 101), Ok(()));
        // Lowering it leaves no more than the new second's worth.
        budget.set_rate(100, START + 10_000);
        budget.try_spend(units(100), START + 10_000).unwrap();
        assert!(budget.admit(START + 10_000).is_err());
    }

    #[test]
    fn what_was_left_of_the_last_second_is_the_purgers() {
        let budget = Budget::new(400);
        assert_eq!(budget.left_over(START), units(400));
        budget.spend(units(150), START + 10);
        assert_eq!(
            budget.left_over(START + 1000),
            units(250),
            "the second before"
        );
        assert_eq!(budget.left_over(START + 2000), units(400), "an idle second");
        budget.spend(units(600), START + 2500);
        assert_eq!(
            budget.left_over(START + 2999),
            0.0,
            "nothing is there any more"
        );
        assert_eq!(
            budget.left_over(START + 3000),
            0.0,
            "more was spent than a second gives"
        );
        assert_eq!(budget.left_over(START + 9000), units(400));
    }

    #[test]
    fn absurd_numbers_do_no_harm() {
        let budget = Budget::new(u64::MAX);
        budget.try_spend(f64::MAX, 0).unwrap();
        assert_eq!(budget.admit(0), Err(RetryAfterMs(RETRY_AFTER_MS_MAX)));
        budget.spend(f64::MAX, 5);
        // No overflow at the end of time: this must only return.
        let _ = budget.admit(u64::MAX);
        let none = Budget::new(0);
        assert_eq!(none.rate(), 1);
    }

    #[test]
    fn budgets_are_kept_apart_by_owner() {
        let budgets = Budgets::new();
        assert!(budgets.get(Owner::Collection(1)).is_none());
        budgets.set(Owner::Collection(1), 400, START);
        budgets.set(Owner::Database(1), 1000, START);
        budgets
            .get(Owner::Collection(1))
            .unwrap()
            .try_spend(units(500), START)
            .unwrap();
        assert!(
            budgets
                .get(Owner::Collection(1))
                .unwrap()
                .admit(START)
                .is_err()
        );
        assert!(
            budgets
                .get(Owner::Database(1))
                .unwrap()
                .admit(START)
                .is_ok()
        );
        budgets.set(Owner::Collection(1), 800, START);
        assert!(
            budgets
                .get(Owner::Collection(1))
                .unwrap()
                .admit(START)
                .is_err(),
            "what is spent stays spent"
        );
        budgets.remove(Owner::Collection(1));
        assert!(budgets.get(Owner::Collection(1)).is_none());
    }

    #[test]
    fn threads_together_spend_no_more_than_there_is() {
        let budget = Budget::new(1000);
        let admitted: usize = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        (0..1000)
                            .filter(|_| budget.try_spend(units(1), START).is_ok())
                            .count()
                    })
                })
                .collect();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap())
                .sum()
        });
        assert_eq!(admitted, 1000);
    }
}
