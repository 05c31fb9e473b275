//! `$lookup`: the documents of another collection that belong to each.

use std::collections::{HashMap, VecDeque};

use crate::accumulators::{object_weight, weight};
use crate::expressions::values::{Distinct, Key};
use crate::expressions::{Env, Scope, path::check_variable_name};

use super::*;

/// Documents that are joined with one reading of the other collection.
const BATCH_DOCUMENTS_MAX: usize = 100;

/// What is joined, and how.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    from: Str,
    to: Vec<Str>,
    equal: Option<Equal>,
    inner: Option<Inner>,
}

/// Fields that must be equal.
#[derive(Clone, Debug)]
struct Equal {
    local: Vec<Str>,
    foreign: Str,
    foreign_steps: Vec<Str>,
}

/// A pipeline over the other collection's documents.
#[derive(Clone, Debug)]
struct Inner {
    variables: Vec<(Str, Expr)>,
    /// As written: it is read again for each document if variables of that document take part.
    raw: Vec<Value>,
    stages: Vec<Stage>,
}

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let message = "the $lookup stage specification must be an object, but found";
    let object = object_of(9, spec, message)?;
    let (mut from, mut to, mut local, mut foreign) = (None, None, None, None);
    let (mut variables, mut raw) = (None, None);
    for (name, value) in object {
        let text = || match value {
            Value::String(text) => Ok(Some(text.clone())),
            other => {
                let found = type_name(other);
                Err(failed(format!(
                    "$lookup argument '{name}' must be a string, found {name}: {other}: {found}"
                )))
            }
        };
        match name.as_str() {
            "from" => from = text()?,
            "as" => to = text()?,
            "localField" => local = text()?,
            "foreignField" => foreign = text()?,
            "let" => variables = Some(read_variables(value, &context.names)?),
            "pipeline" => raw = Some(read_pipeline(value)?),
            other => return Err(failed(format!("unknown argument to $lookup: {other}"))),
        }
    }
    let own_documents = raw.as_ref().is_some_and(|raw| begins_with_documents(raw));
    let from = match from {
        Some(from) => from,
        None if own_documents => Str::default(),
        None if raw.is_some() => {
            return Err(failed(
                "$lookup stage without explicit collection must have a pipeline with $documents as first stage",
            ));
        }
        None => return Err(failed("must specify 'pipeline' when 'from' is empty")),
    };
    let to = to.ok_or_else(|| failed("must specify 'as' field for a $lookup"))?;
    let equal = match (local, foreign) {
        (Some(local), Some(foreign)) => Some(Equal {
            local: path::split(&local)?,
            foreign_steps: path::split(&foreign)?,
            foreign,
        }),
        (None, None) if raw.is_some() => None,
        _ => {
            return Err(failed(
                "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified",
            ));
        }
    };
    let inner = match (raw, variables) {
        (Some(raw), own) => Some(read_inner(raw, own.unwrap_or_default(), context, &from)?),
        (None, Some(_)) => {
            return Err(failed(
                "$lookup with a 'let' argument must also specify 'pipeline'",
            ));
        }
        (None, None) => None,
    };
    Ok(vec![Stage::Lookup(Arc::new(Lookup {
        from,
        to: path::split(&to)?,
        equal,
        inner,
    }))])
}

fn failed(message: impl Into<String>) -> MqlError {
    MqlError::failed_to_parse(message)
}

impl Lookup {
    /// The collections it reads.
    pub(super) fn reads(&self, names: &mut Vec<Str>) {
        names.push(self.from.clone());
        let inner = self.inner.iter().flat_map(|inner| &inner.stages);
        inner.for_each(|stage| stage.reads(names));
    }

    /// Whether its pipeline begins with documents of its own, so that the other collection is not read.
    fn brings_documents(&self) -> bool {
        let first = self.inner.as_ref().and_then(|inner| inner.stages.first());
        matches!(first, Some(Stage::Documents(_)))
    }

    /// What the documents that its pipeline brings must fulfil to belong to one, if fields must be equal.
    fn wanted(&self, document: &Object, options: &Options) -> Result<Option<Filter>> {
        let equal = self.equal.as_ref().filter(|_| self.brings_documents());
        let wanted = equal.map(|equal| {
            let values = local_values(document, &equal.local);
            Filter::parse(&equality(&equal.foreign, values), options)
        });
        wanted.transpose()
    }
}

/// Whether a pipeline brings its own documents.
pub(super) fn begins_with_documents(stages: &[Value]) -> bool {
    let first = stages.first().and_then(Value::as_object);
    first.is_some_and(|stage| stage.contains_key("$documents"))
}

fn read_variables(value: &Value, names: &Names) -> Result<Vec<(Str, Expr)>> {
    let Some(object) = value.as_object() else {
        let found = type_name(value);
        return Err(failed(format!(
            "$lookup argument 'let: {value}' must be an object, is type {found}"
        )));
    };
    let variable = |(name, value): (&Str, &Value)| {
        check_variable_name(name)?;
        Ok((name.clone(), Expr::parse(value, names)?))
    };
    object.iter().map(variable).collect()
}

fn read_pipeline(value: &Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(stages) => Ok(stages.clone()),
        _ => Err(MqlError::type_mismatch(
            "'pipeline' option must be specified as an array",
        )),
    }
}

fn read_inner(
    raw: Vec<Value>,
    variables: Vec<(Str, Expr)>,
    context: &Context<'_>,
    from: &str,
) -> Result<Inner> {
    let mut inner = context.inside(Place::Lookup)?;
    // A filter asks the surroundings for the names that its expressions may use.
    let nulls = variables
        .iter()
        .map(|(name, _)| (name.clone(), Value::Null));
    let options = Options {
        env: Arc::new(context.options.env.nested(nulls.collect())),
        ..context.options.of_collection(from)
    };
    for (name, _) in &variables {
        inner.names = inner.names.with(name.clone());
    }
    let inner = Context {
        options: &options,
        ..inner
    };
    let mut stages = parse_stages(&raw, &inner)?;
    sort::optimize(&mut stages);
    Ok(Inner {
        variables,
        raw,
        stages,
    })
}

pub(super) fn start(lookup: &Arc<Lookup>, options: &Options) -> Work {
    Work::Joint(Box::new(Joining {
        lookup: Arc::clone(lookup),
        options: options.clone(),
        whole: None,
        constant: None,
    }))
}

struct Joining {
    lookup: Arc<Lookup>,
    options: Options,
    /// The other collection, read once if pipelines are to run over all of it.
    whole: Option<Made>,
    /// The outcome of a pipeline that no document takes part in.
    constant: Option<Made>,
}

impl Joint for Joining {
    /// Pipelines may run over what was read for an earlier batch.
    fn remembers(&self) -> bool {
        self.lookup.inner.is_some()
    }

    fn batch<'a>(
        &'a mut self,
        documents: &'a mut VecDeque<Object>,
        foreign: &'a dyn Foreign,
    ) -> Wait<'a, Made> {
        Box::pin(async move {
            let mut out = Made::new(self.options.env.budget());
            while !documents.is_empty() && !out.is_enough() {
                self.join(documents, foreign, &mut out).await?;
            }
            Ok(out)
        })
    }

    fn finish<'a>(&'a mut self, _: &'a dyn Foreign) -> Wait<'a, Made> {
        let made = Made::new(self.options.env.budget());
        Box::pin(std::future::ready(Ok(made)))
    }
}

impl Joining {
    /// Joins some documents with one reading of the other collection, fewer if much comes of them.
    async fn join(
        &mut self,
        documents: &mut VecDeque<Object>,
        foreign: &dyn Foreign,
        out: &mut Made,
    ) -> Result<()> {
        let lookup = Arc::clone(&self.lookup);
        let mut batch = documents.len().min(BATCH_DOCUMENTS_MAX);
        let found = match &lookup.equal {
            Some(equal) if !lookup.brings_documents() => {
                let batch = documents.range(..batch);
                Some(Found::read(&lookup.from, equal, batch, foreign, &self.options).await?)
            }
            Some(_) | None => None,
        };
        while batch > 0
            && !out.is_enough()
            && let Some(mut document) = documents.pop_front()
        {
            batch -= 1;
            let matching = match (&found, &lookup.equal) {
                (Some(found), Some(equal)) => {
                    Some(found.matching(&document, equal, &self.options.env)?)
                }
                _ => None,
            };
            let joined = match &lookup.inner {
                Some(inner) => self.run_inner(inner, &document, matching, foreign).await?,
                None => matching.unwrap_or_else(|| Made::new(self.options.env.budget())),
            };
            set_path(&mut document, &lookup.to, array_of(joined.documents));
            out.held.absorb(&joined.held);
            out.push(document, 0)?;
        }
        Ok(())
    }

    /// The outcome of the pipeline for one document.
    async fn run_inner(
        &mut self,
        inner: &Inner,
        document: &Object,
        matching: Option<Made>,
        foreign: &dyn Foreign,
    ) -> Result<Made> {
        let wanted = self.lookup.wanted(document, &self.options)?;
        if inner.variables.is_empty() {
            if let Some(wanted) = wanted {
                return run_own(&inner.stages, &wanted, &self.options, foreign).await;
            }
            if let Some(matching) = matching {
                return run_read(&inner.stages, &self.options, matching, foreign).await;
            }
            if self.constant.is_none() {
                let documents = self.read_whole(foreign, &inner.stages).await?;
                let outcome = run_read(&inner.stages, &self.options, documents, foreign).await?;
                self.constant = Some(outcome);
            }
            return copied(self.constant.as_ref(), &self.options.env);
        }
        let scope = Scope::new(document, &self.options.env);
        let value = |(name, expr): &(Str, Expr)| Ok((name.clone(), expr.eval(&scope)?));
        let values = inner
            .variables
            .iter()
            .map(value)
            .collect::<Result<Vec<_>>>()?;
        let budget = Arc::clone(self.options.env.budget());
        let constants = budget.kept();
        let options = Options {
            env: Arc::new(self.options.env.nested(values)),
            ..self.options.of_collection(&self.lookup.from)
        };
        let context = Context {
            options: &options,
            names: options
                .env
                .names()
                .with_collation(options.collation.clone()),
            place: Place::Lookup,
            depth: 0,
        };
        let mut stages = parse_stages(&inner.raw, &context)?;
        sort::optimize(&mut stages);
        if let Some(wanted) = wanted {
            let outcome = run_own(&stages, &wanted, &options, foreign).await;
            budget.set_kept(constants);
            return outcome;
        }
        let documents = match matching {
            Some(matching) => matching,
            None if self.whole.is_none() && self.is_served(foreign, &stages).await? => {
                self.read_whole(foreign, &stages).await?
            }
            None => {
                if self.whole.is_none() {
                    self.whole = Some(self.read_whole(foreign, &[]).await?);
                }
                copied(self.whole.as_ref(), &self.options.env)?
            }
        };
        let outcome = run_read(&stages, &options, documents, foreign).await;
        // The stages were read for this document alone.
        budget.set_kept(constants);
        outcome
    }

    /// Whether what the stages begin with is found without looking at all documents: then they are read for each anew.
    async fn is_served(&self, foreign: &dyn Foreign, stages: &[Stage]) -> Result<bool> {
        match Leading::of(stages).filter {
            Some(filter) if !self.lookup.from.is_empty() => {
                foreign.is_served(&self.lookup.from, filter).await
            }
            Some(_) | None => Ok(false),
        }
    }

    /// The other collection's documents, only those that the stages begin with.
    async fn read_whole(&self, foreign: &dyn Foreign, stages: &[Stage]) -> Result<Made> {
        let mut read = Made::new(self.options.env.budget());
        if self.lookup.from.is_empty() {
            return Ok(read);
        }
        let leading = Leading::of(stages);
        let memory = Memory::new("$lookup", &self.options.env);
        let from = &self.lookup.from;
        read.documents = foreign.leading(from, leading, memory.held()).await?;
        memory.check()?;
        read.held.absorb(memory.held());
        Ok(read)
    }
}

/// Runs the stages of a pipeline over documents that were read for it.
async fn run_read(
    stages: &[Stage],
    options: &Options,
    read: Made,
    foreign: &dyn Foreign,
) -> Result<Made> {
    let outcome = run_all(stages, options, read.documents, foreign).await?;
    outcome.held.absorb(&read.held);
    Ok(outcome)
}

/// Runs a pipeline that begins with documents of its own: those that fulfil a filter go on.
async fn run_own(
    stages: &[Stage],
    wanted: &Filter,
    options: &Options,
    foreign: &dyn Foreign,
) -> Result<Made> {
    let (own, rest) = stages.split_at_checked(1).unwrap_or_default();
    let mut brought = run_all(own, options, Vec::new(), foreign).await?;
    let mut kept = Vec::with_capacity(brought.documents.len());
    for document in brought.documents {
        if wanted.matches(&document)? {
            kept.push(document);
        }
    }
    brought.documents = kept;
    run_read(rest, options, brought, foreign).await
}

/// Copies of documents, counted before each is made.
fn copied(documents: Option<&Made>, env: &Env) -> Result<Made> {
    let mut copies = Made::new(env.budget());
    for document in documents.iter().flat_map(|made| &made.documents) {
        copies.held.add(object_weight(document))?;
        copies.documents.push(document.clone());
    }
    Ok(copies)
}

/// Documents of the other collection, to be found by the value of a field.
struct Found {
    documents: Vec<Object>,
    /// What they take.
    _memory: Memory,
    by_value: HashMap<Key, Vec<usize>>,
}

impl Found {
    /// Reads the documents that belong to any of the batch.
    async fn read(
        from: &str,
        equal: &Equal,
        batch: impl Iterator<Item = &Object>,
        foreign: &dyn Foreign,
        options: &Options,
    ) -> Result<Found> {
        let mut values = Distinct::default();
        for document in batch {
            for value in local_values(document, &equal.local) {
                values.insert(&value);
            }
        }
        let filter = equality(&equal.foreign, values.to_vec());
        let filter = Filter::parse(&filter, options)?;
        let mut memory = Memory::new("$lookup", &options.env);
        let documents = foreign
            .documents(from, Some(&filter), memory.held())
            .await?;
        memory.check()?;
        let mut by_value: HashMap<Key, Vec<usize>> = HashMap::new();
        for (at, document) in documents.iter().enumerate() {
            let mut offered = Distinct::default();
            offer(
                &Value::Object(document.clone()),
                &equal.foreign_steps,
                &mut offered,
            );
            for value in offered.to_vec() {
                memory.add(2 * weight(&value))?;
                by_value.entry(Key(value)).or_default().push(at);
            }
        }
        Ok(Found {
            documents,
            _memory: memory,
            by_value,
        })
    }

    /// The documents that belong to one, in the order of their collection.
    fn matching(&self, document: &Object, equal: &Equal, env: &Env) -> Result<Made> {
        let mut places: Vec<usize> = Vec::new();
        for value in local_values(document, &equal.local) {
            places.extend(
                self.by_value
                    .get(&Key(value))
                    .into_iter()
                    .flatten()
                    .copied(),
            );
        }
        places.sort_unstable();
        places.dedup();
        let mut found = Made::new(env.budget());
        for document in places.into_iter().filter_map(|at| self.documents.get(at)) {
            found.held.add(object_weight(document))?;
            found.documents.push(document.clone());
        }
        Ok(found)
    }
}

/// What a document asks for: the values at a path through arrays, each element of an array there, null if there is nothing.
pub(super) fn local_values(document: &Object, steps: &[Str]) -> Vec<Value> {
    let mut values = values_at(document, steps);
    if values.is_empty() {
        values.push(Value::Null);
    }
    values
}

/// The values at a path, those of arrays one by one; none if there is none.
pub(super) fn values_at(document: &Object, steps: &[Str]) -> Vec<Value> {
    let mut values = Vec::new();
    if let Some((first, rest)) = steps.split_first() {
        collect(
            document.get(first).unwrap_or(Value::undefined()),
            rest,
            &mut values,
        );
    }
    values
}

fn collect(value: &Value, steps: &[Str], values: &mut Vec<Value>) {
    match (value, steps.split_first()) {
        (Value::Undefined, _) => {}
        (Value::Array(elements), None) => values.extend(elements.iter().cloned()),
        (other, None) => values.push(other.clone()),
        (Value::Object(object), Some((first, rest))) => {
            if let Some(member) = object.get(first) {
                collect(member, rest, values);
            }
        }
        (Value::Array(elements), Some((first, rest))) => match place(first) {
            // A number in the path means that element, and nothing else.
            Some(place) => {
                let element = elements.get(place).unwrap_or(Value::undefined());
                collect(element, rest, values);
            }
            None => {
                let objects = elements
                    .iter()
                    .filter(|element| element.as_object().is_some());
                objects.for_each(|object| collect(object, steps, values));
            }
        },
        (_, Some(_)) => {}
    }
}

/// The place in an array that a step of a path names.
fn place(step: &str) -> Option<usize> {
    let plain = step.bytes().all(|byte| byte.is_ascii_digit());
    let first = step.as_bytes().first()?;
    (plain && (step.len() == 1 || *first != b'0'))
        .then(|| step.parse().ok())
        .flatten()
}

/// A filter for documents whose field equals any of the values.
pub(super) fn equality(field: &str, values: Vec<Value>) -> Object {
    // In a list, a regular expression would be a pattern; by itself it is compared.
    let (patterns, plain): (Vec<_>, Vec<_>) = values
        .into_iter()
        .partition(|value| matches!(value, Value::Regex { .. }));
    let condition = |operator: &str, value: Value| {
        let mut condition = Object::new();
        condition.push(operator, value);
        let mut filter = Object::new();
        filter.push(field, Value::Object(condition));
        filter
    };
    let mut filter = condition("$in", Value::Array(plain));
    if !patterns.is_empty() {
        let mut any = vec![Value::Object(filter)];
        any.extend(
            patterns
                .into_iter()
                .map(|value| Value::Object(condition("$eq", value))),
        );
        filter = Object::new();
        filter.push("$or", Value::Array(any));
    }
    filter
}

/// The values by which a document can be found at a path: through arrays, by element and as a whole; null if nothing is there.
fn offer(value: &Value, steps: &[Str], offered: &mut Distinct) {
    let Some((first, rest)) = steps.split_first() else {
        if let Value::Array(elements) = value {
            for element in elements {
                offered.insert(element);
            }
        }
        offered.insert(value);
        return;
    };
    match value {
        Value::Object(object) => match object.get(first) {
            Some(member) => offer(member, rest, offered),
            None => {
                offered.insert(&Value::Null);
            }
        },
        Value::Array(elements) => {
            for element in elements
                .iter()
                .filter(|element| element.as_object().is_some())
            {
                offer(element, steps, offered);
            }
            let numbered = first.parse::<usize>().ok().and_then(|at| elements.get(at));
            if let Some(element) = numbered {
                offer(element, rest, offered);
            }
        }
        _ => {
            offered.insert(&Value::Null);
        }
    }
}
