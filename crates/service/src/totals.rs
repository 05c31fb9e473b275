//! What all collections hold, and those of each database together: kept up to date by looking at the collections of which something has
//! changed since somebody last asked, and at no others. The first who asks after a start pays for all.

use std::collections::{BTreeSet, HashMap};

use lapsedb_record::Millis;
use lapsedb_store::{Collection, CollectionId, Tally, Usage, View};

use crate::agenda::{Agenda, Written};
use crate::background::Piece;
use crate::documents::indexes;
use crate::error::Result;
use crate::service::Service;

/// What the collections of the MongoDB API in one database hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseTotal {
    /// How many they are.
    pub collections: u64,
    /// How many indexes they have.
    pub indexes: u64,
    /// Their living documents.
    pub live: Tally,
}

/// What all collections hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AllTotals {
    pub(crate) live: Tally,
    pub(crate) expired: Tally,
    /// For how long the first of the expired has been so.
    pub(crate) purge_lag_secs: u64,
}

/// The figures as of the last time somebody asked.
#[derive(Default)]
pub(crate) struct Totals {
    agenda: Agenda,
    held: HashMap<CollectionId, Held>,
    databases: HashMap<u32, DatabaseTotal>,
    live: Tally,
    expired: Tally,
    /// By when the first of their expired items expired.
    oldest: BTreeSet<(Millis, CollectionId)>,
    /// Those that cannot be counted, with their databases.
    failing: HashMap<CollectionId, u32>,
}

/// What one collection holds.
#[derive(Clone, Copy)]
struct Held {
    database: u32,
    /// How many indexes it has; none for a container of the NoSQL API alone.
    indexes: Option<u64>,
    live: Tally,
    expired: Tally,
    oldest: Option<Millis>,
}

impl Held {
    fn of(collection: &Collection, usage: &Usage) -> Held {
        let indexes = collection.mongo.as_ref().map(|_| {
            let names = indexes::names(collection).len();
            u64::try_from(names).unwrap_or(u64::MAX)
        });
        Held {
            database: collection.database,
            indexes,
            live: usage.live,
            expired: usage.expired,
            oldest: usage.oldest_expired,
        }
    }
}

fn add(to: &mut Tally, other: Tally) {
    to.items = to.items.saturating_add(other.items);
    to.bytes = to.bytes.saturating_add(other.bytes);
}

fn subtract(from: &mut Tally, other: Tally) {
    from.items = from.items.saturating_sub(other.items);
    from.bytes = from.bytes.saturating_sub(other.bytes);
}

impl Totals {
    fn put(&mut self, cid: CollectionId, held: Held) {
        self.remove(cid);
        add(&mut self.live, held.live);
        add(&mut self.expired, held.expired);
        self.oldest.extend(held.oldest.map(|oldest| (oldest, cid)));
        if let Some(indexes) = held.indexes {
            let total = self.databases.entry(held.database).or_default();
            total.collections += 1;
            total.indexes += indexes;
            add(&mut total.live, held.live);
        }
        self.held.insert(cid, held);
    }

    /// Forgets a collection that is gone.
    pub(crate) fn forget(&mut self, cid: CollectionId) {
        self.agenda.remove(cid);
        self.remove(cid);
    }

    fn remove(&mut self, cid: CollectionId) {
        self.failing.remove(&cid);
        let Some(held) = self.held.remove(&cid) else {
            return;
        };
        subtract(&mut self.live, held.live);
        subtract(&mut self.expired, held.expired);
        if let Some(oldest) = held.oldest {
            self.oldest.remove(&(oldest, cid));
        }
        if let Some(indexes) = held.indexes
            && let Some(total) = self.databases.get_mut(&held.database)
        {
            total.collections -= 1;
            total.indexes -= indexes;
            subtract(&mut total.live, held.live);
            if total.collections == 0 {
                self.databases.remove(&held.database);
            }
        }
    }
}

impl Service {
    /// Brings the figures up to date; says with which view.
    async fn bring_up_to_date(&self, totals: &mut Totals) -> Result<View> {
        totals.agenda.hear_commits(self.store(), Written::Now);
        let view = self.store().view().await?;
        totals.agenda.hear_catalog(view.catalog(), |_| true);
        for due in totals.agenda.due(view.now()) {
            let found = view.catalog().collections_numbered(&[due.cid]);
            let Some(collection) = found.first() else {
                totals.forget(due.cid);
                continue;
            };
            let usage = view.usage(collection);
            let background = &self.maintenance().background;
            match background.run(Piece::Count(due.cid), usage).await {
                Some(usage) => {
                    totals.put(due.cid, Held::of(collection, &usage));
                    let at = usage.next_expiry.unwrap_or(Millis(u64::MAX));
                    totals.agenda.plan(due, at);
                }
                // What cannot be counted is left out, and said to be failing; it stays due.
                None => {
                    totals.remove(due.cid);
                    totals.failing.insert(due.cid, collection.database);
                }
            }
        }
        Ok(view)
    }

    /// What all collections hold; those that cannot be counted are left out.
    pub(crate) async fn all_totals(&self) -> Result<AllTotals> {
        let mut totals = self.maintenance().totals.lock().await;
        let view = self.bring_up_to_date(&mut totals).await?;
        let oldest = totals.oldest.first().map(|(oldest, _)| *oldest);
        let lag = oldest.map_or(0, |oldest| view.now().0.saturating_sub(oldest.0) / 1000);
        Ok(AllTotals {
            live: totals.live,
            expired: totals.expired,
            purge_lag_secs: lag,
        })
    }

    /// What the collections of the MongoDB API hold, by the numbers of their databases: of one database, or of all that have any.
    ///
    /// # Errors
    /// When the engine fails, or one of those collections cannot be counted.
    pub(crate) async fn database_totals(
        &self,
        database: Option<u32>,
    ) -> Result<HashMap<u32, DatabaseTotal>> {
        let mut totals = self.maintenance().totals.lock().await;
        let view = self.bring_up_to_date(&mut totals).await?;
        let wanted = |other: u32| database.is_none_or(|database| database == other);
        let failing = totals.failing.iter().filter(|(_, of)| wanted(**of));
        let failing: Vec<_> = failing.map(|(cid, _)| *cid).collect();
        for cid in failing {
            if let Some(collection) = view.catalog().collection_numbered(cid)
                && collection.mongo.is_some()
            {
                // It may have failed earlier, and was left out since.
                let usage = view.usage(collection).await?;
                totals.put(cid, Held::of(collection, &usage));
            }
        }
        Ok(match database {
            None => totals.databases.clone(),
            Some(one) => {
                let total = totals.databases.get(&one);
                total.map(|total| (one, *total)).into_iter().collect()
            }
        })
    }
}
