//! How stages run: documents are pushed in batches from one stage to the next.
//!
//! A stage that has enough says so, and nothing before it is asked for more. Stages that need other collections wait for them
//! between batches; all others never wait.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use lapsedb_value::{Object, Value};

use super::{Leading, Provenance, Stage};
use crate::accumulators::object_weight;
use crate::expressions::{Beside, Metas};
use crate::filter::{Filter, Options};
use crate::{MqlError, Result};

/// Memory that one stage may hold. Nothing is written to disk, so more is refused whatever `allowDiskUse` says.
pub const STAGE_BYTES_MAX: usize = 100 * 1024 * 1024;

/// Whether the source should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More documents may change the answer.
    More,
    /// No further document changes the answer.
    Enough,
}

/// A future that another crate makes.
pub type Wait<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The other collections of the database, as `$lookup` and its like see them: living documents only.
pub trait Foreign: Send + Sync {
    /// The documents of a collection that fulfil the filter, all of them without one; none if there is no such collection.
    fn documents<'a>(
        &'a self,
        collection: &'a str,
        filter: Option<&'a Filter>,
    ) -> Wait<'a, Vec<Object>>;

    /// The documents that a pipeline over a collection begins with: where an index gives its order, only as many as suffice.
    fn leading<'a>(&'a self, collection: &'a str, leading: Leading<'a>) -> Wait<'a, Vec<Object>> {
        self.documents(collection, leading.filter)
    }

    /// When the first document expires that was read since this was last asked; none, if none was read. The largest number, if
    /// none of them expires.
    fn first_expiry(&self) -> Option<u64> {
        None
    }

    /// Whether an index, or the ids, answer a filter without looking at all documents.
    fn is_served<'a>(&'a self, _: &'a str, _: &'a Filter) -> Wait<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }
}

/// For pipelines that read no other collection: every one is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoForeign;

impl Foreign for NoForeign {
    fn documents<'a>(&'a self, _: &'a str, _: Option<&'a Filter>) -> Wait<'a, Vec<Object>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// A stage at work that never waits.
pub(crate) trait Step: Send {
    /// Takes a document and hands on what follows from it.
    fn push(&mut self, document: Object, out: &mut Vec<Object>) -> Result<Flow>;

    /// Hands on what follows from there being no more.
    fn finish(&mut self, _: &mut Vec<Object>) -> Result<()> {
        Ok(())
    }

    /// What is beside the documents that were handed on last of all, in their order; nothing, if nothing is.
    fn besides(&mut self) -> Vec<Beside> {
        Vec::new()
    }

    /// Whether it holds documents back until there are no more, or makes one of several.
    fn holds(&self) -> bool {
        false
    }

    /// Where the document comes from that is pushed next; asked only of those who hold some.
    fn comes_from(&mut self, _: Provenance) {}

    /// Where the documents come from that were handed on last of all, in their order. Those that are not named may come
    /// from all that it has taken.
    fn provenance(&mut self) -> Vec<Provenance> {
        Vec::new()
    }
}

/// A stage at work that reads other collections.
pub(crate) trait Joint: Send {
    /// Takes documents and hands on what follows from them.
    fn batch<'a>(
        &'a mut self,
        documents: Vec<Object>,
        foreign: &'a dyn Foreign,
    ) -> Wait<'a, Vec<Object>>;

    /// Hands on what follows from there being no more.
    fn finish<'a>(&'a mut self, foreign: &'a dyn Foreign) -> Wait<'a, Vec<Object>>;

    /// Whether each document of a batch is handed on at once, in its place; else it may take part in all that follows.
    fn is_one_to_one(&self) -> bool {
        true
    }

    /// Whether what it has read for one batch may take part in the next one too.
    fn remembers(&self) -> bool {
        false
    }
}

/// A stage at work.
pub(crate) enum Work {
    Step(Box<dyn Step>),
    Joint(Box<dyn Joint>),
}

/// Documents on their way, each with where it comes from.
#[derive(Default)]
pub(crate) struct Rows {
    documents: Vec<Object>,
    /// As many as documents.
    provenance: Vec<Provenance>,
}

impl Rows {
    pub(crate) fn new(documents: Vec<Object>, mut provenance: Vec<Provenance>) -> Rows {
        provenance.resize(documents.len(), Provenance::NONE);
        Rows {
            documents,
            provenance,
        }
    }

    pub(crate) fn plain(documents: Vec<Object>) -> Rows {
        Rows::new(documents, Vec::new())
    }

    /// What was added last comes from there.
    fn come_from(&mut self, provenance: Provenance) {
        self.provenance.resize(self.documents.len(), provenance);
    }

    fn append(&mut self, mut rows: Rows) {
        self.documents.append(&mut rows.documents);
        self.provenance.append(&mut rows.provenance);
    }
}

impl IntoIterator for Rows {
    type Item = (Object, Provenance);
    type IntoIter = std::iter::Zip<std::vec::IntoIter<Object>, std::vec::IntoIter<Provenance>>;

    fn into_iter(self) -> Self::IntoIter {
        self.documents.into_iter().zip(self.provenance)
    }
}

/// A stage at work, and where all comes from that it has taken and may still hand on.
struct Station {
    work: Work,
    gathered: Provenance,
    /// Whether it is known where documents come from.
    tracks: bool,
}

impl Station {
    /// Pushes one document.
    fn push(
        step: &mut dyn Step,
        gathered: &mut Provenance,
        (document, own): (Object, Provenance),
        out: &mut Rows,
    ) -> Result<Flow> {
        let from = match step.holds() {
            true => {
                step.comes_from(own);
                *gathered = gathered.and(&own);
                *gathered
            }
            false => own,
        };
        let flow = step.push(document, &mut out.documents)?;
        out.come_from(from);
        Ok(flow)
    }

    /// Takes documents at once.
    async fn batch(
        joint: &mut dyn Joint,
        (gathered, tracks): (&mut Provenance, bool),
        rows: Rows,
        foreign: &dyn Foreign,
    ) -> Result<Rows> {
        let Rows {
            documents,
            mut provenance,
        } = rows;
        let mut out = Rows {
            documents: joint.batch(documents, foreign).await?,
            provenance: Vec::new(),
        };
        let mut read = tracks.then(|| foreign.first_expiry()).flatten();
        if joint.remembers() {
            *gathered = gathered.beside(read);
            read = gathered.others();
        }
        if joint.is_one_to_one() {
            for own in &mut provenance {
                *own = own.beside(read);
            }
            out.provenance = provenance;
        } else {
            let all = provenance
                .iter()
                .fold(*gathered, |all, own| all.and(own))
                .beside(read);
            *gathered = all;
        }
        out.come_from(*gathered);
        Ok(out)
    }

    /// What follows from there being no more, and what is beside it.
    async fn finish(&mut self, foreign: &dyn Foreign) -> Result<(Rows, Vec<Beside>)> {
        let mut out = Rows::default();
        let mut besides = Vec::new();
        match &mut self.work {
            Work::Step(step) => {
                step.finish(&mut out.documents)?;
                besides = step.besides();
                out.provenance = step.provenance();
                out.come_from(self.gathered);
            }
            Work::Joint(joint) => {
                out.documents = joint.finish(foreign).await?;
                let read = self.tracks.then(|| foreign.first_expiry()).flatten();
                out.come_from(self.gathered.beside(read));
            }
        }
        Ok((out, besides))
    }
}

/// Stages at work, one behind the other.
pub(crate) struct Chain {
    works: Vec<Station>,
    /// The first stage that still wants documents: those before it are over.
    first: usize,
    flow: Flow,
    env: Shared,
    /// Whether its first stage leaves something beside documents.
    makes: bool,
}

impl Chain {
    pub(crate) fn new(stages: &[Stage], options: &Options) -> Chain {
        let station = |stage: &Stage| Station {
            work: stage.start(options),
            gathered: Provenance::NONE,
            tracks: false,
        };
        Chain {
            works: stages.iter().map(station).collect(),
            first: 0,
            flow: Flow::More,
            env: Arc::clone(&options.env),
            makes: stages
                .first()
                .is_some_and(|stage| stage.makes() != Metas::default()),
        }
    }

    /// The same, asking where the documents of other collections come from. A chain inside a stage does not: what it reads is
    /// asked for by the one around it.
    pub(crate) fn tracking(mut self) -> Chain {
        self.works
            .iter_mut()
            .for_each(|station| station.tracks = true);
        self
    }

    /// Pushes documents through all stages.
    pub(crate) async fn push(
        &mut self,
        documents: Vec<Object>,
        foreign: &dyn Foreign,
        out: &mut Vec<Object>,
    ) -> Result<Flow> {
        let mut made = Rows::default();
        let flow = self.push_rows(Rows::plain(documents), foreign, &mut made);
        let flow = flow.await?;
        out.append(&mut made.documents);
        Ok(flow)
    }

    /// Tells every stage that there is no more, from the first to the last.
    pub(crate) async fn finish(
        &mut self,
        foreign: &dyn Foreign,
        out: &mut Vec<Object>,
    ) -> Result<()> {
        let mut made = Rows::default();
        self.finish_rows(foreign, &mut made).await?;
        out.append(&mut made.documents);
        Ok(())
    }

    /// Pushes documents through all stages, with where they come from.
    pub(crate) async fn push_rows(
        &mut self,
        rows: Rows,
        foreign: &dyn Foreign,
        out: &mut Rows,
    ) -> Result<Flow> {
        if self.flow == Flow::More {
            // A chain inside another one goes on with what is beside the documents there.
            let around = self.env.beside();
            if self.makes || !around.is_empty() {
                let besides = vec![around.clone(); rows.documents.len()];
                self.carry_from(self.first, rows, besides, foreign, out)
                    .await?;
                self.env.set_beside(around);
            } else {
                self.run_from(self.first, rows, foreign, out).await?;
            }
        }
        Ok(self.flow)
    }

    /// As [`Chain::finish`], with where documents come from.
    pub(crate) async fn finish_rows(
        &mut self,
        foreign: &dyn Foreign,
        out: &mut Rows,
    ) -> Result<()> {
        let mut at = self.first;
        while let Some(station) = self.works.get_mut(at) {
            let (made, besides) = station.finish(foreign).await?;
            if besides.iter().any(|beside| !beside.is_empty()) {
                self.carry_from(at + 1, made, besides, foreign, out).await?;
                self.env.set_beside(Beside::default());
            } else {
                self.run_from(at + 1, made, foreign, out).await?;
            }
            at = (at + 1).max(self.first);
        }
        Ok(())
    }

    async fn run_from(
        &mut self,
        from: usize,
        mut rows: Rows,
        foreign: &dyn Foreign,
        out: &mut Rows,
    ) -> Result<()> {
        for (at, station) in self.works.iter_mut().enumerate().skip(from) {
            if rows.documents.is_empty() {
                return Ok(());
            }
            let gathered = &mut station.gathered;
            rows = match &mut station.work {
                Work::Step(step) => {
                    let mut next = Rows {
                        documents: Vec::with_capacity(rows.documents.len()),
                        provenance: Vec::with_capacity(rows.documents.len()),
                    };
                    for row in rows {
                        let flow = Station::push(step.as_mut(), gathered, row, &mut next)?;
                        if flow == Flow::Enough {
                            self.first = self.first.max(at);
                            self.flow = Flow::Enough;
                            break;
                        }
                    }
                    next
                }
                Work::Joint(joint) => {
                    let known = (gathered, station.tracks);
                    Station::batch(joint.as_mut(), known, rows, foreign).await?
                }
            };
        }
        out.append(rows);
        Ok(())
    }

    /// The same for documents that have something beside them: each passes by itself, so that what it becomes keeps it.
    async fn carry_from(
        &mut self,
        from: usize,
        mut rows: Rows,
        mut besides: Vec<Beside>,
        foreign: &dyn Foreign,
        out: &mut Rows,
    ) -> Result<()> {
        for (at, station) in self.works.iter_mut().enumerate().skip(from) {
            let (mut next, mut beside_next) = (Rows::default(), Vec::new());
            for (row, beside) in rows.into_iter().zip(besides) {
                self.env.set_beside(beside.clone());
                let gathered = &mut station.gathered;
                let (flow, after) = match &mut station.work {
                    Work::Step(step) => {
                        let flow = Station::push(step.as_mut(), gathered, row, &mut next)?;
                        (flow, self.env.beside())
                    }
                    Work::Joint(joint) => {
                        let one = Rows::new(vec![row.0], vec![row.1]);
                        let known = (gathered, station.tracks);
                        next.append(Station::batch(joint.as_mut(), known, one, foreign).await?);
                        (Flow::More, beside)
                    }
                };
                beside_next.resize(next.documents.len(), after);
                if flow == Flow::Enough {
                    self.first = self.first.max(at);
                    self.flow = Flow::Enough;
                    break;
                }
            }
            (rows, besides) = (next, beside_next);
        }
        out.append(rows);
        Ok(())
    }
}

/// The memory of one stage, counted.
#[derive(Debug)]
pub(crate) struct Memory {
    stage: &'static str,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(stage: &'static str) -> Memory {
        Memory { stage, bytes: 0 }
    }

    /// Counts bytes more, and refuses too many.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes <= STAGE_BYTES_MAX {
            true => Ok(()),
            false => Err(MqlError::new(
                292,
                format!(
                    "Exceeded memory limit for {} of {STAGE_BYTES_MAX} bytes; nothing is spilled to disk here.",
                    self.stage
                ),
            )),
        }
    }

    pub(crate) fn add_document(&mut self, document: &Object) -> Result<()> {
        self.add(object_weight(document))
    }

    /// Counts bytes less.
    pub(crate) fn remove(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// Runs a pipeline over documents that are at hand, inside another stage.
pub(crate) async fn run_all(
    stages: &[Stage],
    options: &Options,
    documents: Vec<Object>,
    foreign: &dyn Foreign,
) -> Result<Vec<Object>> {
    let mut chain = Chain::new(stages, options);
    let mut out = Vec::new();
    chain.push(documents, foreign, &mut out).await?;
    chain.finish(foreign, &mut out).await?;
    Ok(out)
}

/// A document that a stage adds an array of documents to.
pub(crate) fn array_of(documents: Vec<Object>) -> Value {
    Value::Array(documents.into_iter().map(Value::Object).collect())
}

/// What a stage keeps of the options: they are shared, never copied.
pub(crate) type Shared = Arc<crate::expressions::Env>;
