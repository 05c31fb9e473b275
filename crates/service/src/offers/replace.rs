//! Changes provisioned throughput.

use lapsedb_store::catalog::offer_body;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{MetaChange, Offer};
use lapsedb_value::{Object, Value};

use crate::attempts::Attempts;
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::names;
use crate::offers::read::find;
use crate::offers::{Migration, Wanted, offer_value};
use crate::reply::{Conditions, Outcome, Owner, Reply};

/// An offer, and what clients are told beside it.
pub struct Replaced {
    /// The offer.
    pub reply: Reply,
    /// The least throughput it may have.
    pub least: u64,
}

/// Gives an offer another content; what it is for stays. From then on it is enforced, although nobody may have asked for it
/// before.
///
/// # Errors
/// When it is not there or not as the client knows it, the throughput is not allowed, or who asks may not.
pub async fn replace(
    ctx: &Ctx,
    rid: &str,
    body: &Object,
    migration: Option<Migration>,
    conditions: &Conditions,
) -> Result<Replaced> {
    ctx.who.may_administer()?;
    let content = body
        .get("content")
        .ok_or_else(|| names::missing(&["content"]))?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let offer = find(&view, rid)?;
        conditions.allow_change(offer.lsn)?;
        same_resource(&offer, body)?;
        let wanted = match migration {
            None => Wanted::of_content(content)?,
            Some(migration) => {
                Wanted::of_content(&Value::Object(offer.content.clone()))?.migrated(migration)
            }
        };
        let content = wanted.content(Some(&offer.content));
        let mut change = MetaChange::default();
        change.put(
            keys::meta_numbered(MetaKind::Offer, offer.number),
            offer_body(
                offer.number,
                offer.database,
                offer.collection,
                content.clone(),
            ),
        );
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            let offer = Offer {
                content,
                lsn: done.lsn,
                written: done.now.secs(),
                ..Offer::clone(&offer)
            };
            let reply = Reply::written(
                Outcome::Replaced,
                &done,
                Owner::account(),
                offer_value(&offer),
            );
            return Ok(Replaced {
                reply,
                least: wanted.least(),
            });
        }
    }
}

/// Refuses a body that names another offer, or another resource than the offer is for.
fn same_resource(offer: &Offer, body: &Object) -> Result<()> {
    let shown = offer_value(offer);
    for name in ["id", "_rid", "offerResourceId", "resource"] {
        let given = body
            .get(name)
            .and_then(Value::as_str)
            .map(|text| text.trim_matches('/'));
        let own = shown.get(name).as_str().map(|text| text.trim_matches('/'));
        if given.is_some() && given != own {
            return Err(Error::bad_request(format!(
                "The property '{name}' of an offer cannot be changed."
            )));
        }
    }
    Ok(())
}
