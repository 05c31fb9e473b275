//! Shapes: what `$project`, `$addFields` and `$unset` keep, drop and compute.

use std::collections::HashMap;

use lapsedb_value::budget::MEMBER_BYTES;
use lapsedb_value::{Budget, Members, Object, Str, Value};

use crate::expressions::numeric::Num;
use crate::expressions::{Env, Expr, Names, Scope, is_operator, path};
use crate::{MqlError, Result};

/// What happens to fields that a shape does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// They are dropped: `$project` that includes.
    Include,
    /// They stay, and named ones go: `$project` that excludes, `$unset`.
    Exclude,
    /// They stay, and named ones are computed: `$addFields`.
    Compute,
}

/// A shape that has been read and checked.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    policy: Policy,
    root: Node,
    /// What is computed, once per document, in the order it was written.
    exprs: Vec<Expr>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    children: Vec<(Str, Child)>,
    /// Where each child stands, once there are more than a few.
    places: HashMap<Str, usize>,
    computes: bool,
}

/// Up to so many children a name is compared with all; beyond, names are hashed.
const COMPARED_MAX: usize = 16;

#[derive(Clone, Debug)]
enum Child {
    Include,
    Exclude,
    /// The value of the expression of that number.
    Compute(usize),
    Nested(Node),
}

/// What a leaf of a `$project` says.
pub(crate) enum Leaf {
    Include,
    Exclude,
    Compute(Expr),
}

/// The codes of two paths of which one leads through the other.
#[derive(Clone, Copy)]
struct Collision {
    through_leaf: i32,
    onto_node: i32,
}

const IN_PROJECT: Collision = Collision {
    through_leaf: 31249,
    onto_node: 31250,
};
const IN_ADD_FIELDS: Collision = Collision {
    through_leaf: 40176,
    onto_node: 40176,
};

/// A leaf with the names that lead to it.
pub(crate) type Named = (Vec<Str>, Leaf);

impl Shape {
    /// Reads the argument of `$project`.
    pub(crate) fn project(spec: &Object, names: &Names) -> Result<Shape> {
        if spec.is_empty() {
            return Err(MqlError::new(
                51272,
                "projection specification must have at least one field",
            ));
        }
        let mut leaves = Vec::new();
        read_project(spec, &[], names, &mut leaves)?;
        Shape::of_leaves(policy_of(&leaves), leaves)
    }

    /// A shape from leaves whose kind is settled, as `find` reads them.
    pub(crate) fn of_leaves(policy: Policy, leaves: Vec<Named>) -> Result<Shape> {
        let mut shape = Shape::empty(policy);
        for (steps, leaf) in leaves {
            let is_id = steps.len() == 1 && steps.first().is_some_and(|step| step == "_id");
            shape.check(&steps, &leaf, is_id)?;
            // The id is there by itself in one kind and stays by itself in the other.
            let child = match (policy, leaf) {
                (Policy::Exclude, Leaf::Include) => continue,
                (_, Leaf::Include) => Child::Include,
                (_, Leaf::Exclude) => Child::Exclude,
                (_, Leaf::Compute(expr)) => shape.computed(expr),
            };
            shape.root.insert(&steps, child, IN_PROJECT)?;
        }
        let has_id = shape.root.children.iter().any(|(name, _)| name == "_id");
        if policy == Policy::Include && !has_id {
            shape
                .root
                .children
                .insert(0, (Str::const_new("_id"), Child::Include));
            shape.root.index();
        }
        Ok(shape)
    }

    /// Reads the argument of `$addFields`.
    pub(crate) fn add_fields(spec: &Object, names: &Names) -> Result<Shape> {
        let mut shape = Shape::empty(Policy::Compute);
        let mut leaves = Vec::new();
        read_add_fields(spec, &[], names, &mut leaves)?;
        for (steps, expr) in leaves {
            let child = shape.computed(expr);
            shape.root.insert(&steps, child, IN_ADD_FIELDS)?;
        }
        Ok(shape)
    }

    /// A shape that drops fields.
    pub(crate) fn unset<'a>(paths: impl Iterator<Item = &'a str>) -> Result<Shape> {
        let mut shape = Shape::empty(Policy::Exclude);
        for text in paths {
            let steps = path::split(text)?;
            shape.root.insert(&steps, Child::Exclude, IN_PROJECT)?;
        }
        Ok(shape)
    }

    fn empty(policy: Policy) -> Shape {
        Shape {
            policy,
            root: Node::default(),
            exprs: Vec::new(),
        }
    }

    fn computed(&mut self, expr: Expr) -> Child {
        self.exprs.push(expr);
        Child::Compute(self.exprs.len() - 1)
    }

    fn check(&self, steps: &[Str], leaf: &Leaf, is_id: bool) -> Result<()> {
        let refused = |code, what: &str, kind: &str| {
            let field = steps.join(".");
            let message = format!("Cannot do {what} on field {field} in {kind} projection");
            Err(MqlError::new(code, message))
        };
        match (self.policy, leaf) {
            (Policy::Include, Leaf::Exclude) if !is_id => refused(31254, "exclusion", "inclusion"),
            (Policy::Exclude, Leaf::Include) if !is_id => refused(31253, "inclusion", "exclusion"),
            (Policy::Exclude, Leaf::Compute(_)) => Err(MqlError::new(
                31252,
                "Cannot use expression other than $meta in exclusion projection",
            )),
            _ => Ok(()),
        }
    }

    /// The document in this shape.
    pub(crate) fn apply(&self, document: Object, env: &Env) -> Result<Object> {
        let mut needed = vec![false; self.exprs.len()];
        self.root.mark_needed(Some(&document), &mut needed);
        let scope = Scope::new(&document, env);
        let value = |(expr, needed): (&Expr, bool)| match needed {
            true => expr.eval(&scope),
            false => Ok(Value::Undefined),
        };
        let values = self.exprs.iter().zip(needed).map(value);
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(match self.policy {
            Policy::Include => {
                let mut kept = self.root.include(document);
                self.root.compute(&mut kept, &values, env.budget())?;
                kept
            }
            Policy::Exclude => self.root.exclude(document),
            Policy::Compute => {
                let mut document = document;
                self.root.compute(&mut document, &values, env.budget())?;
                document
            }
        })
    }
}

impl Node {
    fn insert(&mut self, steps: &[Str], child: Child, collision: Collision) -> Result<()> {
        let Some((first, rest)) = steps.split_first() else {
            return Ok(());
        };
        let computes = matches!(child, Child::Compute(_));
        self.computes |= computes;
        let place = self.place(first);
        let found = place.and_then(|place| self.children.get_mut(place));
        match (found, rest.is_empty()) {
            (None, true) => self.append(first, child),
            (None, false) => {
                let mut node = Node::default();
                node.insert(rest, child, collision)?;
                self.append(first, Child::Nested(node));
            }
            (Some((_, Child::Nested(node))), false) => node.insert(rest, child, collision)?,
            (Some(_), true) => {
                let message = format!("Path collision at {first}");
                return Err(MqlError::new(collision.onto_node, message));
            }
            (Some(_), false) => {
                let message = format!(
                    "Path collision at {} remaining portion {}",
                    steps.join("."),
                    rest.join(".")
                );
                return Err(MqlError::new(collision.through_leaf, message));
            }
        }
        Ok(())
    }

    fn append(&mut self, name: &Str, child: Child) {
        self.children.push((name.clone(), child));
        match self.places.is_empty() {
            true => self.index(),
            false => {
                self.places.insert(name.clone(), self.children.len() - 1);
            }
        }
    }

    /// Notes where each child stands, if there are more than a few.
    fn index(&mut self) {
        if self.children.len() > COMPARED_MAX {
            let places = self.children.iter().enumerate();
            self.places = places.map(|(at, (name, _))| (name.clone(), at)).collect();
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        match self.places.is_empty() {
            true => self.children.iter().position(|(known, _)| known == name),
            false => self.places.get(name).copied(),
        }
    }

    fn child(&self, name: &str) -> Option<&Child> {
        let (_, child) = self.children.get(self.place(name)?)?;
        Some(child)
    }

    /// The fields that are named, in the document's order.
    fn include(&self, document: Object) -> Object {
        let mut kept = Object::with_capacity(self.children.len());
        for (name, value) in document {
            match self.child(&name) {
                Some(Child::Include) => kept.push(name, value),
                Some(Child::Nested(node)) => match node.include_value(value) {
                    Value::Undefined => {}
                    value => kept.push(name, value),
                },
                Some(Child::Exclude | Child::Compute(_)) | None => {}
            }
        }
        kept
    }

    /// In arrays, what is no object is dropped, unless something will be computed in its place.
    fn include_value(&self, value: Value) -> Value {
        match value {
            Value::Object(object) => Value::Object(self.include(object)),
            Value::Array(elements) => {
                let kept = elements
                    .into_iter()
                    .map(|element| self.include_value(element));
                Value::Array(kept.filter(|element| !element.is_undefined()).collect())
            }
            other if self.computes => other,
            _ => Value::Undefined,
        }
    }

    fn exclude(&self, document: Object) -> Object {
        let mut kept = Object::with_capacity(document.len());
        for (name, value) in document {
            match self.child(&name) {
                Some(Child::Exclude) => {}
                Some(Child::Nested(node)) => kept.push(name, node.exclude_value(value)),
                Some(Child::Include | Child::Compute(_)) | None => kept.push(name, value),
            }
        }
        kept
    }

    fn exclude_value(&self, value: Value) -> Value {
        match value {
            Value::Object(object) => Value::Object(self.exclude(object)),
            Value::Array(elements) => {
                let kept = elements
                    .into_iter()
                    .map(|element| self.exclude_value(element));
                Value::Array(kept.collect())
            }
            other => other,
        }
    }

    /// Says which values will be used: what lies behind an empty array is not computed.
    fn mark_needed(&self, document: Option<&Object>, needed: &mut [bool]) {
        for (name, child) in &self.children {
            match child {
                Child::Compute(number) => {
                    if let Some(needed) = needed.get_mut(*number) {
                        *needed = true;
                    }
                }
                Child::Nested(node) if node.computes => {
                    let value = document.and_then(|document| document.get(name));
                    node.mark_needed_in(value, needed);
                }
                Child::Include | Child::Exclude | Child::Nested(_) => {}
            }
        }
    }

    fn mark_needed_in(&self, value: Option<&Value>, needed: &mut [bool]) {
        match value {
            Some(Value::Array(elements)) => elements
                .iter()
                .for_each(|element| self.mark_needed_in(Some(element), needed)),
            Some(Value::Object(object)) => self.mark_needed(Some(object), needed),
            Some(_) | None => self.mark_needed(None, needed),
        }
    }

    /// Sets what is computed; fields that are there keep their place.
    fn compute(&self, document: &mut Object, values: &[Value], budget: &Budget) -> Result<()> {
        if !self.computes {
            return Ok(());
        }
        // What is to be removed is marked first, so that no member moves while others are looked up.
        let mut removes = false;
        let mut members = Members::among(std::mem::take(document), self.children.len());
        for (name, child) in &self.children {
            match child {
                Child::Include | Child::Exclude => {}
                Child::Compute(number) => match values.get(*number) {
                    None | Some(Value::Undefined) => {
                        removes |= members.get_mut(name).map(std::mem::take).is_some();
                    }
                    Some(value) => {
                        budget.charge(MEMBER_BYTES)?;
                        members.insert(name, budget.copy(value)?);
                    }
                },
                Child::Nested(node) if node.computes => {
                    let before = members.get_mut(name).map(std::mem::take);
                    let after = node.compute_value(before.unwrap_or_default(), values, budget)?;
                    members.insert(name, after);
                }
                Child::Nested(_) => {}
            }
        }
        *document = members.into_object();
        if removes {
            document.retain(|_, value| !value.is_undefined());
        }
        Ok(())
    }

    /// In arrays every element is computed; what is no object becomes one.
    fn compute_value(&self, value: Value, values: &[Value], budget: &Budget) -> Result<Value> {
        let mut object = match value {
            Value::Object(object) => object,
            Value::Array(elements) => {
                let each = elements
                    .into_iter()
                    .map(|element| self.compute_value(element, values, budget));
                return Ok(Value::Array(each.collect::<Result<_>>()?));
            }
            _ => Object::new(),
        };
        self.compute(&mut object, values, budget)?;
        Ok(Value::Object(object))
    }
}

/// Whether a `$project` includes or excludes: the first field but the id says it.
fn policy_of(leaves: &[Named]) -> Policy {
    let is_id = |steps: &[Str]| matches!(steps, [only] if only == "_id");
    let first = leaves.iter().find(|(steps, _)| !is_id(steps));
    match first.or(leaves.first()) {
        Some((_, Leaf::Exclude)) => Policy::Exclude,
        Some((_, Leaf::Include | Leaf::Compute(_))) | None => Policy::Include,
    }
}

fn joined(prefix: &[Str], name: &str) -> Result<Vec<Str>> {
    let mut steps = prefix.to_vec();
    steps.extend(path::split(name)?);
    Ok(steps)
}

fn read_project(
    spec: &Object,
    prefix: &[Str],
    names: &Names,
    leaves: &mut Vec<Named>,
) -> Result<()> {
    for (name, value) in spec {
        let steps = joined(prefix, name)?;
        let leaf = match value {
            Value::Bool(truth) => flag(*truth),
            Value::Object(object) if object.is_empty() => {
                return Err(MqlError::new(
                    51270,
                    "An empty sub-projection is not a valid value. Found empty object at path",
                ));
            }
            Value::Object(object) if !is_expression(object) => {
                read_project(object, &steps, names, leaves)?;
                continue;
            }
            other => match Num::of(other) {
                Some(number) => flag(!number.is_zero()),
                None => Leaf::Compute(parse_expr(other, names)?),
            },
        };
        leaves.push((steps, leaf));
    }
    Ok(())
}

/// In `$project` an unknown operator has a code of its own.
pub(crate) fn parse_expr(value: &Value, names: &Names) -> Result<Expr> {
    let operator = value.as_object().and_then(|object| object.keys().next());
    match operator {
        Some(name) if !is_operator(name) => {
            Err(MqlError::new(31325, format!("Unknown expression {name}")))
        }
        Some(_) | None => Expr::parse(value, names),
    }
}

pub(crate) fn flag(truth: bool) -> Leaf {
    match truth {
        true => Leaf::Include,
        false => Leaf::Exclude,
    }
}

pub(crate) fn is_expression(object: &Object) -> bool {
    object.len() == 1 && object.keys().next().is_some_and(|key| key.starts_with('$'))
}

fn read_add_fields(
    spec: &Object,
    prefix: &[Str],
    names: &Names,
    leaves: &mut Vec<(Vec<Str>, Expr)>,
) -> Result<()> {
    for (name, value) in spec {
        let steps = joined(prefix, name)?;
        match value {
            Value::Object(object) if object.is_empty() => {
                let field = steps.join(".");
                let message = format!(
                    "an empty object is not a valid value. Found empty object at path {field}"
                );
                return Err(MqlError::new(40180, message));
            }
            Value::Object(object) if !is_expression(object) => {
                read_add_fields(object, &steps, names, leaves)?;
            }
            other => leaves.push((steps, Expr::parse(other, names)?)),
        }
    }
    Ok(())
}
