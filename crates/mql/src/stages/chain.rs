//! How stages run: documents are pushed in batches from one stage to the next.
//!
//! A stage that has enough says so, and nothing before it is asked for more. Stages that need other collections wait for them
//! between batches; all others never wait.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use lapsedb_value::{Object, Value};

use super::{Leading, Stage};
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
}

/// A stage at work.
pub(crate) enum Work {
    Step(Box<dyn Step>),
    Joint(Box<dyn Joint>),
}

/// Stages at work, one behind the other.
pub(crate) struct Chain {
    works: Vec<Work>,
    /// The first stage that still wants documents: those before it are over.
    first: usize,
    flow: Flow,
    env: Shared,
    /// Whether its first stage leaves something beside documents.
    makes: bool,
}

impl Chain {
    pub(crate) fn new(stages: &[Stage], options: &Options) -> Chain {
        Chain {
            works: stages.iter().map(|stage| stage.start(options)).collect(),
            first: 0,
            flow: Flow::More,
            env: Arc::clone(&options.env),
            makes: stages
                .first()
                .is_some_and(|stage| stage.makes() != Metas::default()),
        }
    }

    /// Pushes documents through all stages.
    pub(crate) async fn push(
        &mut self,
        documents: Vec<Object>,
        foreign: &dyn Foreign,
        out: &mut Vec<Object>,
    ) -> Result<Flow> {
        if self.flow == Flow::More {
            // A chain inside another one goes on with what is beside the documents there.
            let around = self.env.beside();
            if self.makes || !around.is_empty() {
                let besides = vec![around.clone(); documents.len()];
                self.carry_from(self.first, documents, besides, foreign, out)
                    .await?;
                self.env.set_beside(around);
            } else {
                self.run_from(self.first, documents, foreign, out).await?;
            }
        }
        Ok(self.flow)
    }

    /// Tells every stage that there is no more, from the first to the last.
    pub(crate) async fn finish(
        &mut self,
        foreign: &dyn Foreign,
        out: &mut Vec<Object>,
    ) -> Result<()> {
        let mut at = self.first;
        while at < self.works.len() {
            let (mut made, mut besides) = (Vec::new(), Vec::new());
            match self.works.get_mut(at) {
                Some(Work::Step(step)) => {
                    step.finish(&mut made)?;
                    besides = step.besides();
                }
                Some(Work::Joint(joint)) => made = joint.finish(foreign).await?,
                None => {}
            }
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
        mut documents: Vec<Object>,
        foreign: &dyn Foreign,
        out: &mut Vec<Object>,
    ) -> Result<()> {
        for (at, work) in self.works.iter_mut().enumerate().skip(from) {
            if documents.is_empty() {
                return Ok(());
            }
            let mut next = Vec::with_capacity(documents.len());
            match work {
                Work::Step(step) => {
                    for document in documents {
                        if step.push(document, &mut next)? == Flow::Enough {
                            self.first = self.first.max(at);
                            self.flow = Flow::Enough;
                            break;
                        }
                    }
                }
                Work::Joint(joint) => next = joint.batch(documents, foreign).await?,
            }
            documents = next;
        }
        out.append(&mut documents);
        Ok(())
    }

    /// The same for documents that have something beside them: each passes by itself, so that what it becomes keeps it.
    async fn carry_from(
        &mut self,
        from: usize,
        mut documents: Vec<Object>,
        mut besides: Vec<Beside>,
        foreign: &dyn Foreign,
        out: &mut Vec<Object>,
    ) -> Result<()> {
        for (at, work) in self.works.iter_mut().enumerate().skip(from) {
            let (mut next, mut beside_next) = (Vec::with_capacity(documents.len()), Vec::new());
            for (document, beside) in documents.into_iter().zip(besides) {
                self.env.set_beside(beside.clone());
                let (flow, after) = match work {
                    Work::Step(step) => (step.push(document, &mut next)?, self.env.beside()),
                    Work::Joint(joint) => {
                        next.append(&mut joint.batch(vec![document], foreign).await?);
                        (Flow::More, beside)
                    }
                };
                beside_next.resize(next.len(), after);
                if flow == Flow::Enough {
                    self.first = self.first.max(at);
                    self.flow = Flow::Enough;
                    break;
                }
            }
            (documents, besides) = (next, beside_next);
        }
        out.append(&mut documents);
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
