//! `$graphLookup`: the documents of another collection that can be reached from each, step by step.

use crate::expressions::Scope;
use crate::expressions::numeric::Num;
use crate::expressions::values::{Distinct, Key};
use std::collections::{HashSet, VecDeque};

use super::*;

/// Where to start, and how to go on.
#[derive(Clone, Debug)]
pub(crate) struct GraphLookup {
    from: Str,
    to: Vec<Str>,
    start: Expr,
    connect_from: Vec<Str>,
    connect_to: Str,
    depth_max: Option<i64>,
    depth_field: Option<Vec<Str>>,
    restrict: Option<Object>,
}

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let message = "the $graphLookup stage specification must be an object, but found";
    let object = object_of(9, spec, message)?;
    if !object.contains_key("from") {
        return Err(MqlError::failed_to_parse(format!(
            "missing 'from' option to $graphLookup stage specification: {spec}"
        )));
    }
    let (mut from, mut to, mut connect_from, mut connect_to) = (None, None, None, None);
    let (mut start, mut depth_max, mut depth_field, mut restrict) = (None, None, None, None);
    for (name, value) in object {
        let text = || match value {
            Value::String(text) => Ok(Some(text.clone())),
            other => {
                let found = type_name(other);
                let message = format!("expected string as argument for {name}, found: {found}");
                Err(MqlError::new(40103, message))
            }
        };
        match name.as_str() {
            "from" => from = text()?,
            "as" => to = text()?,
            "connectFromField" => connect_from = text()?,
            "connectToField" => connect_to = text()?,
            "depthField" => depth_field = text()?,
            "startWith" => start = Some(Expr::parse(value, &context.names)?),
            "maxDepth" => depth_max = Some(read_depth(value)?),
            "restrictSearchWithMatch" => restrict = Some(read_restriction(value, context)?),
            other => {
                let message = format!("Unknown argument to $graphLookup: {other}");
                return Err(MqlError::new(40104, message));
            }
        }
    }
    let (Some(from), Some(to), Some(start), Some(connect_from), Some(connect_to)) =
        (from, to, start, connect_from, connect_to)
    else {
        return Err(MqlError::new(
            40105,
            "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified.",
        ));
    };
    path::split(&connect_to)?;
    Ok(vec![Stage::GraphLookup(Arc::new(GraphLookup {
        from,
        to: path::split(&to)?,
        start,
        connect_from: path::split(&connect_from)?,
        connect_to,
        depth_max,
        depth_field: depth_field.map(|field| path::split(&field)).transpose()?,
        restrict,
    }))])
}

fn read_depth(value: &Value) -> Result<i64> {
    let Some(number) = Num::of(value) else {
        let found = type_name(value);
        let message = format!("maxDepth must be numeric, found type: {found}");
        return Err(MqlError::new(40100, message));
    };
    let depth = number.to_i64_exact().ok_or_else(|| {
        let message = format!("maxDepth could not be represented as a long long: {value}");
        MqlError::new(40102, message)
    })?;
    match depth >= 0 {
        true => Ok(depth),
        false => Err(MqlError::new(
            40101,
            format!("maxDepth requires a nonnegative argument, found: {depth}"),
        )),
    }
}

fn read_restriction(value: &Value, context: &Context<'_>) -> Result<Object> {
    let Some(object) = value.as_object() else {
        let found = type_name(value);
        let message = format!("restrictSearchWithMatch must be an object, found {found}");
        return Err(MqlError::new(40185, message));
    };
    Filter::parse(object, context.options)?;
    Ok(object.clone())
}

impl GraphLookup {
    /// The collections it reads.
    pub(super) fn reads(&self, names: &mut Vec<Str>) {
        names.push(self.from.clone());
    }
}

pub(super) fn start(graph: &Arc<GraphLookup>, options: &Options) -> Work {
    Work::Joint(Box::new(Searching {
        graph: Arc::clone(graph),
        options: options.clone(),
    }))
}

struct Searching {
    graph: Arc<GraphLookup>,
    options: Options,
}

impl Joint for Searching {
    fn batch<'a>(
        &'a mut self,
        documents: &'a mut VecDeque<Object>,
        foreign: &'a dyn Foreign,
    ) -> Wait<'a, Made> {
        Box::pin(async move {
            let mut out = Made::new(self.options.env.budget());
            while let Some(mut document) = documents.pop_front() {
                let (reached, memory) = self.search(&document, foreign).await?;
                set_path(&mut document, &self.graph.to, array_of(reached));
                out.held.absorb(memory.held());
                out.push(document, 0)?;
                if out.is_enough() {
                    break;
                }
            }
            Ok(out)
        })
    }

    fn finish<'a>(&'a mut self, _: &'a dyn Foreign) -> Wait<'a, Made> {
        let made = Made::new(self.options.env.budget());
        Box::pin(std::future::ready(Ok(made)))
    }
}

impl Searching {
    /// Breadth first: each round reads what the last one points to; no value is looked for twice.
    async fn search(
        &self,
        document: &Object,
        foreign: &dyn Foreign,
    ) -> Result<(Vec<Object>, Memory)> {
        let graph = &self.graph;
        let scope = Scope::new(document, &self.options.env);
        let mut asked = Distinct::default();
        let mut frontier = match graph.start.eval(&scope)? {
            Value::Array(elements) => elements,
            Value::Undefined => Vec::new(),
            other => vec![other],
        };
        frontier.retain(|value| asked.insert(value));
        let (mut seen, mut reached, mut depth) = (HashSet::new(), Vec::new(), 0);
        let memory = Memory::new("$graphLookup", &self.options.env);
        while !frontier.is_empty() && graph.depth_max.is_none_or(|max| depth <= max) {
            let filter = self.filter(std::mem::take(&mut frontier))?;
            let found = foreign.documents(&graph.from, Some(&filter), memory.held());
            for mut found in found.await? {
                let id = found.get("_id").cloned().unwrap_or_default();
                if !seen.insert(Key(id)) {
                    continue;
                }
                let next = lookup::values_at(&found, &graph.connect_from);
                frontier.extend(next.into_iter().filter(|value| asked.insert(value)));
                if let Some(field) = &graph.depth_field {
                    set_path(&mut found, field, Value::Int64(depth));
                }
                reached.push(found);
            }
            memory.check()?;
            depth += 1;
        }
        Ok((reached, memory))
    }

    /// What fits the values; null fits nobody who has no such field.
    fn filter(&self, values: Vec<Value>) -> Result<Filter> {
        let mut all = Vec::new();
        if let Some(restrict) = &self.graph.restrict {
            all.push(Value::Object(restrict.clone()));
        }
        if values.iter().any(|value| matches!(value, Value::Null)) {
            let mut exists = Object::with_capacity(1);
            exists.push("$exists", true);
            let mut there = Object::with_capacity(1);
            there.push(self.graph.connect_to.clone(), Value::Object(exists));
            all.push(Value::Object(there));
        }
        let mut filter = lookup::equality(&self.graph.connect_to, values);
        if !all.is_empty() {
            all.push(Value::Object(filter));
            filter = Object::new();
            filter.push("$and", Value::Array(all));
        }
        Filter::parse(&filter, &self.options)
    }
}
