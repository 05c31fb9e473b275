//! Changes what a view shows.

use lapsedb_store::MetaChange;
use lapsedb_store::catalog::view_body;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_value::Value;

use crate::attempts::Attempts;
use crate::documents::fault::Result;
use crate::documents::namespace::Namespace;
use crate::documents::views::make::definition;
use crate::documents::views::{find_view, graph, on, pipeline_of};
use crate::documents::work::Work;

/// Gives a view another collection or another pipeline; what is not named stays. False, if there is no such view.
///
/// # Errors
/// When the new definition is wrong, or who asks may not.
pub async fn change_view(
    work: &mut Work,
    namespace: &Namespace,
    new_on: Option<&str>,
    new_pipeline: Option<&[Value]>,
) -> Result<bool> {
    let ctx = &work.ctx;
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let Some(found) = find_view(&view, namespace) else {
            return Ok(false);
        };
        let collation = found.definition.get("collation").and_then(Value::as_object);
        let new = definition(
            ctx,
            namespace,
            new_on.unwrap_or_else(|| on(&found)),
            new_pipeline.unwrap_or_else(|| pipeline_of(&found)).to_vec(),
            collation,
        )?;
        graph::check(&view, namespace, &new)?;
        let mut change = MetaChange::default();
        change.put(
            keys::meta_named(MetaKind::View, u64::from(found.database), &found.id),
            view_body(found.database, &found.id, Some(found.made), new),
        );
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(true);
        }
    }
}
