//! Pipelines: stages that documents pass through, one after the other.

use std::sync::Arc;

use lapsedb_value::{Object, Str, Value};

use crate::expressions::values::type_name;
use crate::expressions::{Beside, Expr, Metas, Names, path, unavailable};
use crate::filter::{Filter, Options};
use crate::sort::Sort;
use crate::{MqlError, Result};

mod add_fields;
mod bucket;
mod bucket_auto;
mod count;
mod densify;
mod documents;
mod facet;
mod fields;
mod fill;
mod geo_near;
mod graph_lookup;
mod group;
mod limit;
mod lookup;
mod match_filter;
mod merge;
mod out;
mod project;
mod redact;
mod replace_root;
mod replace_with;
mod sample;
mod set_window_fields;
mod skip;
mod sort;
mod sort_by_count;
mod source;
mod union_with;
mod unset;
mod unwind;

mod chain;
mod pipeline;
mod provenance;
pub(crate) mod shape;
mod station;

pub use chain::{Flow, Foreign, NoForeign, STAGE_BYTES_MAX, Wait};
pub use geo_near::GeoNear;
pub use merge::{Merge, WhenMatched, WhenNotMatched};
pub use out::Out;
pub use pipeline::{Asked, Begins, Leading, Pipeline, Runner, Writes};
pub use provenance::{Provenance, StoredDocument};
pub use source::Source;

use chain::{Chain, Joint, Made, Memory, Shared, Step, Work, array_of, run_all};
use shape::Shape;
use station::Rows;

/// Stages that a pipeline may have, those inside stages apart.
pub const PIPELINE_STAGES_MAX: usize = 1000;

/// Pipelines that may lie inside one another.
pub const PIPELINE_DEPTH_MAX: usize = 20;

/// A stage that has been read and checked.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    Match(Arc<Filter>),
    Shape(Arc<Shape>),
    Group(Arc<group::Group>),
    Sort(Arc<sort::Ordered>),
    Limit(u64),
    Skip(u64),
    Unwind(Arc<unwind::Unwind>),
    ReplaceRoot(Arc<replace_root::ReplaceRoot>),
    Facet(Arc<facet::Facet>),
    Sample(usize),
    Lookup(Arc<lookup::Lookup>),
    GraphLookup(Arc<graph_lookup::GraphLookup>),
    UnionWith(Arc<union_with::UnionWith>),
    BucketAuto(Arc<bucket_auto::BucketAuto>),
    SetWindowFields(Arc<set_window_fields::Windows>),
    Redact(Arc<redact::Redact>),
    Densify(Arc<densify::Densify>),
    GeoNear(Arc<geo_near::GeoNear>),
    /// Documents that stand in the pipeline itself.
    Documents(Arc<documents::Documents>),
    /// What the service reads instead of a collection.
    Source(Arc<Source>),
    /// What the service does with the outcome.
    Out(Arc<Out>),
    /// What the service does with the outcome.
    Merge(Arc<Merge>),
}

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Main,
    Facet,
    Lookup,
    Union,
    Update,
}

/// What a stage is read with.
#[derive(Clone)]
pub(crate) struct Context<'a> {
    pub(crate) options: &'a Options,
    pub(crate) names: Names,
    pub(crate) place: Place,
    pub(crate) depth: usize,
}

impl Context<'_> {
    /// The same for a pipeline inside a stage.
    fn inside(&self, place: Place) -> Result<Context<'_>> {
        if self.depth >= PIPELINE_DEPTH_MAX {
            let message = format!(
                "Maximum number of nested sub-pipelines exceeded. Limit is {PIPELINE_DEPTH_MAX}"
            );
            return Err(MqlError::new(232, message));
        }
        Ok(Context {
            options: self.options,
            names: match place {
                Place::Lookup | Place::Union => self.names.clone().with_metas(Metas::default()),
                Place::Main | Place::Facet | Place::Update => self.names.clone(),
            },
            place,
            depth: self.depth + 1,
        })
    }
}

/// Reads the argument of a stage; some stages are short for several.
type Parse = fn(&'static str, &Value, &Context<'_>) -> Result<Vec<Stage>>;

/// Sorted by name, so that a search halves it.
const STAGES: &[(&str, Parse)] = &[
    ("$addFields", add_fields::parse),
    ("$bucket", bucket::parse),
    ("$bucketAuto", bucket_auto::parse),
    ("$changeStream", source::parse),
    ("$collStats", source::parse),
    ("$count", count::parse),
    ("$currentOp", source::parse),
    ("$densify", densify::parse),
    ("$documents", documents::parse),
    ("$facet", facet::parse),
    ("$fill", fill::parse),
    ("$geoNear", geo_near::parse),
    ("$graphLookup", graph_lookup::parse),
    ("$group", group::parse),
    ("$indexStats", source::parse),
    ("$limit", limit::parse),
    ("$listLocalSessions", source::parse),
    ("$listSessions", source::parse),
    ("$lookup", lookup::parse),
    ("$match", match_filter::parse),
    ("$merge", merge::parse),
    ("$out", out::parse),
    ("$planCacheStats", source::parse),
    ("$project", project::parse),
    ("$redact", redact::parse),
    ("$replaceRoot", replace_root::parse),
    ("$replaceWith", replace_with::parse),
    ("$sample", sample::parse),
    ("$set", add_fields::parse),
    ("$setWindowFields", set_window_fields::parse),
    ("$skip", skip::parse),
    ("$sort", sort::parse),
    ("$sortByCount", sort_by_count::parse),
    ("$unionWith", union_with::parse),
    ("$unset", unset::parse),
    ("$unwind", unwind::parse),
];

/// The names of all stages, in order.
pub fn stage_names() -> impl Iterator<Item = &'static str> {
    STAGES.iter().map(|(name, _)| *name)
}

/// Reads the stages of a pipeline and checks that each stands where it may.
pub(crate) fn parse_stages(list: &[Value], context: &Context<'_>) -> Result<Vec<Stage>> {
    parse_stages_behind(list, 0, context).map(|(stages, _)| stages)
}

/// The same, where the first ones are a view's; also says how many stages these have become.
fn parse_stages_behind(
    list: &[Value],
    view: usize,
    context: &Context<'_>,
) -> Result<(Vec<Stage>, usize)> {
    if list.len() > PIPELINE_STAGES_MAX {
        let message =
            format!("Pipeline length must be no longer than {PIPELINE_STAGES_MAX} stages");
        return Err(MqlError::new(7749501, message));
    }
    let mut stages = Vec::with_capacity(list.len());
    let (mut context, mut of_view) = (context.clone(), 0);
    for (at, value) in list.iter().enumerate() {
        if at == view {
            of_view = stages.len();
        }
        let (name, spec, parse) = find(value)?;
        check_place(name, at, list.len(), &context)?;
        if !FREE_FIELDS.contains(&name) {
            refuse_duplicates(name, spec)?;
        }
        let parsed = parse(name, spec, &context)?;
        if let [made] = parsed.as_slice() {
            made.check_search(at, context.place)?;
            let known = made.makes();
            if known != Metas::default() {
                context.names = context.names.with_metas(known);
            }
        }
        stages.extend(parsed);
    }
    if list.len() <= view {
        of_view = stages.len();
    }
    Ok((stages, of_view))
}

/// Stages that only MongoDB Atlas has.
const ATLAS_STAGES: [&str; 4] = [
    "$listSearchIndexes",
    "$search",
    "$searchMeta",
    "$vectorSearch",
];

/// What a command or stage is answered that needs MongoDB Atlas.
#[must_use]
pub fn no_search(name: &str) -> MqlError {
    MqlError::new(
        31082,
        format!(
            "'{name}' is not available on this server: search indexes require MongoDB Atlas. Text indexes and $text work here"
        ),
    )
}

fn find(value: &Value) -> Result<(&'static str, &Value, Parse)> {
    let Some(object) = value.as_object() else {
        return Err(MqlError::type_mismatch(
            "Each element of the 'pipeline' array must be an object",
        ));
    };
    let [(name, spec)] = object.as_slice() else {
        return Err(MqlError::new(
            40323,
            "A pipeline stage specification object must contain exactly one field.",
        ));
    };
    let at = STAGES.binary_search_by(|(known, _)| (*known).cmp(name));
    match at.ok().and_then(|at| STAGES.get(at)) {
        Some((name, parse)) => Ok((name, spec, *parse)),
        None if ATLAS_STAGES.contains(&name.as_str()) => Err(no_search(name)),
        None => Err(MqlError::new(
            40324,
            format!("Unrecognized pipeline stage name: '{name}'"),
        )),
    }
}

/// Stages whose fields are not options but paths, conditions or names that the client chooses: each of them says itself what
/// a field that comes twice means.
const FREE_FIELDS: &[&str] = &[
    "$addFields",
    "$documents",
    "$facet",
    "$group",
    "$match",
    "$project",
    "$redact",
    "$replaceWith",
    "$set",
    "$sort",
    "$sortByCount",
];

/// Refuses an option that is given twice: whoever reads the stage must read the same one.
fn refuse_duplicates(stage: &str, spec: &Value) -> Result<()> {
    match spec.as_object().and_then(Object::duplicate) {
        None => Ok(()),
        Some(name) => Err(MqlError::new(
            40413,
            format!("BSON field '{stage}.{name}' is a duplicate field"),
        )),
    }
}

/// Stages that make documents instead of taking them.
const FIRST_ONLY: &[&str] = &[
    "$changeStream",
    "$collStats",
    "$currentOp",
    "$documents",
    "$geoNear",
    "$indexStats",
    "$listLocalSessions",
    "$listSessions",
    "$planCacheStats",
];

/// Stages that an update may be written in.
const IN_UPDATES: &[&str] = &[
    "$addFields",
    "$project",
    "$replaceRoot",
    "$replaceWith",
    "$set",
    "$unset",
];

fn check_place(name: &str, at: usize, count: usize, context: &Context<'_>) -> Result<()> {
    let writes = matches!(name, "$out" | "$merge");
    let refused = |code, message: String| Err(MqlError::new(code, message));
    match context.place {
        Place::Update if !IN_UPDATES.contains(&name) => refused(
            72,
            format!("{name} is not allowed to be used within an update"),
        ),
        Place::Facet if writes || name == "$facet" || FIRST_ONLY.contains(&name) => refused(
            40600,
            format!("{name} is not allowed to be used within a $facet stage"),
        ),
        Place::Lookup if writes || name == "$changeStream" => refused(
            51047,
            format!("{name} is not allowed within a $lookup's sub-pipeline"),
        ),
        Place::Union if writes || name == "$changeStream" => refused(
            31441,
            format!("{name} is not allowed within a $unionWith's sub-pipeline"),
        ),
        _ if writes && at + 1 != count => refused(
            40601,
            format!("{name} can only be the final stage in the pipeline"),
        ),
        _ if at > 0 && name == "$geoNear" => refused(
            40603,
            "$geoNear is only valid as the first stage in an optimized pipeline".to_owned(),
        ),
        _ if at > 0 && FIRST_ONLY.contains(&name) => refused(
            40602,
            format!("{name} is only valid as the first stage in a pipeline"),
        ),
        _ => Ok(()),
    }
}

impl Stage {
    /// What the stage leaves beside its documents.
    pub(crate) fn makes(&self) -> Metas {
        match self {
            Stage::Match(filter) => Metas {
                text_score: filter.text().is_some(),
                distance: false,
            },
            Stage::GeoNear(_) => Metas {
                text_score: false,
                distance: true,
            },
            _ => Metas::default(),
        }
    }

    /// The name of a stage that takes or gives more than a document at a time, or writes.
    fn beyond_one(&self) -> Option<&'static str> {
        match self {
            Stage::Match(_) | Stage::Shape(_) | Stage::ReplaceRoot(_) | Stage::Redact(_) => None,
            Stage::Group(_) => Some("$group"),
            Stage::Sort(_) => Some("$sort"),
            Stage::Limit(_) => Some("$limit"),
            Stage::Skip(_) => Some("$skip"),
            Stage::Unwind(_) => Some("$unwind"),
            Stage::Facet(_) => Some("$facet"),
            Stage::Sample(_) => Some("$sample"),
            Stage::Lookup(_) => Some("$lookup"),
            Stage::GraphLookup(_) => Some("$graphLookup"),
            Stage::UnionWith(_) => Some("$unionWith"),
            Stage::BucketAuto(_) => Some("$bucketAuto"),
            Stage::SetWindowFields(_) => Some("$setWindowFields"),
            Stage::Densify(_) => Some("$densify"),
            Stage::GeoNear(_) => Some("$geoNear"),
            Stage::Documents(_) => Some("$documents"),
            Stage::Source(_) => Some("$changeStream"),
            Stage::Out(_) => Some("$out"),
            Stage::Merge(_) => Some("$merge"),
        }
    }

    /// Whether several stored documents take part in one that it makes.
    const fn mixes(&self) -> bool {
        match self {
            Stage::Match(_)
            | Stage::Shape(_)
            | Stage::Sort(_)
            | Stage::Limit(_)
            | Stage::Skip(_)
            | Stage::Unwind(_)
            | Stage::ReplaceRoot(_)
            | Stage::Sample(_)
            | Stage::Redact(_)
            | Stage::GeoNear(_)
            | Stage::Documents(_)
            | Stage::Source(_)
            | Stage::Out(_)
            | Stage::Merge(_) => false,
            Stage::Group(_)
            | Stage::Facet(_)
            | Stage::Lookup(_)
            | Stage::GraphLookup(_)
            | Stage::UnionWith(_)
            | Stage::BucketAuto(_)
            | Stage::SetWindowFields(_)
            | Stage::Densify(_) => true,
        }
    }

    /// Whether what it makes of fewer documents is the same where those had no part.
    fn is_repeatable(&self) -> bool {
        match self {
            Stage::BucketAuto(_) => false,
            Stage::Facet(facet) => facet.is_repeatable(),
            _ => true,
        }
    }

    /// How many documents it hands on at most; the inner none, if as many as it takes; the outer none, if perhaps more.
    const fn hands_on(&self) -> Option<Option<u64>> {
        match self {
            Stage::Limit(limit) => Some(Some(*limit)),
            Stage::Sample(size) => Some(Some(*size as u64)),
            Stage::Facet(_) => Some(Some(1)),
            Stage::Match(_)
            | Stage::Shape(_)
            | Stage::Sort(_)
            | Stage::Skip(_)
            | Stage::ReplaceRoot(_)
            | Stage::Redact(_)
            | Stage::Group(_)
            | Stage::Lookup(_)
            | Stage::GraphLookup(_)
            | Stage::SetWindowFields(_)
            | Stage::GeoNear(_) => Some(None),
            Stage::Unwind(_)
            | Stage::UnionWith(_)
            | Stage::BucketAuto(_)
            | Stage::Densify(_)
            | Stage::Documents(_)
            | Stage::Source(_)
            | Stage::Out(_)
            | Stage::Merge(_) => None,
        }
    }

    /// Refuses a search of texts or places where no index can serve it.
    fn check_search(&self, at: usize, place: Place) -> Result<()> {
        let Stage::Match(filter) = self else {
            return Ok(());
        };
        if filter.near().is_some() {
            let message = "$geoNear, $near, and $nearSphere are not allowed in this context";
            return Err(MqlError::new(5_626_500, message));
        }
        match filter.text() {
            Some(_) if place == Place::Facet => Err(unavailable("text score")),
            Some(_) if at > 0 => Err(MqlError::new(
                17313,
                "$match with $text is only allowed as the first pipeline stage",
            )),
            _ => Ok(()),
        }
    }

    /// The other collections it reads.
    fn reads(&self, names: &mut Vec<Str>) {
        match self {
            Stage::Lookup(lookup) => lookup.reads(names),
            Stage::GraphLookup(graph) => graph.reads(names),
            Stage::UnionWith(union) => union.reads(names),
            Stage::Facet(facet) => facet.reads(names),
            Stage::Match(_)
            | Stage::Shape(_)
            | Stage::Group(_)
            | Stage::Sort(_)
            | Stage::Limit(_)
            | Stage::Skip(_)
            | Stage::Unwind(_)
            | Stage::ReplaceRoot(_)
            | Stage::Sample(_)
            | Stage::BucketAuto(_)
            | Stage::SetWindowFields(_)
            | Stage::Redact(_)
            | Stage::Densify(_)
            | Stage::GeoNear(_)
            | Stage::Documents(_)
            | Stage::Source(_)
            | Stage::Out(_)
            | Stage::Merge(_) => {}
        }
    }

    /// The stage at work.
    pub(crate) fn start(&self, options: &Options) -> Work {
        let env = || Arc::clone(&options.env);
        match self {
            Stage::Match(filter) => match_filter::start(filter, env()),
            Stage::Shape(shape) => project::start(shape, env()),
            Stage::Group(group) => group::start(group, options),
            Stage::Sort(sort) => sort::start(sort, env()),
            Stage::Limit(limit) => limit::start(*limit),
            Stage::Skip(skip) => skip::start(*skip),
            Stage::Unwind(unwind) => unwind::start(unwind, env()),
            Stage::ReplaceRoot(replace) => replace_root::start(replace, env()),
            Stage::Facet(facet) => facet::start(facet, options),
            Stage::Sample(size) => sample::start(*size, env()),
            Stage::Lookup(lookup) => lookup::start(lookup, options),
            Stage::GraphLookup(graph) => graph_lookup::start(graph, options),
            Stage::UnionWith(union) => union_with::start(union, options),
            Stage::BucketAuto(bucket) => bucket_auto::start(bucket, env()),
            Stage::SetWindowFields(windows) => set_window_fields::start(windows, env()),
            Stage::Redact(redact) => redact::start(redact, env()),
            Stage::Densify(densify) => densify::start(densify, env()),
            Stage::GeoNear(near) => geo_near::start(near, env()),
            Stage::Documents(documents) => documents::start(documents, env()),
            // The service reads what they say; documents that come after pass.
            Stage::Source(_) | Stage::Out(_) | Stage::Merge(_) => skip::start(0),
        }
    }
}

/// The argument of a stage that must be an object.
fn object_of<'v>(code: i32, spec: &'v Value, message: &str) -> Result<&'v Object> {
    let object = spec.as_object();
    object.ok_or_else(|| MqlError::new(code, format!("{message}, got {}", type_name(spec))))
}

/// An error in the argument of a stage, with the stage's name before it.
fn invalid(stage: &str) -> impl Fn(MqlError) -> MqlError {
    let stage = stage.to_owned();
    move |error| {
        let message = format!("Invalid {stage} :: caused by :: {}", error.message);
        MqlError::new(error.code, message)
    }
}

/// An option that a stage does not have.
fn unknown_field(stage: &str, name: &str) -> MqlError {
    let message = format!("BSON field '{stage}.{name}' is an unknown field.");
    MqlError::new(40415, message)
}

/// An option that a stage must have.
fn missing_field(stage: &str, name: &str) -> MqlError {
    let message = format!("BSON field '{stage}.{name}' is missing but a required field");
    MqlError::new(40414, message)
}

/// An option of the wrong type.
fn wrong_type(stage: &str, name: &str, value: &Value, expected: &str) -> MqlError {
    let found = type_name(value);
    MqlError::type_mismatch(format!(
        "BSON field '{stage}.{name}' is the wrong type '{found}', expected type '{expected}'"
    ))
}

/// Sets a dotted path, through objects that it makes where there are none.
fn set_path(document: &mut Object, steps: &[Str], value: Value) {
    match steps {
        [] => {}
        [last] => {
            document.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            if document.get(first).and_then(Value::as_object).is_none() {
                document.insert(first.clone(), Object::new());
            }
            if let Some(Value::Object(inner)) = document.get_mut(first) {
                set_path(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        let names: Vec<_> = stage_names().collect();
        assert!(names.is_sorted());
    }
}
