//! Documents to projections.

use std::sync::Arc;

use lapsedb_value::bson::type_name;
use lapsedb_value::{Object, Str, Value};

use super::elem_match::ElementOf;
use super::slice::Slice;
use super::{Meta, Projection};
use crate::expressions::numeric::Num;
use crate::expressions::{Expr, path, unavailable};
use crate::filter::Options;
use crate::stages::shape::{Leaf, Named, Policy, Shape, flag, is_expression, parse_expr};
use crate::{MqlError, Result};

/// What stands behind a field.
enum Part {
    Leaf(Leaf),
    Slice(Slice),
    Element(ElementOf),
    Positional,
    Meta(Meta),
}

/// What was read so far.
struct Reader<'a> {
    options: &'a Options,
    parts: Vec<(Vec<Str>, Part)>,
}

pub(super) fn parse(spec: &Object, options: &Options) -> Result<Projection> {
    let mut reader = Reader {
        options,
        parts: Vec::with_capacity(spec.len()),
    };
    reader.object(spec, &[])?;
    reader.finish()
}

impl Reader<'_> {
    fn object(&mut self, spec: &Object, prefix: &[Str]) -> Result<()> {
        for (name, value) in spec {
            match name.strip_suffix(".$") {
                Some(array) => self.positional(array, prefix, value)?,
                None => self.field(name, prefix, value)?,
            }
        }
        Ok(())
    }

    fn positional(&mut self, array: &str, prefix: &[Str], value: &Value) -> Result<()> {
        let steps = joined(prefix, array)?;
        if Num::of(value).map_or(value.as_bool() == Some(false), Num::is_zero) {
            return Err(MqlError::new(
                31395,
                "positional projection cannot be used with exclusion",
            ));
        }
        self.parts.push((steps, Part::Positional));
        Ok(())
    }

    fn field(&mut self, name: &str, prefix: &[Str], value: &Value) -> Result<()> {
        if name.contains(".$.") {
            return Err(MqlError::new(
                31394,
                "As of 4.4, it's illegal to specify positional operator in the middle of a path.Positional projection may \
                 only be used at the end, for example: a.b.$. If the query previously used a form like a.b.$.d, remove the \
                 parts following the '$' and the results will be equivalent.",
            ));
        }
        let steps = joined(prefix, name)?;
        let part = match value {
            Value::Bool(truth) => Part::Leaf(flag(*truth)),
            Value::Object(object) if object.is_empty() => {
                return Err(MqlError::new(
                    51270,
                    "An empty sub-projection is not a valid value. Found empty object at path",
                ));
            }
            Value::Object(object) if is_expression(object) => {
                self.operator(&steps, object, value)?
            }
            Value::Object(object) => return self.object(object, &steps),
            other => match Num::of(other) {
                Some(number) => Part::Leaf(flag(!number.is_zero())),
                None => Part::Leaf(Leaf::Compute(self.expression(other)?)),
            },
        };
        self.parts.push((steps, part));
        Ok(())
    }

    fn expression(&self, value: &Value) -> Result<Expr> {
        parse_expr(value, &self.options.names())
    }

    fn operator(&self, steps: &[Str], object: &Object, value: &Value) -> Result<Part> {
        let Some((name, argument)) = object.iter().next() else {
            return Ok(Part::Leaf(Leaf::Include));
        };
        match name.as_str() {
            "$slice" => match Slice::parse(steps, argument) {
                Some(slice) => Ok(Part::Slice(slice)),
                // Else it is the expression of that name.
                None => Ok(Part::Leaf(Leaf::Compute(self.expression(value)?))),
            },
            "$elemMatch" => {
                let Value::Object(condition) = argument else {
                    return Err(MqlError::new(
                        31274,
                        format!(
                            "elemMatch: Invalid argument, object required, but got {}",
                            type_name(argument)
                        ),
                    ));
                };
                match steps {
                    [field] => Ok(Part::Element(ElementOf::parse(
                        field,
                        condition,
                        self.options,
                    )?)),
                    _ => Err(MqlError::new(
                        31275,
                        "Cannot use $elemMatch projection on a nested field.",
                    )),
                }
            }
            "$meta" => meta(argument, self.options).map(Part::Meta),
            _ => Ok(Part::Leaf(Leaf::Compute(self.expression(value)?))),
        }
    }

    fn finish(self) -> Result<Projection> {
        let policy = self.policy();
        let mut projection = Projection {
            shape: None,
            slices: Vec::new(),
            elements: Vec::new(),
            positional: None,
            metas: Vec::new(),
            env: Arc::clone(&self.options.env),
        };
        let mut leaves: Vec<Named> = Vec::with_capacity(self.parts.len());
        check(policy, &self.parts)?;
        for (steps, part) in self.parts {
            let including = policy == Policy::Include;
            match part {
                Part::Leaf(leaf) => leaves.push((steps, leaf)),
                Part::Slice(slice) => {
                    projection.slices.push(slice);
                    if including {
                        leaves.push((steps, Leaf::Include));
                    }
                }
                Part::Element(element) if including => {
                    leaves.push((steps, Leaf::Compute(element.into_expr())));
                }
                Part::Element(element) => projection.elements.push(element),
                Part::Positional => {
                    projection.positional = Some(steps.clone());
                    leaves.push((steps, Leaf::Include));
                }
                Part::Meta(meta) => projection.metas.push((steps, meta)),
            }
        }
        if policy == Policy::Include || !leaves.is_empty() {
            projection.shape = Some(Shape::of_leaves(policy, leaves)?);
        }
        Ok(projection)
    }

    /// Whether it names what is kept or what is dropped: the first field but the id says it, if one does.
    fn policy(&self) -> Policy {
        let mut id = None;
        for (steps, part) in &self.parts {
            let is_id = matches!(steps.as_slice(), [only] if only == "_id");
            match part {
                Part::Leaf(Leaf::Include) if is_id => id = Some(Policy::Include),
                Part::Leaf(Leaf::Exclude) if is_id => {}
                Part::Leaf(Leaf::Include | Leaf::Compute(_)) | Part::Positional => {
                    return Policy::Include;
                }
                Part::Leaf(Leaf::Exclude) => return Policy::Exclude,
                Part::Slice(_) | Part::Element(_) | Part::Meta(_) => {}
            }
        }
        let has = |wanted: fn(&Part) -> bool| self.parts.iter().any(|(_, part)| wanted(part));
        let elements_alone = has(|part| matches!(part, Part::Element(_)))
            && !has(|part| matches!(part, Part::Slice(_)));
        match (id, elements_alone) {
            (Some(policy), _) => policy,
            (None, true) => Policy::Include,
            (None, false) => Policy::Exclude,
        }
    }
}

/// Refuses, field by field, what contradicts the kind of projection or an earlier field.
fn check(policy: Policy, parts: &[(Vec<Str>, Part)]) -> Result<()> {
    for (at, (steps, part)) in parts.iter().enumerate() {
        let earlier = parts.get(..at).unwrap_or_default();
        check_combination(part, earlier)?;
        check_collision(steps, earlier).map_err(|error| match (part, policy) {
            // A `$slice` that does not fit is tried as the expression of that name, which does not fit either.
            (Part::Slice(_), Policy::Include) => MqlError::new(28667, error.message),
            (Part::Slice(_), _) => MqlError::new(31252, error.message),
            _ => error,
        })?;
        check_kind(policy, steps, part)?;
    }
    Ok(())
}

fn check_kind(policy: Policy, steps: &[Str], part: &Part) -> Result<()> {
    let is_id = matches!(steps, [only] if only == "_id");
    let field = steps.join(".");
    let refused = |code, what: &str, field: &str, kind: &str| {
        let message = format!("Cannot do {what} on field {field} in {kind} projection");
        Err(MqlError::new(code, message))
    };
    match (policy, part) {
        (Policy::Include, Part::Leaf(Leaf::Exclude)) if !is_id => {
            refused(31254, "exclusion", &field, "inclusion")
        }
        (Policy::Exclude, Part::Leaf(Leaf::Include)) if !is_id => {
            refused(31253, "inclusion", &field, "exclusion")
        }
        (Policy::Exclude, Part::Positional) => {
            refused(31253, "inclusion", &format!("{field}.$"), "exclusion")
        }
        (Policy::Exclude, Part::Leaf(Leaf::Compute(_))) => Err(MqlError::new(
            31310,
            format!("Cannot use an expression {field} in an exclusion projection"),
        )),
        _ => Ok(()),
    }
}

fn check_combination(part: &Part, earlier: &[(Vec<Str>, Part)]) -> Result<()> {
    let has = |wanted: fn(&Part) -> bool| earlier.iter().any(|(_, part)| wanted(part));
    let positional = |part: &Part| matches!(part, Part::Positional);
    if positional(part) && has(positional) {
        let message = "Cannot specify more than one positional projection per query.";
        return Err(MqlError::new(31276, message));
    }
    let code = match part {
        Part::Element(_) if has(positional) => 31255,
        Part::Positional if has(|part| matches!(part, Part::Element(_))) => 31256,
        _ => return Ok(()),
    };
    let message = "Cannot specify positional operator and $elemMatch.";
    Err(MqlError::new(code, message))
}

/// Refuses a path that leads through another one.
fn check_collision(steps: &[Str], earlier: &[(Vec<Str>, Part)]) -> Result<()> {
    for (other, _) in earlier {
        if steps.starts_with(other) && steps.len() > other.len() {
            let rest = steps.get(other.len()..).unwrap_or_default().join(".");
            let path = steps.join(".");
            let message = format!("Path collision at {path} remaining portion {rest}");
            return Err(MqlError::new(31249, message));
        }
        if other.starts_with(steps) {
            let message = format!("Path collision at {}", steps.join("."));
            return Err(MqlError::new(31250, message));
        }
    }
    Ok(())
}

fn joined(prefix: &[Str], name: &str) -> Result<Vec<Str>> {
    let mut steps = prefix.to_vec();
    steps.extend(path::split(name)?);
    Ok(steps)
}

fn meta(argument: &Value, options: &Options) -> Result<Meta> {
    match argument.as_str() {
        Some("sortKey") => Ok(Meta::SortKey),
        Some("recordId") => Ok(Meta::RecordId),
        Some("indexKey") => Ok(Meta::IndexKey),
        Some("textScore") if options.metas.text_score => Ok(Meta::TextScore),
        Some("textScore") => Err(unavailable("text score")),
        Some("geoNearDistance") if options.metas.distance => Ok(Meta::Distance),
        Some("geoNearDistance") => Err(unavailable("$geoNear distance")),
        Some(other) => Err(MqlError::new(
            17308,
            format!("Unsupported argument to $meta: {other}"),
        )),
        None => Err(MqlError::new(17307, "$meta only supports string arguments")),
    }
}
