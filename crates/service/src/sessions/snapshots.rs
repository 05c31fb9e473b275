//! States of the store that are kept, so that several commands can read the same.
//!
//! A kept state fixes which documents there are and what they say. It does not stop time: each command judges by its own
//! *now*, so a document that has died since is not shown (`docs/ttl.md`).

use std::collections::BTreeMap;
use std::sync::Arc;

use lapsedb_record::Millis;
use lapsedb_store::View;
use parking_lot::Mutex;

use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::sessions::ReadAt;

/// How long a state is kept after its last use, in seconds.
const SNAPSHOT_SECONDS: u64 = 300;
/// States that are kept at once; for one more the oldest goes.
const SNAPSHOTS_MAX: usize = 1000;
/// The part of a time stamp that names the commit.
const LOW: u64 = 0xFFFF_FFFF;

/// A state that is kept.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) view: Arc<View>,
    /// The time stamp by which clients come back to it.
    pub(crate) stamp: u64,
}

/// The states that are kept, by their newest commit.
#[derive(Default)]
pub(crate) struct Snapshots(Mutex<BTreeMap<u64, (Kept, Millis)>>);

impl Snapshots {
    /// A state of the store.
    ///
    /// # Errors
    /// When it is not kept, or still to come.
    pub(crate) async fn find(&self, ctx: &Ctx, at: ReadAt) -> Result<Kept> {
        let fresh = ctx.view().await?;
        let now = fresh.now();
        let newest = fresh.lsn();
        let lsn = match at {
            ReadAt::Newest => newest,
            ReadAt::Time(stamp) => commit_of(ctx, stamp, newest, now)?,
        };
        self.sweep(now);
        let mut kept = self.0.lock();
        if let Some((found, used)) = kept.get_mut(&lsn) {
            *used = now;
            return Ok(found.clone());
        }
        if lsn != newest {
            return Err(Fault::new(
                code::SNAPSHOT_TOO_OLD,
                format!(
                    "Read timestamp is not available: the state of the store at that time is not kept. It is kept for {SNAPSHOT_SECONDS} seconds where a read with level 'snapshot' has named it"
                ),
            ));
        }
        if kept.len() >= SNAPSHOTS_MAX {
            kept.pop_first();
        }
        ctx.service().documents_state().seen(lsn);
        let found = Kept {
            view: Arc::new(fresh),
            stamp: match at {
                ReadAt::Newest => now.secs().0 << 32 | (lsn & LOW),
                ReadAt::Time(stamp) => stamp,
            },
        };
        kept.insert(lsn, (found.clone(), now));
        Ok(found)
    }

    /// The same for a transaction, which has a view of its own.
    pub(crate) async fn view(&self, ctx: &Ctx, at: Option<ReadAt>) -> Result<View> {
        let kept = self.find(ctx, at.unwrap_or(ReadAt::Newest)).await?;
        Ok(kept.view.again(ctx.service().clock().now()))
    }

    /// Lets go of what nobody has come back to.
    pub(crate) fn sweep(&self, now: Millis) {
        let most = SNAPSHOT_SECONDS.saturating_mul(1000);
        self.0
            .lock()
            .retain(|_, (_, used)| now.0.saturating_sub(used.0) < most);
    }
}

/// The commit that a time stamp means: it has only the end of its number.
fn commit_of(ctx: &Ctx, stamp: u64, newest: u64, now: Millis) -> Result<u64> {
    let current = ctx.service().documents_state().stamp(now);
    let lsn = match (newest & !LOW) | (stamp & LOW) {
        lsn if lsn > newest && newest > LOW => lsn - LOW - 1,
        lsn => lsn,
    };
    if stamp >> 32 > now.secs().0 || lsn > newest {
        let shown = |stamp: u64| format!("Timestamp({}, {})", stamp >> 32, stamp & LOW);
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            format!(
                "readConcern atClusterTime value must not be greater than the current clusterTime. Requested clusterTime: {}; current clusterTime: {}",
                shown(stamp),
                shown(current)
            ),
        ));
    }
    Ok(lsn)
}
