//! What views stand on: no view may stand on itself, nor too many on one another.

use std::collections::HashMap;

use lapsedb_mql::filter::Options;
use lapsedb_mql::stages::Pipeline;
use lapsedb_store::View;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::namespace::Namespace;
use crate::documents::views::{DEPTH_MAX, all, parsed};

/// The views of a database, each with the names it reads, and how many are known to stand below and above each.
#[derive(Default)]
struct Graph {
    reads: HashMap<String, Vec<String>>,
    below: HashMap<String, usize>,
    above: HashMap<String, usize>,
}

/// Checks what a view would stand on, with all other views as they are.
///
/// # Errors
/// When it would stand on itself, on too many, or on one whose texts compare otherwise.
pub(super) fn check(view: &View, namespace: &Namespace, definition: &Object) -> Result<()> {
    let name = namespace.collection.as_str();
    let mut graph = Graph::default();
    let own = reads(definition)?;
    let collation =
        |definition: &Object| parsed(definition.get("collation").and_then(Value::as_object)).ok();
    for other in all(view, &namespace.database) {
        if other.id == name {
            continue;
        }
        if own.iter().any(|read| *read == other.id)
            && collation(definition) != collation(&other.definition)
        {
            return Err(Fault::new(
                code::OPTION_NOT_SUPPORTED_ON_VIEW,
                format!(
                    "View {namespace} has conflicting collation with view {}.{}",
                    namespace.database, other.id
                ),
            ));
        }
        graph
            .reads
            .insert(other.id.to_string(), reads(&other.definition)?);
    }
    graph.reads.insert(name.to_owned(), own);
    let mut way = Vec::new();
    let below = graph.depth(name, &mut way, &namespace.database)?;
    if below + graph.above(name) > DEPTH_MAX {
        return Err(too_deep());
    }
    Ok(())
}

impl Graph {
    /// How many views stand below one, itself included.
    fn depth(&mut self, name: &str, way: &mut Vec<String>, database: &str) -> Result<usize> {
        if let Some(known) = self.below.get(name) {
            return Ok(*known);
        }
        let Some(reads) = self.reads.get(name).cloned() else {
            return Ok(0);
        };
        if let Some(first) = way.first()
            && way.iter().any(|passed| passed == name)
        {
            let shown: Vec<_> = [first.as_str()]
                .into_iter()
                .chain(way.iter().map(String::as_str))
                .chain([name])
                .map(|name| format!("{database}.{name}"))
                .collect();
            return Err(Fault::new(
                code::GRAPH_CONTAINS_CYCLE,
                format!("View cycle detected: {}", shown.join(" => ")),
            ));
        }
        if way.len() > DEPTH_MAX {
            return Err(too_deep());
        }
        way.push(name.to_owned());
        let mut deepest = 0;
        for read in &reads {
            deepest = deepest.max(self.depth(read, way, database)?);
        }
        way.pop();
        self.below.insert(name.to_owned(), deepest + 1);
        Ok(deepest + 1)
    }

    /// How many views stand above one, itself apart. There are no cycles any more.
    fn above(&mut self, name: &str) -> usize {
        if let Some(known) = self.above.get(name) {
            return *known;
        }
        let users: Vec<String> = self
            .reads
            .iter()
            .filter(|(_, reads)| reads.iter().any(|read| read == name))
            .map(|(user, _)| user.clone())
            .collect();
        let above = users.iter().map(|user| self.above(user) + 1).max();
        self.above.insert(name.to_owned(), above.unwrap_or(0));
        above.unwrap_or(0)
    }
}

/// The names that a view reads.
fn reads(definition: &Object) -> Result<Vec<String>> {
    let pipeline = definition.get("pipeline").and_then(Value::as_array);
    let pipeline = Pipeline::parse(pipeline.unwrap_or_default(), &Options::default())?;
    let on = definition.get("viewOn").and_then(Value::as_str);
    let others = pipeline.reads();
    Ok(on
        .into_iter()
        .map(str::to_owned)
        .chain(others.iter().map(|name| name.to_string()))
        .collect())
}

pub(super) fn too_deep() -> Fault {
    Fault::new(
        code::VIEW_DEPTH_LIMIT_EXCEEDED,
        format!("View depth limit exceeded; maximum depth is {DEPTH_MAX}"),
    )
}
