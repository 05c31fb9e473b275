//! `$bucket`: documents grouped by the span that a value lies in.

use std::cmp::Ordering;

use lapsedb_value::order::bson_class;

use crate::expressions::Scope;
use crate::expressions::form::Operator;
use crate::expressions::values::compare;

use super::*;

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let Some(object) = spec.as_object() else {
        let found = type_name(spec);
        let message =
            format!("Argument to $bucket stage must be an object, but found type: {found}.");
        return Err(MqlError::new(40201, message));
    };
    let names = &context.names;
    let (mut by, mut bounds, mut default) = (None, None, None);
    let mut fields = count_output(names)?;
    for (name, value) in object {
        match name.as_str() {
            "groupBy" => by = Some(read_group_by(value, names, (40202, "$bucket"))?),
            "boundaries" => bounds = Some(read_boundaries(value, names)?),
            "default" => default = Some(read_default(value, names)?),
            "output" => fields = read_output(value, names, (40196, "$bucket"))?,
            other => {
                let message = format!("Unrecognized option to $bucket: {other}.");
                return Err(MqlError::new(40197, message));
            }
        }
    }
    let (Some(by), Some(bounds)) = (by, bounds) else {
        return Err(MqlError::new(
            40198,
            "$bucket requires 'groupBy' and 'boundaries' to be specified.",
        ));
    };
    check_default(&bounds, default.as_ref())?;
    let id = Expr::lazy(Span {
        by,
        bounds,
        default,
    });
    let mut order = Object::new();
    order.push("_id", 1);
    Ok(vec![
        Stage::Group(Arc::new(group::Group {
            id: group::Id::Value(id),
            fields,
        })),
        sort::by(Sort::parse(&order)?),
    ])
}

/// What is gathered if nothing else is said: how many there are.
pub(super) fn count_output(names: &Names) -> Result<Vec<(Str, crate::accumulators::Gather)>> {
    let mut ones = Object::new();
    ones.push("$sum", 1);
    let gather = group::parse_field("count", &Value::Object(ones), names)?;
    Ok(vec![(Str::const_new("count"), gather)])
}

/// What documents are grouped by: a path or an expression.
pub(super) fn read_group_by(
    value: &Value,
    names: &Names,
    (code, stage): (i32, &str),
) -> Result<Expr> {
    let fits = match value {
        Value::String(text) => text.starts_with('$'),
        Value::Object(object) => object.keys().next().is_some_and(|key| key.starts_with('$')),
        _ => false,
    };
    match fits {
        true => Expr::parse(value, names),
        false => Err(MqlError::new(
            code,
            format!(
                "The {stage} 'groupBy' field must be defined as a $-prefixed path or an expression, but found: {value}."
            ),
        )),
    }
}

pub(super) fn read_output(
    value: &Value,
    names: &Names,
    (code, stage): (i32, &str),
) -> Result<Vec<(Str, crate::accumulators::Gather)>> {
    let Some(object) = value.as_object() else {
        let found = type_name(value);
        let message =
            format!("The {stage} 'output' field must be an object, but found type: {found}.");
        return Err(MqlError::new(code, message));
    };
    let field =
        |(name, value): (&Str, &Value)| Ok((name.clone(), group::parse_field(name, value, names)?));
    object.iter().map(field).collect()
}

fn read_boundaries(value: &Value, names: &Names) -> Result<Vec<Value>> {
    let Some(list) = value.as_array() else {
        let found = type_name(value);
        let message =
            format!("The $bucket 'boundaries' field must be an array, but found type: {found}.");
        return Err(MqlError::new(40200, message));
    };
    let bound = |value: &Value| {
        let expr = Expr::parse(value, names)?;
        expr.constant().cloned().ok_or_else(|| {
            let message = format!(
                "The $bucket 'boundaries' field must be an array of constant values, but found value: {value}."
            );
            MqlError::new(40191, message)
        })
    };
    let bounds = list.iter().map(bound).collect::<Result<Vec<_>>>()?;
    if bounds.len() < 2 {
        let count = bounds.len();
        let message = format!(
            "The $bucket 'boundaries' field must have at least 2 values, but found {count} value(s)."
        );
        return Err(MqlError::new(40192, message));
    }
    for (a, b) in bounds.iter().zip(bounds.iter().skip(1)) {
        if bson_class(a) != bson_class(b) {
            let message = format!(
                "All values in the the 'boundaries' option to $bucket must have the same type. Found conflicting types {} and {}.",
                type_name(a),
                type_name(b)
            );
            return Err(MqlError::new(40193, message));
        }
        if compare(a, b) != Ordering::Less {
            let message = format!(
                "The 'boundaries' option to $bucket must be sorted, but {a} is not less than {b}."
            );
            return Err(MqlError::new(40194, message));
        }
    }
    Ok(bounds)
}

fn read_default(value: &Value, names: &Names) -> Result<Value> {
    let expr = Expr::parse(value, names)?;
    expr.constant().cloned().ok_or_else(|| {
        let message = format!(
            "The $bucket 'default' field must be a constant expression, but found: {value}."
        );
        MqlError::new(40195, message)
    })
}

fn check_default(bounds: &[Value], default: Option<&Value>) -> Result<()> {
    let inside = |value: &Value| {
        let above = bounds
            .first()
            .is_some_and(|first| compare(value, first).is_ge());
        above
            && bounds
                .last()
                .is_some_and(|last| compare(value, last).is_lt())
    };
    match default.is_some_and(inside) {
        true => Err(MqlError::new(
            40199,
            "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.",
        )),
        false => Ok(()),
    }
}

/// The lower end of the span that a value lies in.
#[derive(Debug)]
struct Span {
    by: Expr,
    bounds: Vec<Value>,
    default: Option<Value>,
}

impl Operator for Span {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let value = self.by.get(scope)?;
        let at = self
            .bounds
            .partition_point(|bound| compare(bound, &value).is_le());
        let inside = at > 0 && at < self.bounds.len();
        let lower = self.bounds.get(at.wrapping_sub(1)).filter(|_| inside);
        lower.or(self.default.as_ref()).cloned().ok_or_else(|| {
            MqlError::new(
                40066,
                "$switch could not find a matching branch for an input, and no default was specified.",
            )
        })
    }
}
