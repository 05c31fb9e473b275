//! The parts of a filter as they were written, and what is said of each.

use lapsedb_value::bson::type_name;
use lapsedb_value::{Object, Str, Value};

use super::{Asked, named};
use crate::expressions::{Expr, Scope};
use crate::filter::FieldPath;
use crate::filter::parse::is_operator_document;
use crate::filter::path::{Holder, Leaf as PathLeaf, Walk};
use crate::values::is_true;
use crate::{MqlError, Result};

/// A part of a filter.
pub(super) enum Clause<'a> {
    /// `$and`, `$or` or `$nor`.
    List(&'a str, &'a [Value]),
    /// A filter inside such a list.
    Whole(&'a Object),
    /// `$not` behind a field.
    Not(&'a str, &'a Value),
    /// `$jsonSchema`.
    Schema(&'a Object),
    /// A question to the values at a path, or an expression.
    Leaf(Leaf<'a>),
}

/// A question by itself.
pub(super) struct Leaf<'a> {
    path: &'a str,
    operator: &'a str,
    argument: &'a Value,
    /// How it was written.
    text: Object,
}

impl Clause<'_> {
    /// The part as a filter of its own.
    pub(super) fn text(&self) -> Object {
        let one = |name: &str, value: Value| {
            let mut text = Object::with_capacity(1);
            text.push(name, value);
            text
        };
        match self {
            Clause::List(name, filters) => one(name, Value::Array(filters.to_vec())),
            Clause::Whole(filter) => (*filter).clone(),
            Clause::Not(field, inner) => one(field, Value::Object(one("$not", (*inner).clone()))),
            Clause::Schema(schema) => one("$jsonSchema", Value::Object((*schema).clone())),
            Clause::Leaf(leaf) => leaf.text.clone(),
        }
    }
}

/// Takes a filter apart.
pub(super) fn clauses(filter: &Object) -> Vec<Clause<'_>> {
    let mut parts = Vec::with_capacity(filter.len());
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$comment", _) => {}
            ("$and" | "$or" | "$nor", Value::Array(filters)) => {
                parts.push(Clause::List(name, filters));
            }
            ("$jsonSchema", Value::Object(schema)) => parts.push(Clause::Schema(schema)),
            (operator, argument) if operator.starts_with('$') => {
                parts.push(leaf("", operator, argument, pair(name, value)));
            }
            (field, Value::Object(operators)) if is_operator_document(operators, false) => {
                field_clauses(field, operators, &mut parts);
            }
            (field, argument @ Value::Regex { .. }) => {
                parts.push(leaf(field, "$regex", argument, pair(name, value)));
            }
            (field, argument) => parts.push(leaf(field, "$eq", argument, pair(name, value))),
        }
    }
    parts
}

fn field_clauses<'a>(field: &'a str, operators: &'a Object, parts: &mut Vec<Clause<'a>>) {
    for (operator, argument) in operators {
        match operator.as_str() {
            "$options" => {}
            "$not" => parts.push(Clause::Not(field, argument)),
            operator => {
                let mut own = Object::with_capacity(2);
                own.push(operator, argument.clone());
                if operator == "$regex"
                    && let Some(options) = operators.get("$options")
                {
                    own.push("$options", options.clone());
                }
                let text = pair(field, &Value::Object(own));
                parts.push(leaf(field, operator, argument, text));
            }
        }
    }
}

fn leaf<'a>(path: &'a str, operator: &'a str, argument: &'a Value, text: Object) -> Clause<'a> {
    Clause::Leaf(Leaf {
        path,
        operator,
        argument,
        text,
    })
}

fn pair(name: &str, value: &Value) -> Object {
    let mut pair = Object::with_capacity(1);
    pair.push(name, value.clone());
    pair
}

/// Refuses what no validator may ask.
pub(super) fn check(filter: &Object) -> Result<()> {
    for clause in clauses(filter) {
        match clause {
            Clause::List(_, filters) => {
                for filter in filters.iter().filter_map(Value::as_object) {
                    check(filter)?;
                }
            }
            Clause::Leaf(leaf) => match leaf.operator {
                "$text" | "$where" => {
                    return Err(MqlError::bad_value(format!(
                        "{} is not allowed in this context",
                        leaf.operator
                    )));
                }
                "$near" | "$nearSphere" | "$geoNear" => {
                    return Err(MqlError::new(
                        5_626_500,
                        "$geoNear, $near, and $nearSphere are not allowed in this context",
                    ));
                }
                _ => {}
            },
            Clause::Whole(_) | Clause::Not(..) | Clause::Schema(_) => {}
        }
    }
    Ok(())
}

/// Types by their names, as an operator that wants one of them says it.
type Wanted = &'static [&'static str];

const NUMBERS: Wanted = &["decimal", "double", "int", "long"];
const BITS: Wanted = &["binData", "decimal", "double", "int", "long"];
const TEXTS: Wanted = &["regex", "string", "symbol"];
const ARRAYS: Wanted = &["array"];

impl Leaf<'_> {
    /// Says why it failed, or, inverted, why it did not.
    pub(super) fn describe(&self, asked: &Asked<'_>, inverted: bool) -> Object {
        let mut details = named(self.operator);
        details.push("specifiedAs", Value::Object(self.text.clone()));
        match self.operator {
            "$expr" => return self.expression(asked, inverted, details),
            "$exists" => {
                let wanted = is_true(self.argument) != inverted;
                let reason = if wanted {
                    "path does not exist"
                } else {
                    "path does exist"
                };
                details.push("reason", reason);
                return details;
            }
            _ => {}
        }
        let (values, whole) = self.considered(asked.document);
        // What denies a comparison fails when that succeeds.
        let succeeded = inverted != matches!(self.operator, "$ne" | "$nin");
        if values.is_empty() && whole.is_none() {
            details.push("reason", "field was missing");
            return details;
        }
        if let (Some(wanted), false) = (self.wanted(), succeeded)
            && values
                .iter()
                .all(|value| !wanted.contains(&type_name(value)))
            && let [value] = values.as_slice()
        {
            details.push("reason", "type did not match");
            details.push("consideredType", type_name(value));
            match wanted {
                [one] => details.push("expectedType", *one),
                several => {
                    let several = several.iter().map(|name| Value::from(*name)).collect();
                    details.push("expectedTypes", Value::Array(several));
                }
            }
            details.push("consideredValue", value.clone());
            return details;
        }
        details.push("reason", self.reason(succeeded));
        let consider = match (values.as_slice(), whole) {
            ([one], _) => ("consideredValue", one.clone()),
            (several, _) => ("consideredValues", Value::Array(several.to_vec())),
        };
        details.push(consider.0, consider.1);
        if self.operator == "$type" {
            let first = values.first().unwrap_or(Value::undefined());
            details.push("consideredType", type_name(first));
        }
        details
    }

    /// The types of values that it can be asked of, if not all.
    fn wanted(&self) -> Option<Wanted> {
        match self.operator {
            "$size" | "$elemMatch" => Some(ARRAYS),
            "$mod" => Some(NUMBERS),
            "$regex" => Some(TEXTS),
            bits if bits.starts_with("$bits") => Some(BITS),
            _ => None,
        }
    }

    fn reason(&self, succeeded: bool) -> &'static str {
        match (self.operator, succeeded) {
            ("$in" | "$nin", false) => "no matching value found in array",
            ("$in" | "$nin", true) => "matching value found in array",
            ("$type", false) => "type did not match",
            ("$type", true) => "type did match",
            ("$regex", false) => "regular expression did not match",
            ("$regex", true) => "regular expression did match",
            ("$size", false) => "array length was not equal to given size",
            ("$size", true) => "array length was equal to given size",
            ("$mod", false) => "$mod did not evaluate to expected remainder",
            ("$mod", true) => "$mod did evaluate to expected remainder",
            ("$all", false) => "array did not contain all specified values",
            ("$all", true) => "array did contain all specified values",
            ("$elemMatch", false) => "array did not satisfy the child predicate",
            ("$elemMatch", true) => "array did satisfy the child predicate",
            ("$geoWithin" | "$geoIntersects", false) => {
                "none of the considered geometries were contained within the expression's geometry"
            }
            ("$geoWithin" | "$geoIntersects", true) => {
                "at least one of the considered geometries was contained within the expression's geometry"
            }
            (bits, false) if bits.starts_with("$bits") => "bitwise operator failed to match",
            (bits, true) if bits.starts_with("$bits") => "bitwise operator matched successfully",
            (_, false) => "comparison failed",
            (_, true) => "comparison succeeded",
        }
    }

    /// The values at the path: elements of arrays one by one where it asks them so. The array that they come from, if any.
    fn considered(&self, document: &Object) -> (Vec<Value>, Option<()>) {
        let by_element = !matches!(self.operator, "$size" | "$all" | "$elemMatch");
        let (mut values, mut arrays) = (Vec::new(), None);
        let mut visit = |value: &Value, _: Option<usize>| {
            match value {
                Value::Undefined => {}
                Value::Array(elements) if by_element => {
                    arrays = Some(());
                    values.extend(elements.iter().cloned());
                }
                other => values.push(other.clone()),
            }
            false
        };
        let path: Vec<Str> = FieldPath::new(self.path).parts().to_vec();
        let mut walk = Walk {
            leaf: PathLeaf::Whole,
            visit: &mut visit,
        };
        walk.from(Holder::Object(document), &path, None);
        (values, arrays)
    }

    fn expression(&self, asked: &Asked<'_>, inverted: bool, mut details: Object) -> Object {
        let reason = match inverted {
            true => "expression did match",
            false => "expression did not match",
        };
        details.push("reason", reason);
        let env = &asked.options.env;
        let result = Expr::parse(self.argument, &env.names())
            .and_then(|expr| expr.eval(&Scope::new(asked.document, env)));
        match result {
            Ok(Value::Undefined) | Err(_) => {}
            Ok(result) => {
                details.push("expressionResult", result);
            }
        }
        details
    }
}
