//! Makes a permission.

use lapsedb_store::MetaChange;
use lapsedb_value::Object;

use crate::attempts::{Attempts, Numbers};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::names;
use crate::reply::{Outcome, Reply};
use crate::token;
use crate::users::permissions::Holder;
use crate::users::permissions::target::Wanted;

/// Makes a permission of a user, and a token that lives as long as is asked; with `upsert`, one that is there is replaced.
///
/// # Errors
/// When the user or the resource is not there, the body is wrong, the name is taken, or who asks may not.
pub async fn create(
    ctx: &Ctx,
    (db, user): (&str, &str),
    body: &Object,
    upsert: bool,
    life_secs: Option<i64>,
) -> Result<Reply> {
    ctx.who.may_administer()?;
    let wanted = Wanted::of_body(body)?;
    let life = token::life(life_secs)?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let holder = Holder::find(&view, db, user).await?;
        let shelf = holder.shelf();
        let mut change = MetaChange::default();
        let (outcome, number) = match shelf.find(&view, &wanted.id, None).await? {
            Some(_) if !upsert => return Err(names::taken("Permission")),
            Some(old) => (Outcome::Replaced, old.number),
            None => {
                let mut numbers = Numbers::of(&view);
                let number = numbers.take(u32::MAX)?;
                numbers.write(&mut change);
                (Outcome::Created, number)
            }
        };
        let permission = wanted.record(&view, &holder.database, number).await?;
        change.put(shelf.key(&wanted.id), permission.body.clone());
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            let value = holder.value(ctx, &permission.committed(&done), life);
            return Ok(Reply::written(outcome, &done, holder.owner(), value));
        }
    }
}
