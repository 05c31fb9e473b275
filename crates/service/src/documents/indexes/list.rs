//! Lists a collection's indexes.

use lapsedb_value::Object;

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::listed;
use crate::documents::look::find_collection;
use crate::documents::namespace::Namespace;
use crate::documents::views;
use crate::documents::work::Work;

/// A collection's indexes as clients see them.
///
/// # Errors
/// When the collection is not there.
pub async fn list_indexes(work: &mut Work, namespace: &Namespace) -> Result<Vec<Object>> {
    let view = work.ctx.view().await?;
    match find_collection(&view, namespace) {
        Some(collection) => Ok(listed(&collection)),
        None => Err(views::refuse(&view, namespace).err().unwrap_or_else(|| {
            Fault::new(
                code::NAMESPACE_NOT_FOUND,
                format!("ns does not exist: {namespace}"),
            )
        })),
    }
}
