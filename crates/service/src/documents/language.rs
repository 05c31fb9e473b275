//! The language's parts, read in the terms of one command: its time, its variables, its collation.

use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_mql::expressions::Env;
pub(crate) use lapsedb_mql::filter::{Filter, Match, Options};
pub(crate) use lapsedb_mql::projection::Projection;
pub(crate) use lapsedb_mql::sort::Sort;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::{DocumentId, ID};
use crate::documents::kept::options_of;
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::plan::{Hint, Question, plan};
use crate::documents::search;
use crate::documents::walk::{Source, Walk};
use crate::documents::work::Work;

/// What a command says of the language itself.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// How texts compare; else as the collection says.
    pub collation: Option<Object>,
    /// Variables for expressions.
    pub variables: Object,
    /// Variables of an update by a pipeline, whose values are no expressions.
    pub constants: Option<Object>,
    /// Which index is to be used.
    pub hint: Hint,
}

impl Terms {
    /// The language in these terms, at this time.
    pub(crate) async fn language(&self, work: &Work, namespace: &Namespace) -> Result<Language> {
        let view = work.ctx.view().await?;
        let collection = work.collection(&view, namespace);
        let collation = match &self.collation {
            Some(collation) => Some(collation.clone()),
            None => collection.as_ref().and_then(|collection| {
                options_of(collection)?
                    .get("collation")?
                    .as_object()
                    .cloned()
            }),
        };
        let collation = match collation {
            Some(collation) => Collation::parse(&collation)?.map(Arc::new),
            None => None,
        };
        let now = i64::try_from(work.ctx.service().clock().now().0).unwrap_or(i64::MAX);
        let seed = work.ctx.service().documents_state().seed();
        let mut env = Env::new(now, seed)
            .within(Arc::clone(work.budget()))
            .with_cluster_time(work.stamp())
            .keeping_empty_stamps(work.keeps_empty_stamps())
            .with_computed(&self.variables)?;
        if let Some(constants) = &self.constants {
            env = env.with_constants(constants)?;
        }
        Ok(Language {
            options: Options {
                collation,
                env: Arc::new(env),
                text: collection.as_deref().and_then(search::spec),
                ..Options::default()
            },
            hint: self.hint.clone(),
        })
    }
}

/// The language in the terms of one command.
pub(crate) struct Language {
    pub(crate) options: Options,
    pub(crate) hint: Hint,
}

impl Language {
    /// Reads a filter.
    pub(crate) fn filter(&self, filter: &Object) -> Result<Filter> {
        Ok(Filter::parse(filter, &self.options)?)
    }

    /// The language of what stands behind a filter: it may ask how documents were found.
    pub(crate) fn behind(&self, filter: &Filter) -> Language {
        Language {
            options: self.options.behind(filter),
            hint: self.hint.clone(),
        }
    }

    /// Reads an order; none, if it asks for none.
    pub(crate) fn sort(&self, sort: &Object) -> Result<Option<Sort>> {
        if self.options.metas.text_score && sort.contains_key("$natural") {
            return Err(Fault::new(
                code::BAD_VALUE,
                "text expression not allowed with $natural sort order",
            ));
        }
        let sort = Sort::parse_find(sort, &self.options)?;
        Ok(sort.or_else(|| self.options.metas.distance.then(Sort::nearest_first)))
    }

    /// Reads a projection; none, if documents are shown as they are.
    pub(crate) fn projection(&self, projection: &Object) -> Result<Option<Projection>> {
        if projection.is_empty() {
            return Ok(None);
        }
        let read = Projection::parse(projection, &self.options)?;
        Ok((!read.is_everything()).then_some(read))
    }

    /// A way through the documents that a filter may find.
    pub(crate) async fn walk(&self, look: &Look<'_>, filter: &Filter) -> Result<Walk> {
        let plan = plan(look, self, Question::of(filter)).await?;
        Ok(Walk::new(plan.source))
    }

    /// The same for a command that changes all of them, or only the first: which is the nearest, where distances are asked for.
    pub(crate) async fn walk_for(
        &self,
        look: &Look<'_>,
        filter: &Filter,
        many: bool,
    ) -> Result<Walk> {
        let question = Question {
            changes: true,
            ..Question::of(filter)
        };
        let walk = Walk::new(plan(look, self, question).await?.source);
        match many {
            true => Ok(walk),
            false => search::nearest_first(look, filter, walk).await,
        }
    }
}

/// Where the documents that a filter names by their `_id` come from.
pub(crate) fn named_by_id(filter: &Filter) -> Source {
    let folded = |value: &Value| filter.collation().is_some() && Collation::matters(value);
    if let Some(id) = filter.id_equality()
        && !folded(id)
    {
        return Source::Ids(vec![DocumentId::of(id)]);
    }
    let points = filter.bounds(ID, false).and_then(|intervals| {
        let points: Option<Vec<_>> = intervals
            .iter()
            .map(|interval| interval.as_point().filter(|value| !folded(value)))
            .collect();
        Some(points?.into_iter().map(DocumentId::of).collect())
    });
    match points {
        Some(ids) => Source::Ids(ids),
        None => Source::Everything,
    }
}

/// Whether a document matches a filter.
///
/// # Errors
/// When the filter is wrong.
pub fn matches(filter: &Object, document: &Object) -> Result<bool> {
    Ok(Filter::parse(filter, &Options::default())?.matches(document)?)
}
