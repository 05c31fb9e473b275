//! Reads an offer.

use std::sync::Arc;

use lapsedb_store::rid::OfferRid;
use lapsedb_store::{Offer, View};
use lapsedb_value::Value;

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::offers::{Replaced, Wanted, offer_value, standard};
use crate::reply::{Conditions, Owner, Reply};

/// The offer of a rid, and the least throughput it may have.
///
/// # Errors
/// When it is not there, or who asks may not read it.
pub async fn read(ctx: &Ctx, rid: &str, conditions: &Conditions) -> Result<Replaced> {
    ctx.who.may_read_account()?;
    let view = ctx.view().await?;
    let offer = find(&view, rid)?;
    let least = Wanted::of_content(&Value::Object(offer.content.clone()))?.least();
    let reply = Reply::read(
        &view,
        conditions,
        Owner::account(),
        offer.lsn,
        offer_value(&offer),
    );
    Ok(Replaced { reply, least })
}

/// The offer of a rid.
pub(super) fn find(view: &View, rid: &str) -> Result<Arc<Offer>> {
    OfferRid::parse(rid)
        .and_then(|rid| standard::offer_numbered(view.catalog(), rid.0))
        .ok_or_else(Error::not_found)
}
