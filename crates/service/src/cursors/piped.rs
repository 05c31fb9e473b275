//! Documents as a pipeline makes them.

use bytes::Bytes;
use lapsedb_mql::stages::Runner;
use lapsedb_value::Object;

use crate::charge::{self, QueryWork};
use crate::cursors::{Room, Tally, encoded};
use crate::documents::fault::Result;
use crate::documents::foreign::Others;
use crate::documents::{Look, Namespace, Needed, Walk, Work, is_enough, running};

/// Documents that pass the stages at once at most.
const STEP_ROWS: usize = 256;

/// Documents that are only counted pass the stages so many at once.
const STEP_BLANKS: u64 = 4096;

/// A pipeline at work.
pub(crate) struct Piped {
    pub(crate) walk: Walk,
    pub(crate) runner: Runner,
    /// What it looks at in the documents of its collection.
    pub(crate) needed: Needed,
    /// How many documents stand for those of the collection, because only their number matters.
    pub(crate) counted: u64,
    /// Documents that come from no collection.
    pub(crate) given: Vec<Object>,
    pub(crate) finished: bool,
    /// A document that did not fit into the last batch.
    pub(crate) late: Option<Bytes>,
    /// The collection that is read, which may be known by the name of a view.
    pub(crate) base: Namespace,
    /// How many documents are taken up next: as many as suffice, if that is known, then ever more.
    pub(crate) step: usize,
    /// What was looked at.
    pub(crate) tally: Tally,
}

impl Piped {
    /// Fills a batch; true at the end.
    pub(crate) async fn next(
        &mut self,
        work: &Work,
        look: &Look<'_>,
        room: &mut Room,
    ) -> Result<bool> {
        let database = self.base.database.clone();
        let others = Others::new(look, &database, work);
        loop {
            while let Some(document) = self
                .late
                .take()
                .or_else(|| self.runner.take().map(|made| encoded(&made)))
            {
                if let Err(late) = room.take(document) {
                    self.late = Some(late);
                    return Ok(false);
                }
            }
            if self.finished {
                return Ok(true);
            }
            if room.left() == 0 {
                return Ok(false);
            }
            work.in_time()?;
            // No more than fit are taken up, so that what dies before the next batch is not already on its way.
            self.step(look, &others, room.left().min(STEP_ROWS)).await?;
        }
    }

    /// Takes some documents through the stages.
    pub(crate) async fn step(
        &mut self,
        look: &Look<'_>,
        others: &Others<'_>,
        rows: usize,
    ) -> Result<()> {
        let mut documents = std::mem::take(&mut self.given);
        let mut loaded = QueryWork::default();
        let rows = rows.min(self.step);
        self.step = (self.step * 2).min(STEP_ROWS);
        for row in self.walk.next(look, rows).await? {
            loaded.loaded_bytes += row.body.len();
            self.tally.documents += 1;
            self.tally.keys += row.passed;
            documents.push(self.needed.read(&row.body)?);
        }
        let blank = self.counted.min(STEP_BLANKS);
        self.counted -= blank;
        documents.extend((0..blank).map(|_| Object::new()));
        others.spend(charge::query(loaded));
        let flow = self.runner.push(documents, others).await.map_err(running)?;
        if (self.walk.ended() && self.counted == 0) || is_enough(flow) {
            self.finished = true;
            self.runner.finish(others).await.map_err(running)?;
        }
        Ok(())
    }
}
