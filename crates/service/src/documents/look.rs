//! What one statement sees: a view, the collection in it, and what its transaction has changed.

use std::ops::Deref;
use std::sync::Arc;

use lapsedb_store::catalog::UNMADE;
use lapsedb_store::{Collection, View};

use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::namespace::Namespace;
use crate::documents::views;
use crate::documents::work::Work;
use crate::sessions::Overlay;

/// A view of one's own, or a transaction's.
pub(crate) enum Seen<'a> {
    /// Taken for this statement.
    Own(View),
    /// The transaction's.
    Shared(&'a View),
}

impl Deref for Seen<'_> {
    type Target = View;

    fn deref(&self) -> &View {
        match self {
            Seen::Own(view) => view,
            Seen::Shared(view) => view,
        }
    }
}

/// A view and a collection in it, if it is there. Only [`Look::fresh`] and [`Look::beside`] make one, so that every collection
/// that a statement reads or writes is judged in the same way.
pub(crate) struct Look<'a> {
    pub(crate) work: &'a Work,
    pub(crate) view: Seen<'a>,
    pub(crate) collection: Option<Arc<Collection>>,
    pub(crate) overlay: Option<Arc<Overlay>>,
    /// Who writes is not held to the collection's validator.
    bypass: bool,
}

/// A Mongo collection by its name in a view; one that was made through the other door is none.
pub(crate) fn find_collection(view: &View, namespace: &Namespace) -> Option<Arc<Collection>> {
    named(view, namespace).filter(|collection| collection.mongo.is_some())
}

/// Whether there is such a collection.
///
/// # Errors
/// When the engine fails.
pub async fn exists(ctx: &Ctx, namespace: &Namespace) -> Result<bool> {
    let view = ctx.view().await?;
    Ok(find_collection(&view, namespace).is_some())
}

fn named(view: &View, namespace: &Namespace) -> Option<Arc<Collection>> {
    let catalog = view.catalog();
    let database = catalog.database(&namespace.database)?;
    catalog
        .collection(database.number, &namespace.collection)
        .cloned()
}

/// Refuses to write to a collection of the other door, or to a view.
///
/// # Errors
/// When the name belongs to a container that was made through the NoSQL door, or to a view.
pub(crate) fn not_foreign(view: &View, namespace: &Namespace) -> Result<()> {
    match named(view, namespace) {
        Some(collection) if collection.mongo.is_none() => Err(Fault::new(
            code::ILLEGAL_OPERATION,
            format!(
                "'{namespace}' is a container that was made through the NoSQL door; it cannot be written through this one"
            ),
        )),
        Some(_) => Ok(()),
        None => views::refuse(view, namespace),
    }
}

/// Refuses to read an older state of a collection that is dropped, or whose documents now end otherwise: what is dropped is
/// gone from every state, and what is dead now may not be shown by one that does not know it.
///
/// # Errors
/// When that has changed since the view was taken.
async fn as_before(work: &Work, collection: &Collection) -> Result<()> {
    let older = work.kept().is_some() || work.in_transaction();
    if !older || collection.version == UNMADE {
        return Ok(());
    }
    let fresh = work.ctx.view().await?;
    if is_same(&fresh, collection) {
        return Ok(());
    }
    Err(Fault::new(
        code::SNAPSHOT_UNAVAILABLE,
        format!(
            "Unable to read from a snapshot due to pending collection catalog changes; please retry the operation. The collection '{}' was dropped, or how long its documents live has changed, since the snapshot",
            collection.id
        ),
    ))
}

/// The transaction's view, one that is kept, or a fresh one.
async fn seen_by(work: &Work) -> Result<Seen<'_>> {
    if let Some(transaction) = work.transaction() {
        let ended = || Fault::new(code::NO_SUCH_TRANSACTION, "The transaction has ended.");
        let view = transaction.view.as_ref().ok_or_else(ended)?;
        return Ok(Seen::Shared(view));
    }
    Ok(Seen::Own(match work.kept() {
        Some(kept) => kept.view.again(work.ctx.service().clock().now()),
        None => work.ctx.view().await?,
    }))
}

/// Whether a view has a collection whose documents expire in the same way.
fn is_same(view: &View, collection: &Collection) -> bool {
    let found = view.catalog().collection_numbered(collection.cid);
    found.is_some_and(|found| {
        found.version == collection.version
            || (found.policy == collection.policy
                && found.indexes.date_rules() == collection.indexes.date_rules())
    })
}

impl<'a> Look<'a> {
    /// The transaction's view, or a fresh one.
    ///
    /// # Errors
    /// When the name is a view's, the engine fails, or the collection is over its throughput.
    pub(crate) async fn fresh(work: &'a Work, namespace: &Namespace) -> Result<Look<'a>> {
        let view = seen_by(work).await?;
        work.ctx.service().documents_state().seen(view.lsn());
        let look = Look::open(work, view, namespace).await?;
        if look.collection.is_none() {
            views::refuse(&look.view, namespace)?;
        }
        look.admit(&work.ctx)?;
        Ok(look)
    }

    /// Another collection that the same statement reads, through the same view.
    ///
    /// # Errors
    /// As [`Look::fresh`], but a name that is a view's is no collection.
    pub(crate) async fn beside(&self, namespace: &Namespace) -> Result<Look<'_>> {
        Look::open(self.work, Seen::Shared(&self.view), namespace).await
    }

    /// A collection in a view, with what the statement's transaction has changed in it.
    async fn open<'b>(work: &'b Work, view: Seen<'b>, namespace: &Namespace) -> Result<Look<'b>> {
        let collection = work.collection(&view, namespace);
        if let Some(collection) = &collection {
            as_before(work, collection).await?;
        }
        let overlay = work
            .transaction()
            .and_then(|transaction| transaction.overlay(namespace));
        Ok(Look {
            work,
            view,
            collection,
            overlay,
            bypass: work.bypasses_validation(),
        })
    }

    /// Whether a collection that was read for an earlier batch is still there, and its documents expire in the same way.
    ///
    /// # Errors
    /// When the statement reads an older state, in which that has changed since.
    pub(crate) async fn has_still(&self, collection: &Collection) -> Result<bool> {
        if collection.version == UNMADE {
            return Ok(true);
        }
        as_before(self.work, collection).await?;
        Ok(is_same(&self.view, collection))
    }

    /// Whether what it writes is held to no validator.
    pub(crate) const fn bypasses_validation(&self) -> bool {
        self.bypass
    }

    fn admit(&self, ctx: &Ctx) -> Result<()> {
        if let Some(collection) = &self.collection {
            ctx.service().throughputs().admit(&self.view, collection)?;
        }
        Ok(())
    }

    /// Takes what it cost from the collection's throughput.
    pub(crate) fn spend(&self, ctx: &Ctx, charge: f64) {
        if let Some(collection) = &self.collection {
            ctx.service()
                .throughputs()
                .spend(&self.view, collection, charge);
        }
    }
}
