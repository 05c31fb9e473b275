//! A collection's conflicts: there are none, because there is one place to write.

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::feed::{self, Ask, Page};
use crate::reply::Owner;

/// The conflicts of a collection: an empty list.
///
/// # Errors
/// When the collection is not there, who asks may not read it, or the request is wrong in itself.
pub async fn conflicts(ctx: &Ctx, db: &str, coll: &str, ask: &Ask<'_>) -> Result<Page> {
    let scope = ctx.scope(db, coll).await?;
    ctx.who.may_read_collection(&scope.collection)?;
    let owner = Owner::collection(&scope.database, &scope.collection);
    feed::page(&scope.view, (owner, "conflicts"), Vec::new(), ask)
}

/// One conflict of a collection: never there.
///
/// # Errors
/// Always: the collection is not there, who asks may not read it, or the conflict is not there.
pub async fn conflict(ctx: &Ctx, db: &str, coll: &str) -> Result<()> {
    let scope = ctx.scope(db, coll).await?;
    ctx.who.may_read_collection(&scope.collection)?;
    Err(Error::not_found())
}
