//! `/offers` and `/offers/{rid}`.

use http::Method;
use lapsedb_service::offers::{self, Migration};
use lapsedb_service::{Error, Result};

use crate::answer::Answer;
use crate::call::Call;
use crate::headers;
use crate::routes::{feed, method_not_allowed, resource};

/// Lists or queries offers.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>) -> Result<Answer> {
    let ask = feed::read_only(call)?;
    Ok(feed::answer(offers::list(&call.ctx, &ask).await?, "Offers"))
}

/// Reads or replaces an offer.
///
/// # Errors
/// As the verb says.
pub async fn one(call: &Call<'_>, rid: &str) -> Result<Answer> {
    let conditions = resource::conditions(call)?;
    let offer = match *call.method {
        Method::GET => offers::read(&call.ctx, rid, &conditions).await?,
        Method::PUT => {
            let migration = migration(call)?;
            offers::replace(&call.ctx, rid, &call.object()?, migration, &conditions).await?
        }
        _ => return Err(method_not_allowed(call)),
    };
    let mut answer = resource::answer(&offer.reply);
    answer.set_number(headers::MIN_THROUGHPUT, offer.least);
    answer.set(headers::OFFER_REPLACE_PENDING, "false");
    Ok(answer)
}

/// Whether the request wants the other kind of throughput.
fn migration(call: &Call<'_>) -> Result<Option<Migration>> {
    let to_autoscale = call.flag(&headers::MIGRATE_TO_AUTOPILOT)?;
    let to_manual = call.flag(&headers::MIGRATE_TO_MANUAL)?;
    match (to_autoscale, to_manual) {
        (false, false) => Ok(None),
        (true, false) => Ok(Some(Migration::ToAutoscale)),
        (false, true) => Ok(Some(Migration::ToManual)),
        (true, true) => Err(Error::bad_request(
            "An offer cannot be migrated to autoscale and to manual throughput at once.",
        )),
    }
}
