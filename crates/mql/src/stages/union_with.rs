//! `$unionWith`: the documents of another collection behind those of this one.

use std::collections::VecDeque;

use super::*;

/// The other collection, and what is made of its documents.
#[derive(Clone, Debug)]
pub(crate) struct UnionWith {
    collection: Str,
    stages: Vec<Stage>,
}

pub(super) fn parse(
    stage: &'static str,
    spec: &Value,
    context: &Context<'_>,
) -> Result<Vec<Stage>> {
    let (mut collection, mut raw) = (Str::default(), Vec::new());
    match spec {
        Value::String(name) => collection = name.clone(),
        Value::Object(object) => {
            for (name, value) in object {
                match (name.as_str(), value) {
                    ("coll", Value::String(name)) => collection = name.clone(),
                    ("coll", other) => return Err(wrong_type(stage, "coll", other, "string")),
                    ("pipeline", Value::Array(stages)) => raw.clone_from(stages),
                    ("pipeline", other) => {
                        return Err(wrong_type(stage, "pipeline", other, "array"));
                    }
                    (other, _) => return Err(unknown_field(stage, other)),
                }
            }
        }
        other => {
            let found = type_name(other);
            return Err(MqlError::failed_to_parse(format!(
                "the $unionWith stage specification must be an object or string, but found {found}"
            )));
        }
    }
    if collection.is_empty() && !lookup::begins_with_documents(&raw) {
        return Err(MqlError::failed_to_parse(
            "$unionWith stage without explicit collection must have a pipeline with $documents as first stage",
        ));
    }
    let options = context.options.of_collection(&collection);
    let inner = Context {
        options: &options,
        ..context.inside(Place::Union)?
    };
    let mut stages = parse_stages(&raw, &inner)?;
    sort::optimize(&mut stages);
    Ok(vec![Stage::UnionWith(Arc::new(UnionWith {
        collection,
        stages,
    }))])
}

impl UnionWith {
    /// The collections it reads.
    pub(super) fn reads(&self, names: &mut Vec<Str>) {
        names.push(self.collection.clone());
        self.stages.iter().for_each(|stage| stage.reads(names));
    }
}

pub(super) fn start(union: &Arc<UnionWith>, options: &Options) -> Work {
    Work::Joint(Box::new(Uniting {
        union: Arc::clone(union),
        options: options.clone(),
    }))
}

struct Uniting {
    union: Arc<UnionWith>,
    options: Options,
}

impl Joint for Uniting {
    fn batch<'a>(
        &'a mut self,
        documents: &'a mut VecDeque<Object>,
        _: &'a dyn Foreign,
    ) -> Wait<'a, Made> {
        let mut made = Made::new(self.options.env.budget());
        made.documents = documents.drain(..).collect();
        Box::pin(std::future::ready(Ok(made)))
    }

    fn finish<'a>(&'a mut self, foreign: &'a dyn Foreign) -> Wait<'a, Made> {
        Box::pin(async move {
            let leading = Leading::of(&self.union.stages);
            let read = Made::new(self.options.env.budget());
            let documents = match self.union.collection.as_str() {
                "" => Vec::new(),
                name => foreign.leading(name, leading, &read.held).await?,
            };
            let made = run_all(&self.union.stages, &self.options, documents, foreign).await?;
            made.held.absorb(&read.held);
            Ok(made)
        })
    }
}
