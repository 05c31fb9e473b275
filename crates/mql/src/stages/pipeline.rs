//! A whole pipeline: read, looked at by the service, and run.

use std::collections::VecDeque;

use lapsedb_value::Budget;
use lapsedb_value::budget::Held;

use super::*;
use crate::accumulators::object_weight;

/// A pipeline that has been read and checked.
#[derive(Clone, Debug)]
pub struct Pipeline {
    stages: Vec<Stage>,
    options: Options,
    asked: Asked,
}

/// What the stages of the client do, from which it is decided whether it may run them. Stages that a view brings along are
/// left out: they were judged when the view was made.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What the pipeline begins with.
    pub begins: Begins,
    /// The other collections of the database that its stages read, those inside stages too.
    pub reads: Vec<Str>,
    /// What becomes of the outcome, if it is written.
    pub writes: Option<Writes>,
}

/// What a pipeline begins with.
#[derive(Clone, Debug)]
pub enum Begins {
    /// The documents of the collection or view that the command names.
    Collection,
    /// Documents that stand in the pipeline itself.
    Documents,
    /// What the service reads instead of a collection.
    Source(Arc<Source>),
}

/// What becomes of the outcome of a pipeline that writes it.
#[derive(Clone, Debug)]
pub enum Writes {
    /// It replaces a collection.
    Out(Arc<Out>),
    /// It is merged into a collection.
    Merge(Arc<Merge>),
}

impl Asked {
    /// What some stages do; they begin the pipeline, or stand behind those of a view.
    fn of(stages: &[Stage], behind_view: bool) -> Asked {
        let begins = match stages.first() {
            Some(Stage::Source(source)) if !behind_view => Begins::Source(Arc::clone(source)),
            Some(Stage::Documents(_)) if !behind_view => Begins::Documents,
            Some(_) | None => Begins::Collection,
        };
        let mut reads = Vec::new();
        stages.iter().for_each(|stage| stage.reads(&mut reads));
        reads.retain(|name| !name.is_empty());
        let writes = match stages.last() {
            Some(Stage::Out(out)) => Some(Writes::Out(Arc::clone(out))),
            Some(Stage::Merge(merge)) => Some(Writes::Merge(Arc::clone(merge))),
            Some(_) | None => None,
        };
        Asked {
            begins,
            reads,
            writes,
        }
    }
}

/// What a pipeline begins with, for the service to serve from an index.
#[derive(Clone, Copy, Debug)]
pub struct Leading<'a> {
    /// The filter of a `$match` at the start.
    pub filter: Option<&'a Filter>,
    /// The order of a `$sort` that follows.
    pub sort: Option<&'a Sort>,
    /// How many documents, in that order, suffice: of `$skip` and `$limit` that follow.
    pub limit: Option<u64>,
}

impl<'a> Leading<'a> {
    /// What some stages begin with.
    pub(crate) fn of(stages: &'a [Stage]) -> Leading<'a> {
        let mut leading = Leading {
            filter: None,
            sort: None,
            limit: None,
        };
        let mut skipped = 0u64;
        for stage in stages {
            match stage {
                Stage::Match(filter)
                    if leading.filter.is_none() && leading.sort.is_none() && skipped == 0 =>
                {
                    leading.filter = Some(filter);
                }
                Stage::Sort(sort) if leading.sort.is_none() && skipped == 0 => {
                    leading.sort = Some(sort.sort());
                }
                Stage::Skip(skip) => skipped = skipped.saturating_add(*skip),
                Stage::Limit(limit) => {
                    leading.limit = Some(skipped.saturating_add(*limit));
                    break;
                }
                _ => break,
            }
        }
        leading
    }
}

impl Pipeline {
    /// Reads a pipeline.
    pub fn parse(stages: &[Value], options: &Options) -> Result<Pipeline> {
        Pipeline::parse_in((stages, 0), options, Place::Main)
    }

    /// Reads the stages of a view and, behind so many of them, those of a client who reads it.
    pub fn parse_behind(stages: &[Value], view: usize, options: &Options) -> Result<Pipeline> {
        Pipeline::parse_in((stages, view), options, Place::Main)
    }

    /// Reads a pipeline that is an update: only stages that change a document by itself.
    pub fn parse_update(stages: &[Value], options: &Options) -> Result<Pipeline> {
        Pipeline::parse_in((stages, 0), options, Place::Update)
    }

    /// Refuses what is no list of stages: one that is no object, has not one name, or a name that no stage has.
    pub fn check_names(stages: &[Value]) -> Result<()> {
        stages.iter().try_for_each(|stage| find(stage).map(drop))
    }

    fn parse_in(
        (stages, view): (&[Value], usize),
        options: &Options,
        place: Place,
    ) -> Result<Pipeline> {
        let context = Context {
            options,
            names: options
                .env
                .names()
                .with_collation(options.collation.clone())
                .with_late_mistakes(place == Place::Update),
            place,
            depth: 0,
        };
        let (mut stages, own) = parse_stages_behind(stages, view, &context)?;
        let asked = Asked::of(stages.get(own..).unwrap_or_default(), view > 0);
        sort::optimize(&mut stages);
        Ok(Pipeline {
            stages,
            options: options.clone(),
            asked,
        })
    }

    /// What the client's own stages do.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    pub(super) fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// What the service reads instead of the collection, if it is not the collection.
    pub fn source(&self) -> Option<&Source> {
        match self.stages.first() {
            Some(Stage::Source(source)) => Some(source),
            _ => None,
        }
    }

    /// The first stage behind the source that is more than a look at one document at a time.
    pub fn beyond_one(&self) -> Option<&'static str> {
        self.stages.iter().skip(1).find_map(Stage::beyond_one)
    }

    /// Whether several stored documents may have taken part in one of the outcome.
    pub fn mixes(&self) -> bool {
        self.stages.iter().any(Stage::mixes)
    }

    /// Whether one of the documents that several took part in may become many.
    pub fn unwinds_mixed(&self) -> bool {
        let mut behind = self.stages.iter().skip_while(|stage| !stage.mixes());
        behind.any(|stage| matches!(stage, Stage::Unwind(_)))
    }

    /// Whether the rest of an outcome can be computed anew once documents have gone: not where each part of it depends on all.
    pub fn is_repeatable(&self) -> bool {
        self.stages.iter().all(Stage::is_repeatable)
    }

    /// Whether all documents are gathered before the first of the outcome.
    pub fn begins_with_group(&self) -> bool {
        matches!(self.stages.first(), Some(Stage::Group(_)))
    }

    /// How many documents the outcome has at most, if a stage says so.
    pub fn outcome_max(&self) -> Option<u64> {
        let mut last = self.stages.iter().rev().map(Stage::hands_on);
        last.find(|most| *most != Some(None)).flatten().flatten()
    }

    /// The other collections that its stages read, those inside stages too.
    pub fn reads(&self) -> Vec<Str> {
        let mut names = Vec::new();
        self.stages.iter().for_each(|stage| stage.reads(&mut names));
        names.retain(|name| !name.is_empty());
        names
    }

    /// Whether the documents stand in the pipeline itself, so that no collection is read.
    pub fn has_own_documents(&self) -> bool {
        matches!(self.stages.first(), Some(Stage::Documents(_)))
    }

    /// The search for places that the pipeline begins with.
    pub fn geo_near(&self) -> Option<&GeoNear> {
        match self.stages.first() {
            Some(Stage::GeoNear(near)) => Some(near),
            _ => None,
        }
    }

    /// Says in which field the places stand that the pipeline begins with.
    pub fn search_places_in(&mut self, key: &str) -> Result<()> {
        let options = self.options.clone();
        if let Some(Stage::GeoNear(near)) = self.stages.first_mut() {
            *near = Arc::new(near.over(key, &options)?);
        }
        Ok(())
    }

    /// The collection that the outcome replaces.
    pub fn out(&self) -> Option<&Out> {
        match self.stages.last() {
            Some(Stage::Out(out)) => Some(out),
            _ => None,
        }
    }

    /// The collection that the outcome is merged into.
    pub fn merge(&self) -> Option<&Merge> {
        match self.stages.last() {
            Some(Stage::Merge(merge)) => Some(merge),
            _ => None,
        }
    }

    /// What the pipeline begins with. The stages themselves stay: what the service has done already is done again.
    pub fn leading(&self) -> Leading<'_> {
        Leading::of(&self.stages)
    }

    /// Leaves out the leading `$sort`, because the documents come in its order.
    pub fn assume_sorted(&mut self) {
        let before = |stage: &Stage| matches!(stage, Stage::Match(_));
        let at = self.stages.iter().position(|stage| !before(stage));
        if let Some(at) = at
            && matches!(self.stages.get(at), Some(Stage::Sort(_)))
        {
            self.stages.remove(at);
        }
    }

    /// What an update makes of a document.
    pub fn apply(&self, document: Object) -> Result<Object> {
        let mut document = document;
        for stage in &self.stages {
            document = match stage {
                Stage::Shape(shape) => shape.apply(document, &self.options.env)?,
                Stage::ReplaceRoot(replace) => replace.apply(&document, &self.options.env)?,
                _ => document,
            };
        }
        Ok(document)
    }
}

/// A pipeline at work.
pub struct Runner {
    chain: Chain,
    out: VecDeque<(Object, Provenance)>,
    /// What the documents of the outcome take.
    held: Held,
    budget: Arc<Budget>,
}

impl Runner {
    /// Sets a pipeline to work.
    pub fn new(pipeline: &Pipeline) -> Runner {
        Runner {
            chain: Chain::new(&pipeline.stages, &pipeline.options).tracking(),
            out: VecDeque::new(),
            held: Held::new(pipeline.options.env.budget()),
            budget: Arc::clone(pipeline.options.env.budget()),
        }
    }

    /// What the request may use: a cursor has another end for each of its batches.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Takes documents; says whether more may change the answer.
    pub async fn push(&mut self, documents: Vec<Object>, foreign: &dyn Foreign) -> Result<Flow> {
        let bytes = documents.iter().map(object_weight).sum();
        self.push_from(documents, Vec::new(), bytes, foreign).await
    }

    /// The same with where each document comes from, in the same order; those without come from nowhere. Their size is known,
    /// at least roughly, from where they were read: weighing each costs time.
    pub async fn push_from(
        &mut self,
        documents: Vec<Object>,
        provenance: Vec<Provenance>,
        bytes: usize,
        foreign: &dyn Foreign,
    ) -> Result<Flow> {
        let read = Held::new(&self.budget);
        read.add(bytes)?;
        let rows = Rows::new(documents, provenance, &self.budget);
        let mut made = Rows::empty(&self.budget);
        let flow = self.chain.push_rows(rows, foreign, &mut made).await?;
        // What has come in goes out again, or is counted by the stage that keeps it.
        made.held().absorb(&read);
        self.take_in(made);
        Ok(flow)
    }

    /// Says that there are no more documents.
    pub async fn finish(&mut self, foreign: &dyn Foreign) -> Result<()> {
        let mut made = Rows::empty(&self.budget);
        self.chain.finish_rows(foreign, &mut made).await?;
        self.take_in(made);
        Ok(())
    }

    fn take_in(&mut self, made: Rows) {
        self.held.absorb(made.held());
        self.out.extend(made);
        self.forget();
    }

    /// Nothing is counted for an outcome that has been taken.
    fn forget(&mut self) {
        if self.out.is_empty() {
            self.held.clear();
        }
    }

    /// The next document of the outcome, if one is ready.
    pub fn take(&mut self) -> Option<Object> {
        self.take_from().map(|(document, _)| document)
    }

    /// The same with where it comes from.
    pub fn take_from(&mut self) -> Option<(Object, Provenance)> {
        let next = self.out.pop_front();
        self.forget();
        next
    }

    /// How many documents of the outcome are ready.
    pub fn ready(&self) -> usize {
        self.out.len()
    }
}
