//! Lists offers.

use crate::ctx::Ctx;
use crate::error::Result;
use crate::feed::{self, Ask, Page};
use crate::offers::{offer_value, standard};
use crate::reply::Owner;

/// The offers in the order of their numbers, or what a query makes of them.
///
/// # Errors
/// When who asks may not read them, or the request is wrong in itself.
pub async fn list(ctx: &Ctx, ask: &Ask<'_>) -> Result<Page> {
    ctx.who.may_read_account()?;
    let view = ctx.view().await?;
    let behind = |number: u64| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let offers = standard::all_behind(view.catalog(), number);
        offers.map(|offer| (u64::from(offer.number), offer_value(&offer)))
    };
    feed::page_behind(&view, (Owner::account(), "offers"), behind, ask)
}
