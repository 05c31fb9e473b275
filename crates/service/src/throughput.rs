//! Provisioned throughput: an offer says how many request units a second a collection, or a whole database, may spend.
//!
//! Budgets run in real time even where the engine's clock is moved by hand: a clock that stands still must not turn
//! everybody away for good.

mod budget;

use std::sync::Arc;
use std::time::Instant;

use lapsedb_record::Clock;
use lapsedb_store::{Collection, Offer, View};
use lapsedb_value::{Object, Value};

pub use budget::{Budget, Budgets, Owner, RETRY_AFTER_MS_MAX, RetryAfterMs};

use crate::error::{Error, Kind, Result};
use crate::limits::STANDARD_THROUGHPUT;

/// The budgets of this process, each made when it is first asked for.
#[derive(Debug)]
pub struct Throughputs {
    budgets: Budgets,
    start: Instant,
    /// The rate of containers that nobody asked any throughput for; none is no limit.
    standard: Option<u64>,
}

impl Throughputs {
    /// No budgets yet. Offers that were asked for are enforced; with `all`, those that were not as well.
    pub fn new(all: bool) -> Self {
        Throughputs {
            budgets: Budgets::new(),
            start: Clock::monotonic(),
            standard: all.then_some(STANDARD_THROUGHPUT),
        }
    }

    /// Lets a request to a collection in, if its budget is not used up.
    ///
    /// # Errors
    /// When it is: with the time to wait.
    pub fn admit(&self, view: &View, collection: &Collection) -> Result<()> {
        let now = self.now_ms();
        let Some(budget) = self.budget(view, collection, now) else {
            return Ok(());
        };
        budget.admit(now).map_err(|RetryAfterMs(retry_after_ms)| {
            Error::new(
                Kind::Throttled { retry_after_ms },
                "Request rate is large. More Request Units may be needed, so no changes were made. Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429",
            )
            .charged(0.0)
        })
    }

    /// Takes what a request turned out to cost from the collection's budget.
    pub fn spend(&self, view: &View, collection: &Collection, charge: f64) {
        let now = self.now_ms();
        if let Some(budget) = self.budget(view, collection, now) {
            budget.spend(charge, now);
        }
    }

    /// What requests left of the last second, and of whose budget; none where there is no limit.
    pub fn left_over(&self, view: &View, collection: &Collection) -> Option<(Owner, f64)> {
        let now = self.now_ms();
        let (owner, budget) = self.owned_budget(view, collection, now)?;
        Some((owner, budget.left_over(now)))
    }

    /// The budget of a collection's own offer, or else of its database's, or else of the standard one if that is enforced.
    fn budget(&self, view: &View, collection: &Collection, now: u64) -> Option<Arc<Budget>> {
        Some(self.owned_budget(view, collection, now)?.1)
    }

    fn owned_budget(
        &self,
        view: &View,
        collection: &Collection,
        now: u64,
    ) -> Option<(Owner, Arc<Budget>)> {
        let catalog = view.catalog();
        let own = catalog.offer_of(collection.database, Some(collection.cid));
        let shared = || catalog.offer_of(collection.database, None);
        let (owner, rate) = if let Some(offer) = own {
            (Owner::Collection(collection.cid.0), rate_of(offer)?)
        } else if let Some(offer) = shared() {
            (Owner::Database(collection.database), rate_of(offer)?)
        } else {
            (Owner::Collection(collection.cid.0), self.standard?)
        };
        if let Some(budget) = self.budgets.get(owner)
            && budget.rate() == rate
        {
            return Some((owner, budget));
        }
        self.budgets.set(owner, rate, now);
        Some((owner, self.budgets.get(owner)?))
    }

    fn now_ms(&self) -> u64 {
        let elapsed = Clock::monotonic().saturating_duration_since(self.start);
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }
}

fn rate_of(offer: &Offer) -> Option<u64> {
    rate(&offer.content)
}

/// The rate an offer's content stands for: an autoscale offer may use up to its maximum.
fn rate(content: &Object) -> Option<u64> {
    let autoscale = content
        .get("offerAutopilotSettings")
        .map(|settings| settings.get("maxThroughput"));
    let units = autoscale
        .and_then(Value::as_i64)
        .or_else(|| content.get("offerThroughput").and_then(Value::as_i64))?;
    u64::try_from(units).ok().filter(|units| *units > 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn offers_of_both_kinds_have_a_rate() {
        let content = |text: &str| {
            let limits = lapsedb_value::json::Limits::DEFAULT;
            lapsedb_value::json::parse(text.as_bytes(), &limits)
                .unwrap()
                .into_object()
                .unwrap()
        };
        assert_eq!(rate(&content(r#"{"offerThroughput":400}"#)), Some(400));
        assert_eq!(
            rate(&content(
                r#"{"offerThroughput":100,"offerAutopilotSettings":{"maxThroughput":4000}}"#
            )),
            Some(4000)
        );
        assert_eq!(
            rate(&content(
                r#"{"offerThroughput":400,"offerAutopilotSettings":null}"#
            )),
            Some(400)
        );
        assert_eq!(rate(&content("{}")), None);
        assert_eq!(rate(&content(r#"{"offerThroughput":0}"#)), None);
        assert_eq!(rate(&content(r#"{"offerThroughput":-1}"#)), None);
    }
}
