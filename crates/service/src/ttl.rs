//! What time to live does to a collection: figures, and purging on demand.

use lapsedb_record::{Millis, Setting};
use lapsedb_store::{Purged, Tally};

use crate::ctx::{Ctx, Scope};
use crate::error::Result;

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
    let due = usage.oldest_expired.map(|died| died.plus(grace(ctx)));
    Ok(TtlReport {
        default_ttl: default_ttl(collection.policy.setting),
        live: usage.live,
        expired: usage.expired,
        next_expiry: usage.next_expiry,
        purge_paused: !service.config().purge || service.clock().purge_horizon_held(),
        purge_lag_secs: due.map_or(0, |due| view.now().0.saturating_sub(due.0) / 1000),
    })
}

/// Removes now what is dead and past its grace, without waiting for leftover budget.
///
/// # Errors
/// When the collection is not there, or who asks may not change the account.
pub async fn purge_now(ctx: &Ctx, db: &str, coll: &str) -> Result<Purged> {
    ctx.who.may_administer()?;
    let scope = ctx.scope(db, coll).await?;
    let store = ctx.service().store();
    Ok(store.purge(&scope.collection, grace(ctx), u64::MAX).await?)
}

fn grace(ctx: &Ctx) -> Millis {
    Millis(ctx.service().config().purge_grace.saturating_mul(1000))
}

/// A setting as clients write it.
fn default_ttl(setting: Setting) -> Option<i64> {
    match setting {
        Setting::Off => None,
        Setting::On => Some(-1),
        Setting::OnWithDefault(life) => Some(i64::try_from(life.0).unwrap_or(i64::MAX)),
    }
}
