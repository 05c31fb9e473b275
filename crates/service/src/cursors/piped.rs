//! Documents as a pipeline makes them.
//!
//! Stages may hold documents back from one batch to the next, so each is judged when it leaves. What stems from one stored
//! document leaves only while that is live. What several took part in — a group, a join — is of no use once the first of them has
//! expired: then the pipeline is run anew at the time of the batch, and what was handed out before is passed over.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_mql::stages::{Provenance, Runner};
use lapsedb_record::Millis;
use lapsedb_store::Collection;
use lapsedb_value::Object;

use crate::charge::{self, QueryWork};
use crate::cursors::{HandedOut, Room, Tally, encoded};
use crate::documents::fault::Result;
use crate::documents::foreign::Others;
use crate::documents::{Look, Namespace, Needed, Recipe, Walk, Work, is_enough, running};

/// Documents that pass the stages at once at most.
const STEP_ROWS: usize = 256;

/// Bytes that a document takes in memory for each byte of its body, as most do.
const BODY_FACTOR: usize = 4;

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
    pub(crate) late: Option<Made>,
    /// The collection that is read, which may be known by the name of a view.
    pub(crate) base: Namespace,
    /// How many documents are taken up next: as many as suffice, if that is known, then ever more.
    pub(crate) step: usize,
    /// What was looked at.
    pub(crate) tally: Tally,
    /// How it is run anew; none where nobody comes back for more.
    pub(crate) recipe: Option<Arc<Recipe>>,
    pub(crate) handed_out: HandedOut,
    /// The collections that were read, as they were then.
    pub(crate) read: Vec<Arc<Collection>>,
    /// Since when it waits for its first batch; none, once that was asked for.
    pub(crate) waits_since: Option<Millis>,
    /// How many documents it hands out at most, once it was run anew: those that have expired since leave no room for others.
    pub(crate) rows_max: Option<u64>,
}

/// A document that a pipeline has made.
pub(crate) struct Made {
    body: Bytes,
    provenance: Provenance,
    kind: u64,
}

/// What becomes of a document that is about to leave.
enum Verdict {
    Live,
    Expired,
    /// It was computed from documents some of which have expired.
    Stale,
}

/// How the filling of a batch ended.
enum Filled {
    Full,
    Ended,
    /// What is left must be computed anew.
    Stale,
}

impl Piped {
    /// Fills a batch; true at the end.
    pub(crate) async fn next(
        &mut self,
        work: &Work,
        look: &Look<'_>,
        room: &mut Room,
    ) -> Result<bool> {
        // What is made for this batch is judged by being read; what waits from an earlier one is judged when it leaves.
        let (mut judges, mut changed) = (true, false);
        match self.waits_since.take() {
            Some(since) => {
                judges = false;
                if since < look.view.now() {
                    self.run_anew(work, look).await?;
                }
            }
            None => changed = has_changed(&self.read, look).await?,
        }
        loop {
            let judged = judges.then_some(changed);
            match self.fill(work, look, room, judged).await? {
                Filled::Full => return Ok(false),
                Filled::Ended => return Ok(true),
                Filled::Stale => {
                    self.run_anew(work, look).await?;
                    judges = false;
                }
            }
        }
    }

    /// Begins again at the time of a look.
    async fn run_anew(&mut self, work: &Work, look: &Look<'_>) -> Result<()> {
        let Some(recipe) = self.recipe.clone() else {
            return Ok(());
        };
        let handed_out = std::mem::take(&mut self.handed_out).again(&recipe.pipeline)?;
        let fresh = recipe.start(work, look, &self.base).await?;
        *self = Piped {
            handed_out,
            waits_since: None,
            rows_max: recipe.pipeline.outcome_max(),
            ..fresh
        };
        Ok(())
    }

    async fn fill(
        &mut self,
        work: &Work,
        look: &Look<'_>,
        room: &mut Room,
        judged: Option<bool>,
    ) -> Result<Filled> {
        let database = self.base.database.clone();
        let others = Others::new(look, &database, work);
        let filled = self.fill_from(&others, work, look, (room, judged)).await;
        for collection in others.into_collections() {
            if !self.read.iter().any(|known| known.cid == collection.cid) {
                self.read.push(collection);
            }
        }
        filled
    }

    async fn fill_from(
        &mut self,
        others: &Others<'_>,
        work: &Work,
        look: &Look<'_>,
        (room, judged): (&mut Room, Option<bool>),
    ) -> Result<Filled> {
        loop {
            while let Some(made) = self.take()? {
                if let Some(changed) = judged {
                    let can_run_anew = self.handed_out.remembers();
                    let verdict = judge(look, &made.provenance, (changed, can_run_anew)).await?;
                    match verdict {
                        Verdict::Live => {}
                        Verdict::Expired => continue,
                        Verdict::Stale => return Ok(Filled::Stale),
                    }
                }
                let rows = self.handed_out.rows();
                if self.rows_max.is_some_and(|max| rows >= max) {
                    return Ok(Filled::Ended);
                }
                let Made {
                    body,
                    provenance,
                    kind,
                } = made;
                if let Err(body) = room.take(body) {
                    self.late = Some(Made {
                        body,
                        provenance,
                        kind,
                    });
                    return Ok(Filled::Full);
                }
                self.handed_out.add(kind);
            }
            if self.finished {
                return Ok(Filled::Ended);
            }
            if room.left() == 0 {
                return Ok(Filled::Full);
            }
            work.in_time().await?;
            // No more than fit are taken up, so that little waits for the next batch.
            self.step(look, others, room.left().min(STEP_ROWS)).await?;
        }
    }

    /// The next document that was not handed out before.
    fn take(&mut self) -> Result<Option<Made>> {
        if let Some(late) = self.late.take() {
            return Ok(Some(late));
        }
        while let Some((document, provenance)) = self.runner.take_from() {
            let body = encoded(&document);
            let kind = self.handed_out.kind(&body, &provenance)?;
            if !self.handed_out.passes_over(kind) {
                return Ok(Some(Made {
                    body,
                    provenance,
                    kind,
                }));
            }
        }
        Ok(None)
    }

    /// Takes some documents through the stages.
    pub(crate) async fn step(
        &mut self,
        look: &Look<'_>,
        others: &Others<'_>,
        rows: usize,
    ) -> Result<()> {
        let mut documents = std::mem::take(&mut self.given);
        let mut provenance = vec![Provenance::NONE; documents.len()];
        let mut loaded = QueryWork::default();
        let rows = rows.min(self.step);
        self.step = (self.step * 2).min(STEP_ROWS);
        for row in self.walk.next(look, rows).await? {
            loaded.loaded_bytes += row.body.len();
            self.tally.documents += 1;
            self.tally.keys += row.passed;
            documents.push(self.needed.read(&row.body)?);
            provenance.push(row.provenance());
        }
        let blank = self.counted.min(STEP_BLANKS);
        self.counted -= blank;
        documents.extend((0..blank).map(|_| Object::new()));
        others.spend(charge::query(loaded));
        let bytes = loaded.loaded_bytes.saturating_mul(BODY_FACTOR);
        let pushed = self
            .runner
            .push_from(documents, provenance, bytes, others)
            .await;
        let flow = pushed.map_err(running)?;
        if (self.walk.ended() && self.counted == 0) || is_enough(flow) {
            self.finished = true;
            self.runner.finish(others).await.map_err(running)?;
        }
        Ok(())
    }
}

/// Whether a collection that was read is gone, or its documents expire otherwise now.
async fn has_changed(read: &[Arc<Collection>], look: &Look<'_>) -> Result<bool> {
    for collection in read {
        if !look.has_still(collection).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a document that was made for an earlier batch may leave. If settings have changed since, no expiry that was known
/// then counts.
async fn judge(
    look: &Look<'_>,
    provenance: &Provenance,
    (changed, can_run_anew): (bool, bool),
) -> Result<Verdict> {
    let is_over = |expires: u64| changed || expires <= look.view.now().0;
    if provenance.others().is_some_and(is_over) {
        return Ok(match can_run_anew {
            true => Verdict::Stale,
            // It is a document that only its transaction has.
            false => Verdict::Expired,
        });
    }
    let Some(stored) = provenance.stored().filter(|stored| is_over(stored.expires)) else {
        return Ok(Verdict::Live);
    };
    // Somebody may have written it anew since; not as a transaction sees it.
    let live = match &look.collection {
        Some(collection) if !look.work.in_transaction() => {
            look.view.key_of(collection, stored.number).await?.is_some()
        }
        Some(_) | None => false,
    };
    Ok(match live {
        true => Verdict::Live,
        false => Verdict::Expired,
    })
}
