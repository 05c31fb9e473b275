//! Runs a pipeline.

use std::sync::Arc;

use lapsedb_mql::stages::{Flow, Pipeline, Runner, Source as Own};
use lapsedb_mql::text::TextSpec;
use lapsedb_record::clock::format_iso;
use lapsedb_value::budget::{Held, object_bytes};
use lapsedb_value::{Object, Str, Value};

use crate::cursors::{self, Batch, Feed, HandedOut, Keep, Piped, Room, Tally};
use crate::documents::FIRST_BATCH_DOCUMENTS;
use crate::documents::counted::counted;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::foreign::Others;
use crate::documents::language::{Filter, Language, Terms};
use crate::documents::look::{Look, find_collection};
use crate::documents::namespace::Namespace;
use crate::documents::needed::Needed;
use crate::documents::plan::{Plan, Question, plan};
use crate::documents::pour::Destination;
use crate::documents::rights::check_pipeline;
use crate::documents::search;
use crate::documents::sources::{CurrentOp, listed_sessions};
use crate::documents::stats::stage_stats;
use crate::documents::views;
use crate::documents::walk::{Source, Walk};
use crate::documents::work::Work;
use crate::operations::Wanted;

/// Documents that pass the stages at once.
const STEP_ROWS: usize = 256;

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Aggregate {
    /// The stages.
    pub pipeline: Vec<Value>,
    /// How many documents come at once.
    pub batch_size: Option<usize>,
    /// How texts compare and which variables there are.
    pub terms: Terms,
    /// No cursor is wanted for the rest.
    pub single_batch: bool,
}

/// The first batch of what a pipeline makes.
///
/// # Errors
/// When a stage is wrong or fails, its time is up, or the engine fails.
pub async fn aggregate(
    work: &mut Work,
    namespace: &Namespace,
    aggregate: &Aggregate,
) -> Result<Batch> {
    match run(work, (namespace, namespace), aggregate, 0).await {
        Err(fault) if fault.code() == Some(code::UNAUTHORIZED) => Err(fault),
        // What cannot be read as a collection may be a view.
        Err(fault) => match views::resolved(work, namespace).await? {
            Some(resolved) => views::aggregate(work, namespace, &resolved, aggregate).await,
            None => Err(fault),
        },
        done => done,
    }
}

/// Runs a pipeline over a collection that clients may know by the name of a view, which the first stages belong to.
pub(crate) async fn run(
    work: &mut Work,
    (shown, namespace): (&Namespace, &Namespace),
    aggregate: &Aggregate,
    of_view: usize,
) -> Result<Batch> {
    let mut language = aggregate.terms.language(work, namespace).await?;
    language.options.texts = texts(work, namespace, &aggregate.pipeline).await?;
    let stages = crate::changes::split::take(&aggregate.pipeline)?;
    let splits = stages.is_some();
    let stages = stages.unwrap_or(&aggregate.pipeline);
    let mut pipeline = Pipeline::parse_behind(stages, of_view, &language.options)?;
    let needs = check_pipeline(work, shown, &pipeline)?;
    find_places(work, namespace, &mut pipeline).await?;
    if work.in_transaction() {
        allowed(&pipeline)?;
    }
    if let Some(Own::ChangeStream(options)) = pipeline.source() {
        let pipeline = (&pipeline, splits);
        return crate::changes::open(work, namespace, options, pipeline, (aggregate, needs)).await;
    }
    check_views(work, namespace, &pipeline, &language).await?;
    if let Some(destination) = Destination::of(namespace, &pipeline)? {
        work.ctx.who.may_write_at_all()?;
        let (documents, _held) = all(work, namespace, &pipeline, &language).await?;
        destination.write(work, documents, &language).await?;
        return Ok(Batch {
            cursor: 0,
            namespace: shown.clone(),
            documents: Vec::new(),
            resume_token: None,
            read_at: None,
            held: None,
        });
    }
    let recipe = Recipe {
        stages: aggregate.pipeline.clone(),
        pipeline,
        language,
    };
    let look = Look::fresh(work, namespace).await?;
    let piped = Arc::new(recipe).start(work, &look, namespace).await?;
    let documents_max = aggregate.batch_size.unwrap_or(FIRST_BATCH_DOCUMENTS);
    let room = Room::new(Some(documents_max), work.memory());
    let feed = Feed::Piped(Box::new(piped));
    let keep = Keep {
        needs,
        single_batch: aggregate.single_batch,
        no_timeout: false,
    };
    cursors::open(work, &look, shown, feed, room, keep).await
}

/// All that it takes to run a pipeline, once or anew.
pub(crate) struct Recipe {
    /// The stages as the client wrote them.
    stages: Vec<Value>,
    pub(crate) pipeline: Pipeline,
    language: Language,
}

impl Recipe {
    /// The pipeline at its beginning, at the time of a look.
    pub(crate) async fn start(
        self: &Arc<Recipe>,
        work: &Work,
        look: &Look<'_>,
        namespace: &Namespace,
    ) -> Result<Piped> {
        let language = &self.language;
        let piped = match counted(work, look, language, &self.stages).await? {
            Some(given) => Piped {
                given,
                ..start_with(
                    look,
                    Source::Ids(Vec::new()),
                    &Pipeline::parse(&[], &language.options)?,
                    namespace,
                )
            },
            None => start(look, namespace, &self.pipeline, language).await?,
        };
        Ok(Piped {
            recipe: Some(Arc::clone(self)),
            handed_out: HandedOut::new(&self.pipeline),
            ..piped
        })
    }
}

/// Refuses to read a view beside the collection whose texts compare otherwise than those of the pipeline.
async fn check_views(
    work: &Work,
    namespace: &Namespace,
    pipeline: &Pipeline,
    language: &crate::documents::language::Language,
) -> Result<()> {
    for name in pipeline.reads() {
        let other = Namespace::pseudo(&namespace.database, &name);
        if let Some(resolved) = views::resolved(work, &other).await?
            && resolved.parsed()?.as_ref() != language.options.collation.as_deref()
        {
            return Err(Fault::new(
                code::OPTION_NOT_SUPPORTED_ON_VIEW,
                format!("Cannot override a view's default collation: {other}"),
            ));
        }
    }
    Ok(())
}

/// Says in which field the places stand that a pipeline begins with, if it does not.
async fn find_places(work: &Work, namespace: &Namespace, pipeline: &mut Pipeline) -> Result<()> {
    if pipeline.geo_near().is_some_and(|near| near.key().is_none()) {
        let view = work.ctx.view().await?;
        let collection = find_collection(&view, namespace);
        pipeline.search_places_in(&search::near_field(collection.as_deref())?)?;
    }
    Ok(())
}

/// The text indexes of all collections of the database, if a stage asks texts inside another one.
async fn texts(
    work: &Work,
    namespace: &Namespace,
    pipeline: &[Value],
) -> Result<Vec<(Str, Arc<TextSpec>)>> {
    let asks = |stage: &Value| {
        let stage = stage
            .as_object()
            .filter(|stage| !stage.contains_key("$match"));
        stage.is_some_and(|stage| stage.values().any(mentions_text))
    };
    if !pipeline.iter().any(asks) {
        return Ok(Vec::new());
    }
    let view = work.ctx.view().await?;
    let catalog = view.catalog();
    let Some(database) = catalog.database(&namespace.database) else {
        return Ok(Vec::new());
    };
    Ok(search::all_specs(
        catalog.collections(database.number).iter(),
    ))
}

fn mentions_text(value: &Value) -> bool {
    match value {
        Value::Object(object) => object
            .iter()
            .any(|(name, value)| name == "$text" || mentions_text(value)),
        Value::Array(elements) => elements.iter().any(mentions_text),
        _ => false,
    }
}

/// Refuses stages that cannot be part of a transaction.
fn allowed(pipeline: &Pipeline) -> Result<()> {
    let refused = |text: String| Err(Fault::new(code::NOT_SUPPORTED_IN_TRANSACTION, text));
    let source = match pipeline.source() {
        None => match (pipeline.out(), pipeline.merge()) {
            (Some(_), _) => return refused("$out cannot be used in a transaction".to_owned()),
            (_, Some(_)) => return refused("$merge cannot be used in a transaction".to_owned()),
            (None, None) => return Ok(()),
        },
        Some(Own::CollStats(_)) => "$collStats",
        Some(Own::IndexStats) => "$indexStats",
        Some(Own::CurrentOp(_)) => "$currentOp",
        Some(Own::ListSessions { .. }) => "$listSessions",
        Some(Own::PlanCacheStats) => "$planCacheStats",
        Some(Own::ChangeStream(_)) => "$changeStream",
    };
    refused(format!(
        "Operation not permitted in transaction :: caused by :: Aggregation stage {source} cannot run within a multi-document transaction."
    ))
}

/// A pipeline at its beginning.
pub(crate) async fn start(
    look: &Look<'_>,
    namespace: &Namespace,
    pipeline: &Pipeline,
    language: &Language,
) -> Result<Piped> {
    let mut pipeline = pipeline.clone();
    let (source, given) = match pipeline.source() {
        None if pipeline.has_own_documents() => (Source::Ids(Vec::new()), Vec::new()),
        None => {
            let plan = leading(look, &mut pipeline, language).await?;
            (plan.source, Vec::new())
        }
        Some(Own::CollStats(options)) => {
            let stats = stage_stats(look, namespace, options).await?;
            (Source::Ids(Vec::new()), vec![stats])
        }
        Some(Own::IndexStats) => {
            let all = crate::documents::stats::index_stats(look, namespace)?;
            (Source::Ids(Vec::new()), all)
        }
        Some(Own::ListSessions { options, .. }) => {
            let session = look.work.owner().map(|(session, _)| session);
            let listed = listed_sessions(&look.work.ctx, session.as_ref(), options)?;
            let all = crate::sessions::list_sessions(&look.work.ctx, &listed.which);
            (Source::Ids(Vec::new()), all)
        }
        Some(Own::CurrentOp(options)) => {
            let listed = current_operations(look.work, options)?;
            (Source::Ids(Vec::new()), listed)
        }
        Some(Own::PlanCacheStats) => (Source::Ids(Vec::new()), Vec::new()),
        Some(Own::ChangeStream(_)) => {
            return Err(Fault::new(
                40_602,
                "$changeStream is only valid as the first stage in a pipeline",
            ));
        }
    };
    let needed = Needed::by_pipeline(&pipeline);
    let (source, counted) = match (source, &look.collection) {
        // The calendar knows how many there are, but not which of them expire before the next batch; and what a transaction has
        // changed it does not know.
        (Source::Everything, Some(collection))
            if needed.is_nothing() && pipeline.begins_with_group() && look.overlay.is_none() =>
        {
            let living = look.view.count(collection).await?;
            (Source::Ids(Vec::new()), living)
        }
        (source, _) => (source, 0),
    };
    Ok(Piped {
        given,
        counted,
        ..start_with(look, source, &pipeline, namespace)
    })
}

/// A pipeline over documents that are found in a certain way.
pub(crate) fn start_with(
    look: &Look<'_>,
    source: Source,
    pipeline: &Pipeline,
    namespace: &Namespace,
) -> Piped {
    Piped {
        recipe: None,
        handed_out: HandedOut::default(),
        read: look.collection.iter().cloned().collect(),
        waits_since: Some(look.view.now()),
        rows_max: None,
        walk: Walk::new(source),
        needed: Needed::by_pipeline(pipeline),
        counted: 0,
        runner: Runner::new(pipeline),
        given: Vec::new(),
        finished: false,
        late: None,
        base: namespace.clone(),
        step: match pipeline.leading().limit {
            Some(limit) => usize::try_from(limit)
                .unwrap_or(STEP_ROWS)
                .clamp(1, STEP_ROWS),
            None => STEP_ROWS,
        },
        tally: Tally::default(),
    }
}

/// How the documents that a pipeline begins with are found: in the order of its `$sort`, if an index gives it.
pub(crate) async fn leading(
    look: &Look<'_>,
    pipeline: &mut Pipeline,
    language: &Language,
) -> Result<Plan> {
    let everything = Filter::everything();
    let leading = pipeline.leading();
    // Places are looked for by a filter of their own, and put in their own order.
    let near = pipeline.geo_near().and_then(|near| near.filter());
    let sort = leading.sort.filter(|_| pipeline.geo_near().is_none());
    let question = Question {
        sort,
        ..Question::of(near.or(leading.filter).unwrap_or(&everything))
    };
    let sorts = sort.is_some();
    let plan = plan(look, language, question).await?;
    if sorts && plan.sorted {
        pipeline.assume_sorted();
    }
    Ok(plan)
}

/// What this server is called where what is running is listed.
const HOST: &str = "lapsedb";

/// What is under way.
fn current_operations(work: &Work, options: &Object) -> Result<Vec<Object>> {
    let asked = CurrentOp::read(options)?;
    let service = work.ctx.service();
    let state = service.documents_state();
    let owner = work.ctx.login.as_deref().filter(|_| !asked.all_users);
    let now = service.clock().now();
    let wanted = Wanted {
        owner,
        idle: asked.idle,
    };
    let mut listed = state.operations.list(HOST, &format_iso(now), wanted);
    if asked.idle_cursors {
        listed.extend(state.cursors.idle(HOST, owner));
    }
    if asked.idle_sessions {
        let user = work.ctx.session_owner().filter(|_| !asked.all_users);
        listed.extend(state.sessions.idle(HOST, now, user));
    }
    Ok(listed)
}

/// All that a pipeline makes, and what counts it.
pub(crate) async fn all(
    work: &Work,
    namespace: &Namespace,
    pipeline: &Pipeline,
    language: &Language,
) -> Result<(Vec<Object>, Held)> {
    let look = Look::fresh(work, namespace).await?;
    let held = Held::new(work.memory());
    let mut piped = start(&look, namespace, pipeline, language).await?;
    let others = Others::new(&look, &namespace.database, work);
    let mut documents = Vec::new();
    while !piped.finished {
        work.in_time().await?;
        piped.step(&look, &others, STEP_ROWS).await?;
        while let Some(document) = piped.runner.take() {
            held.add(object_bytes(&document))?;
            documents.push(document);
        }
    }
    Ok((documents, held))
}

/// A failure of a stage over a document, as clients know it.
pub(crate) fn running(error: lapsedb_mql::MqlError) -> Fault {
    Fault::new(
        error.code,
        format!(
            "PlanExecutor error during aggregation :: caused by :: {}",
            error.message
        ),
    )
}

/// Whether a pipeline wants no more documents.
pub(crate) fn is_enough(flow: Flow) -> bool {
    flow == Flow::Enough
}
