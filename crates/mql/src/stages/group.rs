//! `$group`: one document for each different id, with what its documents have gathered.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::accumulators::{Accumulator, Gather, weight};
use crate::collation::Collation;
use crate::expressions::values::Key;
use crate::expressions::{Scope, missing_to_null};

use super::*;

/// The id and the accumulators.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(super) id: Id,
    pub(super) fields: Vec<(Str, Gather)>,
}

/// What a document is grouped by.
#[derive(Clone, Debug)]
pub(super) enum Id {
    Value(Expr),
    /// An object; what is missing is left out of it, or null if it is the only part.
    Parts(Vec<(Str, Expr)>),
}

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let Some(object) = spec.as_object() else {
        return Err(MqlError::new(
            15947,
            "a group's fields must be specified in an object",
        ));
    };
    let (mut id, mut fields) = (None, Vec::new());
    for (name, value) in object {
        match name.as_str() {
            "_id" if id.is_some() => {
                return Err(MqlError::new(
                    15948,
                    "a group's _id may only be specified once",
                ));
            }
            "_id" => id = Some(parse_id(value, &context.names)?),
            _ => fields.push((name.clone(), parse_field(name, value, &context.names)?)),
        }
    }
    let id = id.ok_or_else(|| MqlError::new(15955, "a group specification must include an _id"))?;
    Ok(vec![Stage::Group(Arc::new(Group { id, fields }))])
}

fn parse_id(value: &Value, names: &Names) -> Result<Id> {
    match value {
        Value::Object(object) if !object.keys().next().is_some_and(|key| key.starts_with('$')) => {
            if object.keys().any(|key| key.contains('.')) {
                return Err(MqlError::new(
                    17390,
                    "$group does not support inclusion-style expressions",
                ));
            }
            match Expr::parse(value, names)? {
                Expr::Object(parts) => Ok(Id::Parts(parts)),
                other => Ok(Id::Value(other)),
            }
        }
        other => Ok(Id::Value(Expr::parse(other, names)?)),
    }
}

/// Reads one accumulator and checks its name.
pub(super) fn parse_field(name: &str, value: &Value, names: &Names) -> Result<Gather> {
    if name.contains('.') {
        let message = format!("The field name '{name}' cannot contain '.'");
        return Err(MqlError::new(40235, message));
    }
    if name.starts_with('$') {
        let message = format!("The field name '{name}' cannot be an operator name");
        return Err(MqlError::new(40236, message));
    }
    Gather::parse(name, value, names)
}

impl Group {
    /// Adds the names of the outermost members that it looks at; false, if it may look at all of them.
    pub(super) fn fields(&self, names: &mut Vec<Str>) -> bool {
        let id = match &self.id {
            Id::Value(expr) => expr.fields(names),
            Id::Parts(parts) => parts.iter().all(|(_, part)| part.fields(names)),
        };
        id && self.fields.iter().all(|(_, gather)| gather.fields(names))
    }
}

impl Id {
    fn of(&self, scope: &Scope<'_>) -> Result<Value> {
        match self {
            Id::Value(expr) => expr.eval(scope).map(missing_to_null),
            Id::Parts(parts) => {
                let mut id = Object::with_capacity(parts.len());
                for (name, part) in parts {
                    match part.eval(scope)? {
                        Value::Undefined if parts.len() > 1 => {}
                        value => id.push(name.clone(), missing_to_null(value)),
                    }
                }
                Ok(Value::Object(id))
            }
        }
    }
}

pub(super) fn start(group: &Arc<Group>, options: &Options) -> Work {
    Work::Step(Box::new(Grouping {
        group: Arc::clone(group),
        env: Arc::clone(&options.env),
        collation: options.collation.clone(),
        places: HashMap::new(),
        groups: Vec::new(),
        memory: Memory::new("$group", &options.env),
        from: Provenance::NONE,
        provenance: Vec::new(),
    }))
}

/// The groups so far, in the order their first documents came.
struct Grouping {
    group: Arc<Group>,
    env: Shared,
    /// What makes different texts the same id.
    collation: Option<Arc<Collation>>,
    places: HashMap<Key, usize>,
    groups: Vec<(Value, Vec<Box<dyn Accumulator>>)>,
    memory: Memory,
    /// Where the next document comes from.
    from: Provenance,
    /// Where each group comes from.
    provenance: Vec<Provenance>,
}

impl Grouping {
    fn place_of(&mut self, id: Value) -> Result<usize> {
        let key = match &self.collation {
            Some(collation) => collation.fold(&id),
            None => id.clone(),
        };
        match self.places.entry(Key(key)) {
            Entry::Occupied(entry) => Ok(*entry.get()),
            Entry::Vacant(entry) => {
                let fields = self.group.fields.iter();
                let started = fields.map(|(_, gather)| gather.start(&id, &self.env));
                let started = started.collect::<Result<Vec<_>>>()?;
                self.memory
                    .add(2 * weight(&id) + started.len() * GATHERED_BYTES)?;
                self.groups.push((id, started));
                self.provenance.push(Provenance::NONE);
                Ok(*entry.insert(self.groups.len() - 1))
            }
        }
    }
}

/// What an accumulator takes at least.
const GATHERED_BYTES: usize = 64;

impl Step for Grouping {
    fn push(&mut self, document: Object, _: &mut Vec<Object>) -> Result<Flow> {
        let group = Arc::clone(&self.group);
        let env = Arc::clone(&self.env);
        let scope = Scope::new(&document, &env);
        let place = self.place_of(group.id.of(&scope)?)?;
        let Some((_, gathered)) = self.groups.get_mut(place) else {
            return Ok(Flow::More);
        };
        if let Some(from) = self.provenance.get_mut(place) {
            *from = from.and(&self.from);
        }
        for ((_, gather), accumulator) in group.fields.iter().zip(gathered) {
            let before = accumulator.bytes();
            gather.add(accumulator.as_mut(), &scope)?;
            let after = accumulator.bytes();
            if after > before {
                self.memory.add(after - before)?;
            } else {
                self.memory.remove(before - after);
            }
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<Object>) -> Result<()> {
        self.places.clear();
        for (id, gathered) in self.groups.drain(..) {
            let mut document = Object::with_capacity(gathered.len() + 1);
            document.push("_id", id);
            for ((name, _), accumulator) in self.group.fields.iter().zip(gathered) {
                document.push(name.clone(), missing_to_null(accumulator.result()?));
            }
            out.push(document);
        }
        Ok(())
    }

    fn holds(&self) -> bool {
        true
    }

    fn comes_from(&mut self, from: Provenance) {
        self.from = from;
    }

    fn provenance(&mut self) -> Vec<Provenance> {
        std::mem::take(&mut self.provenance)
    }
}
