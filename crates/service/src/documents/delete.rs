//! Deletes documents.

use lapsedb_value::Object;

use crate::documents::WRITES_MAX;
use crate::documents::fault::{Fault, Result};
use crate::documents::id::DocumentId;
use crate::documents::insert::batch_size;
use crate::documents::language::Filter;
use crate::documents::look::{Look, not_foreign};
use crate::documents::namespace::Namespace;
use crate::documents::walk::Walk;
use crate::documents::work::Work;
use crate::documents::writing::{Tries, WriteFault, Writing, Wrote};

/// Documents of one commit.
pub(crate) const CHUNK_DOCUMENTS: usize = 500;

/// One statement.
#[derive(Clone, Debug)]
pub struct Delete {
    /// Which documents.
    pub filter: Object,
    /// All that match, not only the first.
    pub many: bool,
}

/// Deletes documents, a statement after the other.
///
/// # Errors
/// When there are no statements or too many, who asks may not, or the engine fails.
pub async fn delete(
    work: &mut Work,
    namespace: &Namespace,
    statements: &[Delete],
    ordered: bool,
) -> Result<Wrote> {
    work.ctx.who.may_write_at_all()?;
    if statements.is_empty() || statements.len() > WRITES_MAX {
        return Err(batch_size(statements.len()));
    }
    let mut wrote = Wrote::default();
    for (index, statement) in statements.iter().enumerate() {
        match one(work, namespace, statement, &mut wrote.n).await {
            Ok(()) => {}
            Err(fault) => {
                wrote.faults.push(WriteFault { index, fault });
                if ordered {
                    break;
                }
            }
        }
    }
    Ok(wrote)
}

async fn one(
    work: &mut Work,
    namespace: &Namespace,
    statement: &Delete,
    n: &mut u64,
) -> Result<()> {
    let filter = Filter::parse(&statement.filter)?;
    let mut walk = Walk::new(filter.source());
    let mut tries = Tries::default();
    while !walk.ended() {
        work.in_time()?;
        let look = Look::fresh(work, namespace).await?;
        let Some(collection) = &look.collection else {
            return not_foreign(&look.view, namespace);
        };
        let before = walk.clone();
        let mut writing = Writing::new(&look.view, collection, namespace);
        let mut deleted = 0;
        'stretch: while !walk.ended() && deleted < CHUNK_DOCUMENTS as u64 {
            for row in walk.next(&look, CHUNK_DOCUMENTS).await? {
                let document = row.document()?;
                if filter.matches(&document)? {
                    let id = DocumentId::of_document(&document);
                    writing.delete(&id, row.body.len()).await?;
                    deleted += 1;
                    if !statement.many {
                        break 'stretch;
                    }
                }
            }
            work.in_time()?;
        }
        let charge = writing.charge();
        if writing.commit(work).await? {
            look.spend(&work.ctx, charge);
            *n += deleted;
            if deleted > 0 && !statement.many {
                return Ok(());
            }
        } else {
            // The same stretch again, as it is now.
            walk = before;
            tries.again()?;
        }
    }
    Ok(())
}

impl Fault {
    /// Whether the command as a whole fails by it, rather than one statement.
    #[must_use]
    pub const fn ends_all(&self) -> bool {
        match self {
            Fault::Said { .. } => false,
            Fault::Other(_) => true,
        }
    }
}
