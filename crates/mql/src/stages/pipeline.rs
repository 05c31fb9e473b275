//! A whole pipeline: read, looked at by the service, and run.

use std::collections::VecDeque;

use super::*;

/// A pipeline that has been read and checked.
#[derive(Clone, Debug)]
pub struct Pipeline {
    stages: Vec<Stage>,
    options: Options,
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
        Pipeline::parse_in(stages, options, Place::Main)
    }

    /// Reads a pipeline that is an update: only stages that change a document by itself.
    pub fn parse_update(stages: &[Value], options: &Options) -> Result<Pipeline> {
        Pipeline::parse_in(stages, options, Place::Update)
    }

    fn parse_in(stages: &[Value], options: &Options, place: Place) -> Result<Pipeline> {
        let context = Context {
            options,
            names: options
                .env
                .names()
                .with_collation(options.collation.clone()),
            place,
            depth: 0,
        };
        let mut stages = parse_stages(stages, &context)?;
        sort::optimize(&mut stages);
        Ok(Pipeline {
            stages,
            options: options.clone(),
        })
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
}

impl Runner {
    /// Sets a pipeline to work.
    pub fn new(pipeline: &Pipeline) -> Runner {
        Runner {
            chain: Chain::new(&pipeline.stages, &pipeline.options).tracking(),
            out: VecDeque::new(),
        }
    }

    /// Takes documents; says whether more may change the answer.
    pub async fn push(&mut self, documents: Vec<Object>, foreign: &dyn Foreign) -> Result<Flow> {
        self.push_rows(Rows::plain(documents), foreign).await
    }

    /// The same with where each document comes from, in the same order; those without come from nowhere.
    pub async fn push_from(
        &mut self,
        documents: Vec<Object>,
        provenance: Vec<Provenance>,
        foreign: &dyn Foreign,
    ) -> Result<Flow> {
        self.push_rows(Rows::new(documents, provenance), foreign)
            .await
    }

    async fn push_rows(&mut self, rows: Rows, foreign: &dyn Foreign) -> Result<Flow> {
        let mut made = Rows::default();
        let flow = self.chain.push_rows(rows, foreign, &mut made).await?;
        self.out.extend(made);
        Ok(flow)
    }

    /// Says that there are no more documents.
    pub async fn finish(&mut self, foreign: &dyn Foreign) -> Result<()> {
        let mut made = Rows::default();
        self.chain.finish_rows(foreign, &mut made).await?;
        self.out.extend(made);
        Ok(())
    }

    /// The next document of the outcome, if one is ready.
    pub fn take(&mut self) -> Option<Object> {
        self.take_from().map(|(document, _)| document)
    }

    /// The same with where it comes from.
    pub fn take_from(&mut self) -> Option<(Object, Provenance)> {
        self.out.pop_front()
    }

    /// How many documents of the outcome are ready.
    pub fn ready(&self) -> usize {
        self.out.len()
    }
}
