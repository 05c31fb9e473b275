//! Queries that must see everything before their first row.

use lapsedb_query::exec::{Io, Reader};
use lapsedb_query::page::{Place, Position};
use lapsedb_sql::{Executor, Flow};
use lapsedb_value::path::Path;

use super::Run;
use super::page::Page;
use crate::error::{Error, Result};
use crate::turns::pass_on;

/// Items read from the store in one step; between steps other requests get their turn.
const STEP_ITEMS: usize = 128;

impl Run<'_> {
    /// The first rows behind a key. Everything is looked at again for each page, but only these rows are kept. `by_creation`
    /// says that the items come in that order.
    pub(super) async fn whole(
        &self,
        io: &mut Io<'_>,
        mut reader: Reader<'_>,
        mut page: Page,
        path: Option<&Path>,
        by_creation: bool,
    ) -> Result<Page> {
        let mut executor = Executor::page(
            self.bound,
            self.env,
            page.progress,
            page.after.take(),
            page.rows_max() + 1,
            by_creation,
        );
        while let Some(mut step) = reader.next(io, STEP_ITEMS).await? {
            if (self.late)() {
                return Err(Error::query_timed_out());
            }
            // Lists keep the order of creation, which the order of keys is not.
            step.sort_by_key(|candidate| candidate.ordinal);
            let flow = step.iter().try_fold(Flow::More, |flow, candidate| {
                if flow == Flow::Done {
                    return Ok(flow);
                }
                let document = self.document(candidate, path)?;
                Ok::<_, Error>(executor.push_at(document, candidate.ordinal, 0)?)
            })?;
            if flow == Flow::Done {
                break;
            }
            pass_on(|| (self.late)()).await;
        }
        let mut last = None;
        for row in executor.finish_keyed()? {
            if page.is_full() {
                let position = Position {
                    skipped: self.bound.window().0,
                    emitted: page.emitted(),
                    place: Place::After(last.unwrap_or_default()),
                };
                return Ok(page.ended_at(position));
            }
            page.push(row.value);
            last = Some(row.key);
        }
        Ok(page)
    }
}
