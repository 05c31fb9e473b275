//! `$facet`: several pipelines over the same documents, each outcome a field.

use std::collections::VecDeque;

use super::chain::HAND_ON_BYTES;
use super::*;
use crate::accumulators::object_weight;

/// The pipelines by name.
#[derive(Clone, Debug)]
pub(crate) struct Facet {
    pipelines: Vec<(Str, Vec<Stage>)>,
}

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let object = spec.as_object().filter(|object| !object.is_empty());
    let object = object.ok_or_else(|| {
        let message = format!(
            "the $facet specification must be a non-empty object, but found: $facet: {spec}"
        );
        MqlError::new(40169, message)
    })?;
    let inner = context.inside(Place::Facet)?;
    let mut pipelines = Vec::with_capacity(object.len());
    for (name, value) in object {
        path::check_member_name(name)?;
        let Some(list) = value.as_array() else {
            let found = type_name(value);
            let message = format!("arguments to $facet must be arrays, {name} is type {found}");
            return Err(MqlError::new(40170, message));
        };
        if let Some(other) = list
            .iter()
            .find(|stage| stage.as_object().is_none_or(Object::is_empty))
        {
            let found = type_name(other);
            let message = format!(
                "elements of arrays in $facet spec must be non-empty objects, {name} argument contained an element of type {found}"
            );
            return Err(MqlError::new(40171, message));
        }
        let mut stages = parse_stages(list, &inner)?;
        sort::optimize(&mut stages);
        pipelines.push((name.clone(), stages));
    }
    Ok(vec![Stage::Facet(Arc::new(Facet { pipelines }))])
}

impl Facet {
    /// Whether all its pipelines are repeatable.
    pub(super) fn is_repeatable(&self) -> bool {
        let mut stages = self.pipelines.iter().flat_map(|(_, stages)| stages);
        stages.all(Stage::is_repeatable)
    }

    /// The collections it reads.
    pub(super) fn reads(&self, names: &mut Vec<Str>) {
        let stages = self.pipelines.iter().flat_map(|(_, stages)| stages);
        stages.for_each(|stage| stage.reads(names));
    }
}

pub(super) fn start(facet: &Arc<Facet>, options: &Options) -> Work {
    let start = |(name, stages): &(Str, Vec<Stage>)| Branch {
        name: name.clone(),
        chain: Chain::new(stages, options),
        made: Made::new(options.env.budget()),
    };
    Work::Joint(Box::new(Faceting {
        branches: facet.pipelines.iter().map(start).collect(),
        memory: Memory::new("$facet", &options.env),
        env: Arc::clone(&options.env),
    }))
}

struct Branch {
    name: Str,
    chain: Chain,
    made: Made,
}

struct Faceting {
    branches: Vec<Branch>,
    memory: Memory,
    env: Shared,
}

impl Joint for Faceting {
    fn is_one_to_one(&self) -> bool {
        false
    }

    fn batch<'a>(
        &'a mut self,
        documents: &'a mut VecDeque<Object>,
        foreign: &'a dyn Foreign,
    ) -> Wait<'a, Made> {
        Box::pin(async move {
            // Each branch gets copies of so many that they take little.
            let copied = Made::new(self.env.budget());
            let mut some = Vec::new();
            while let Some(document) = documents.pop_front() {
                copied.held.add(2 * object_weight(&document))?;
                some.push(document);
                if copied.held.bytes() >= HAND_ON_BYTES {
                    break;
                }
            }
            for branch in &mut self.branches {
                let before = branch.made.documents.len();
                branch
                    .chain
                    .push(some.clone(), foreign, &mut branch.made)
                    .await?;
                for document in branch.made.documents.iter().skip(before) {
                    self.memory.add_document(document)?;
                }
                // Counted as the memory of this stage.
                branch.made.held.clear();
            }
            Ok(Made::new(self.env.budget()))
        })
    }

    fn finish<'a>(&'a mut self, foreign: &'a dyn Foreign) -> Wait<'a, Made> {
        Box::pin(async move {
            let mut outcome = Object::with_capacity(self.branches.len());
            for branch in &mut self.branches {
                let before = branch.made.documents.len();
                branch.chain.finish(foreign, &mut branch.made).await?;
                for document in branch.made.documents.iter().skip(before) {
                    self.memory.add_document(document)?;
                }
                branch.made.held.clear();
                let documents = std::mem::take(&mut branch.made.documents);
                outcome.push(branch.name.clone(), array_of(documents));
            }
            let mut made = Made::new(self.env.budget());
            made.push(outcome, 0)?;
            Ok(made)
        })
    }
}
