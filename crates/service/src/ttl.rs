//! What time to live has done to a collection and will do: figures, preview, forecast, and purging on demand.

use lapsedb_record::clock::format_iso;
use lapsedb_record::{Expiry, ItemTtl, Lens, Millis, Secs, Setting};
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{ItemKey, StoreError};
use lapsedb_value::{Value, bson};

use crate::collections::{Definition, setting_of};
use crate::ctx::{Ctx, Scope};
use crate::error::{Error, Result};
use crate::items::body::given_partition;
use crate::items::read::key_by_rid;
use crate::limits::{FORECAST_BUCKETS_DEFAULT, FORECAST_BUCKETS_MAX};

pub use lapsedb_store::{Collection, Forecast, Preview, Purged, Recount, Tally, Width};

/// A collection's TTL figures at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlReport {
    /// The default in seconds, -1 for "on, no default"; none if TTL is off.
    pub default_ttl: Option<i64>,
    /// Items that may be seen.
    pub live: Tally,
    /// Items that are dead and not yet purged: counted nowhere else.
    pub expired: Tally,
    /// When the next item expires, if nothing is written until then.
    pub next_expiry: Option<Millis>,
    /// Whether nothing is purged at present.
    pub purge_paused: bool,
    /// How far purging is behind, in seconds: how long the longest dead has been past its grace.
    pub purge_lag_secs: u64,
}

/// The TTL figures of a collection.
///
/// # Errors
/// When the collection is not there, or who asks may not read the account.
pub async fn ttl_report(ctx: &Ctx, db: &str, coll: &str) -> Result<TtlReport> {
    ctx.who.may_read_account()?;
    let Scope {
        view, collection, ..
    } = ctx.scope(db, coll).await?;
    let usage = view.usage(&collection).await?;
    let service = ctx.service();
    let due = usage.oldest_expired.map(|died| died.plus(service.grace()));
    Ok(TtlReport {
        default_ttl: default_ttl(collection.policy.setting),
        live: usage.live,
        expired: usage.expired,
        next_expiry: usage.next_expiry,
        purge_paused: !service.purges() || service.clock().purge_horizon_held(),
        purge_lag_secs: due.map_or(0, |due| view.now().0.saturating_sub(due.0) / 1000),
    })
}

/// How long an item has to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemLife {
    /// The item's own ttl, -1 for "never"; none if it has none that means anything.
    pub ttl: Option<i64>,
    /// The first instant at which it is gone; none if that never comes under the present setting.
    pub expires_at: Option<Millis>,
    /// The seconds until then, a begun one counted as whole.
    pub seconds_left: Option<u64>,
}

/// How long an item has to live.
///
/// # Errors
/// When the item is not there, or who asks may not read the account.
pub async fn item_life(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    partition: Option<&PartitionKey>,
    id: &str,
) -> Result<ItemLife> {
    ctx.who.may_read_account()?;
    let Scope {
        view, collection, ..
    } = ctx.scope(db, coll).await?;
    let partition = given_partition(&collection, partition)?;
    let key = ItemKey::new(&collection, &partition, id);
    let mut item = view.get(&collection, &key).await?;
    if item.is_none()
        && let Some(key) = key_by_rid(&view, &collection, &partition, id).await?
    {
        item = view.get(&collection, &key).await?;
    }
    let item = item.ok_or_else(Error::not_found)?;
    let document = bson::read_document(item.body()).map_err(StoreError::from)?;
    let expires_at = match item.expiry(&view.lens(&collection)) {
        Expiry::Never => None,
        Expiry::At(end) => Some(end),
    };
    Ok(ItemLife {
        ttl: match ItemTtl::of_document(&document) {
            ItemTtl::Inherit => None,
            ItemTtl::Never => Some(-1),
            ItemTtl::After(life) => Some(i64::try_from(life.0).unwrap_or(i64::MAX)),
        },
        expires_at,
        seconds_left: expires_at.map(|end| end.0.saturating_sub(view.now().0).div_ceil(1000)),
    })
}

/// The instant at which an item, as queries see it, is gone, in milliseconds; none if that never comes under the present setting.
pub(crate) fn expiry_of(collection: &Collection, lens: &Lens, item: &Value) -> Option<i64> {
    let written = item
        .get("_ts")
        .as_i64()
        .and_then(|ts| u64::try_from(ts).ok())?;
    let document = item.as_object()?;
    match lens.expiry(&collection.mark_of(document, Secs(written))) {
        Expiry::Never => None,
        Expiry::At(end) => Some(i64::try_from(end.0).unwrap_or(i64::MAX)),
    }
}

/// What a change of the default would do to the items now alive; changes nothing.
///
/// # Errors
/// When the collection is not there, a replacement of it would refuse the value, or who asks may not read the account.
pub async fn preview(ctx: &Ctx, (db, coll): (&str, &str), default_ttl: &Value) -> Result<Preview> {
    ctx.who.may_read_account()?;
    let Scope {
        view, collection, ..
    } = ctx.scope(db, coll).await?;
    let mut body = collection.document.clone();
    body.insert("defaultTtl", default_ttl.clone());
    if matches!(default_ttl, Value::Null) {
        // Without a time to live nothing is counted from a path either.
        body.remove("ttlPropertyPath");
    }
    let definition = Definition::parse_replacement(&Value::Object(body), &collection.document)?;
    let setting = setting_of(definition.default_ttl);
    Ok(view.preview(&collection, setting).await?)
}

/// When the items now alive will end under the present setting, in so many buckets of one width.
///
/// # Errors
/// When the collection is not there, the number of buckets is not allowed, or who asks may not read the account.
pub async fn forecast(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    width: Width,
    buckets: Option<u64>,
) -> Result<Forecast> {
    ctx.who.may_read_account()?;
    let buckets = buckets.unwrap_or(FORECAST_BUCKETS_DEFAULT);
    if !(1..=FORECAST_BUCKETS_MAX).contains(&buckets) {
        return Err(Error::bad_request(format!(
            "a forecast has 1 to {FORECAST_BUCKETS_MAX} buckets"
        )));
    }
    let Scope {
        view, collection, ..
    } = ctx.scope(db, coll).await?;
    Ok(view.forecast(&collection, width, buckets).await?)
}

/// Counts a collection's items one by one and compares the calendar with them.
///
/// # Errors
/// When the collection is not there, or who asks may not change the account: it is a lot of work.
pub async fn recount(ctx: &Ctx, db: &str, coll: &str) -> Result<Recount> {
    ctx.who.may_administer()?;
    let Scope {
        view, collection, ..
    } = ctx.scope(db, coll).await?;
    Ok(view.recount(&collection).await?)
}

/// What a purge on demand has done.
#[derive(Clone, Debug)]
pub struct PurgedNow {
    /// What was removed.
    pub purged: Purged,
    /// What is expired and was not removed, and why; none, if nothing is left.
    pub left: Option<(Tally, String)>,
}

/// Removes now what is expired and past its grace, without waiting for leftover budget.
///
/// # Errors
/// When the collection is not there, or who asks may not change the account.
pub async fn purge_now(ctx: &Ctx, db: &str, coll: &str) -> Result<PurgedNow> {
    ctx.who.may_administer()?;
    // No view is kept meanwhile: it would hold back what may go.
    let collection = ctx.scope(db, coll).await?.collection;
    let service = ctx.service();
    let store = service.store();
    let purged = store.purge(&collection, service.grace(), u64::MAX).await?;
    service.count_purged(&collection, purged);
    service.ask_to_sweep(collection.cid);
    let left = left_after_purge(ctx, &collection).await?;
    Ok(PurgedNow { purged, left })
}

/// What is expired and still stored, and what it waits for.
async fn left_after_purge(ctx: &Ctx, collection: &Collection) -> Result<Option<(Tally, String)>> {
    let view = ctx.view().await?;
    let usage = view.usage(collection).await?;
    if usage.expired.items == 0 {
        return Ok(None);
    }
    let (now, grace) = (view.now(), ctx.service().grace());
    let seconds = grace.0 / 1000;
    let ends = |since: Millis| format_iso(since.plus(grace));
    let changed = collection.written.millis();
    let oldest = usage.oldest_expired.unwrap_or(now);
    let why = if ctx.service().clock().purge_horizon_held() {
        "The clock has jumped or is suspect; nothing is purged until it is synchronised, trusted or has been steady."
            .to_owned()
    } else if changed.plus(grace) > now {
        format!(
            "The container's settings were changed at {}; nothing is purged until the grace period of {seconds} seconds \
             has passed since then, at {}.",
            format_iso(changed),
            ends(changed)
        )
    } else if oldest.plus(grace) > now {
        format!(
            "Expired items stay on disk for the grace period of {seconds} seconds; that of the first one ends at {}.",
            ends(oldest)
        )
    } else {
        "The rest has expired within the grace period, or requests that began before it expired are still running."
            .to_owned()
    };
    Ok(Some((usage.expired, why)))
}

/// A setting as clients write it.
fn default_ttl(setting: Setting) -> Option<i64> {
    match setting {
        Setting::Off => None,
        Setting::On => Some(-1),
        Setting::OnWithDefault(life) => Some(i64::try_from(life.0).unwrap_or(i64::MAX)),
    }
}
