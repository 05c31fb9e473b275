//! How stages run: documents are pushed in batches from one stage to the next.
//!
//! A stage that has enough says so, and nothing before it is asked for more. Stages that need other collections wait for them
//! between batches; all others never wait.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use lapsedb_value::budget::Held;
use lapsedb_value::{Budget, Object, Value};

use super::station::{Rows, Station, Waiting};
use super::{Leading, Provenance, Stage};
use crate::accumulators::object_weight;
use crate::expressions::{Beside, Env, Metas};
use crate::filter::{Filter, Options};
use crate::{MqlError, Result};

/// Memory that one stage may hold. Nothing is written to disk, so more is refused whatever `allowDiskUse` says.
pub const STAGE_BYTES_MAX: usize = 100 * 1024 * 1024;

/// Bytes that a stage makes before the stages behind it take them. So a chain holds little, however much each document becomes.
pub(crate) const HAND_ON_BYTES: usize = 4 * 1024 * 1024;

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
    /// What they take is counted as they are read.
    fn documents<'a>(
        &'a self,
        collection: &'a str,
        filter: Option<&'a Filter>,
        held: &'a Held,
    ) -> Wait<'a, Vec<Object>>;

    /// The documents that a pipeline over a collection begins with: where an index gives its order, only as many as suffice.
    fn leading<'a>(
        &'a self,
        collection: &'a str,
        leading: Leading<'a>,
        held: &'a Held,
    ) -> Wait<'a, Vec<Object>> {
        self.documents(collection, leading.filter, held)
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
    fn documents<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a Filter>,
        _: &'a Held,
    ) -> Wait<'a, Vec<Object>> {
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

/// Documents that a stage has made, and what they take.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) documents: Vec<Object>,
    pub(crate) held: Held,
}

impl Made {
    pub(crate) fn new(budget: &Arc<Budget>) -> Made {
        Made {
            documents: Vec::new(),
            held: Held::new(budget),
        }
    }

    /// Adds a document that has become larger by so many bytes.
    pub(crate) fn push(&mut self, document: Object, bytes: usize) -> Result<()> {
        self.held.add(bytes)?;
        self.documents.push(document);
        Ok(())
    }

    /// Whether it is time to hand them on.
    pub(crate) fn is_enough(&self) -> bool {
        self.held.bytes() >= HAND_ON_BYTES && !self.documents.is_empty()
    }

    pub(super) fn append(&mut self, mut other: Made) {
        self.documents.append(&mut other.documents);
        self.held.absorb(&other.held);
    }
}

/// A stage at work that reads other collections.
pub(crate) trait Joint: Send {
    /// Takes documents from the front, at least one, and hands on what follows from them. It is asked again until none is left.
    fn batch<'a>(
        &'a mut self,
        documents: &'a mut VecDeque<Object>,
        foreign: &'a dyn Foreign,
    ) -> Wait<'a, Made>;

    /// Hands on what follows from there being no more.
    fn finish<'a>(&'a mut self, foreign: &'a dyn Foreign) -> Wait<'a, Made>;

    /// Whether each document that a batch takes is handed on by it, in its place; else it may take part in all that follows.
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
        out: &mut Made,
    ) -> Result<Flow> {
        let rows = Rows::new(documents, Vec::new(), self.env.budget());
        let mut made = self.no_rows();
        let flow = self.push_rows(rows, foreign, &mut made).await?;
        out.append(made.made);
        Ok(flow)
    }

    /// Tells every stage that there is no more, from the first to the last.
    pub(crate) async fn finish(&mut self, foreign: &dyn Foreign, out: &mut Made) -> Result<()> {
        let mut made = self.no_rows();
        self.finish_rows(foreign, &mut made).await?;
        out.append(made.made);
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
                let besides = vec![around.clone(); rows.made.documents.len()];
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
            let budget = self.env.budget();
            budget.set_scratch(0);
            let (made, besides) = station.finish(foreign, budget).await?;
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

    fn no_rows(&self) -> Rows {
        Rows::empty(self.env.budget())
    }

    /// Takes documents through the stages from one on. What a stage makes is handed on before it is too much.
    async fn run_from(
        &mut self,
        from: usize,
        rows: Rows,
        foreign: &dyn Foreign,
        out: &mut Rows,
    ) -> Result<()> {
        let mut current = rows;
        for at in from..self.works.len() {
            if current.is_empty() {
                return Ok(());
            }
            let mut next = self.no_rows();
            next.made.documents.reserve(current.made.documents.len());
            next.provenance.reserve(current.made.documents.len());
            let mut waiting = Waiting::new(current);
            while !waiting.is_empty()
                && self.take_some(at, &mut waiting, foreign, &mut next).await? == Flow::More
            {
                if next.made.is_enough() && !waiting.is_empty() {
                    let ready = std::mem::replace(&mut next, self.no_rows());
                    Box::pin(self.run_from(at + 1, ready, foreign, out)).await?;
                    if self.first > at {
                        // A stage behind this one has enough.
                        break;
                    }
                }
            }
            current = next;
        }
        out.append(current);
        Ok(())
    }

    /// Takes documents through one stage, until all are through or it has made much. One that has enough ends the chain.
    async fn take_some(
        &mut self,
        at: usize,
        waiting: &mut Waiting,
        foreign: &dyn Foreign,
        next: &mut Rows,
    ) -> Result<Flow> {
        let Some(station) = self.works.get_mut(at) else {
            return Ok(Flow::Enough);
        };
        let budget = self.env.budget();
        let flow = station.take_some(waiting, foreign, next, budget).await?;
        if flow == Flow::Enough {
            self.first = self.first.max(at);
            self.flow = Flow::Enough;
        }
        Ok(flow)
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
        let held = Held::new(self.env.budget());
        for at in from..self.works.len() {
            held.absorb(rows.held());
            let (mut next, mut beside_next) = (self.no_rows(), Vec::new());
            for ((document, own), beside) in rows.into_iter().zip(besides) {
                self.env.set_beside(beside.clone());
                let one = Rows::new(vec![document], vec![own], self.env.budget());
                let mut one = Waiting::new(one);
                let mut flow = Flow::More;
                while flow == Flow::More && !one.is_empty() {
                    flow = self.take_some(at, &mut one, foreign, &mut next).await?;
                }
                let after = match self.works.get(at).map(|station| &station.work) {
                    Some(Work::Joint(_)) => beside,
                    Some(Work::Step(_)) | None => self.env.beside(),
                };
                beside_next.resize(next.made.documents.len(), after);
                if flow == Flow::Enough {
                    break;
                }
            }
            (rows, besides) = (next, beside_next);
        }
        out.append(rows);
        out.held().absorb(&held);
        Ok(())
    }
}

/// The memory of one stage, counted.
#[derive(Debug)]
pub(crate) struct Memory {
    stage: &'static str,
    held: Held,
}

impl Memory {
    pub(crate) fn new(stage: &'static str, env: &Env) -> Memory {
        Memory {
            stage,
            held: Held::new(env.budget()),
        }
    }

    /// Counts bytes more, and refuses too many.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<()> {
        self.held.add(bytes)?;
        self.check()
    }

    /// Refuses what is too much for one stage.
    pub(crate) fn check(&self) -> Result<()> {
        match self.held.bytes() <= STAGE_BYTES_MAX {
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

    /// What it counts, to be taken over by what the stage hands on.
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// Counts bytes less.
    pub(crate) fn remove(&mut self, bytes: usize) {
        self.held.remove(bytes);
    }
}

/// Runs a pipeline over documents that are at hand, inside another stage.
pub(crate) async fn run_all(
    stages: &[Stage],
    options: &Options,
    documents: Vec<Object>,
    foreign: &dyn Foreign,
) -> Result<Made> {
    let mut chain = Chain::new(stages, options);
    let mut out = Made::new(options.env.budget());
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
