//! What an expression means for one row.
//!
//! Nothing here recurses deeper than the expression is high, and every step is counted, so no query
//! overflows the stack or runs for ever.

mod context;
mod like;
mod operators;
mod scope;
mod sources;
mod weight;

use std::borrow::Cow;
use std::cmp::Ordering;

use lapsedb_value::{Object, Str, Value, number};

pub use context::Env;
pub(crate) use context::{Ctx, Dialect};
pub(crate) use scope::{Scope, ScopeRef};
pub use sources::Flow;
pub(crate) use sources::{rows, values};
pub(crate) use weight::weight;
use weight::weight_within;

use crate::ast::{BinaryOp, SubqueryKind, UnaryOp};
use crate::constant_set::ConstantSet;
use crate::error::SqlError;
use crate::exec::Pipeline;
use crate::functions::{Call, Function};
use crate::plan::{BoundQuery, Expr, ExprKind, Slot};
use crate::span::Span;

/// A value that may still belong to the document it was found in.
pub(crate) type Found<'a> = Cow<'a, Value>;

/// The value of the expression where the variables are those of the scope.
pub(crate) fn eval<'a>(
    ctx: &'a Ctx<'_>,
    expr: &'a Expr,
    scope: ScopeRef<'a>,
) -> Result<Found<'a>, SqlError> {
    ctx.step()?;
    match &expr.kind {
        ExprKind::Constant(value) => {
            ctx.notice(value);
            Ok(Cow::Borrowed(value))
        }
        ExprKind::Slot(slot) => Ok(Cow::Borrowed(scope::find(scope, *slot))),
        ExprKind::Member(base, name) => Ok(member(eval(ctx, base, scope)?, name)),
        ExprKind::Index(base, index) => index_into(ctx, base, index, scope),
        ExprKind::Array(items) => array(ctx, items, scope).map(Cow::Owned),
        ExprKind::Object(members) => object(ctx, members, scope).map(Cow::Owned),
        ExprKind::Unary(op, operand) => {
            let operand = eval(ctx, operand, scope)?;
            Ok(Cow::Owned(unary(*op, &operand)))
        }
        ExprKind::Binary(op, left, right) => {
            let left = eval(ctx, left, scope)?;
            let right = eval(ctx, right, scope)?;
            ctx.made(operators::binary(*op, &left, &right))
                .map(Cow::Owned)
        }
        ExprKind::Chain(first, rest) => chain(ctx, first, rest, scope).map(Cow::Owned),
        ExprKind::And(terms) => junction(ctx, terms, scope, false),
        ExprKind::Or(terms) => junction(ctx, terms, scope, true),
        ExprKind::Coalesce(left, right) => match eval(ctx, left, scope)? {
            value if value.is_undefined() => eval(ctx, right, scope),
            value => Ok(value),
        },
        ExprKind::Conditional(condition, then, otherwise) => {
            match eval(ctx, condition, scope)?.as_bool() {
                Some(true) => eval(ctx, then, scope),
                // Whatever is not true chooses the second value, also what is no boolean or undefined.
                Some(false) | None => eval(ctx, otherwise, scope),
            }
        }
        ExprKind::In {
            needle,
            list,
            set,
            negated,
        } => in_list(ctx, needle, (list, set.as_ref()), *negated, scope),
        ExprKind::Between {
            value,
            low,
            high,
            negated,
        } => between(ctx, [value, low, high], *negated, scope),
        ExprKind::Like {
            value,
            pattern,
            escape,
            negated,
        } => {
            let value = eval(ctx, value, scope)?;
            let pattern = eval(ctx, pattern, scope)?;
            like(ctx, &value, &pattern, *escape, *negated, expr.span)
        }
        ExprKind::Call(function, args) => call(ctx, function, args, scope),
        ExprKind::UserFunction(name, _) => Err(no_function(name, expr.span)),
        ExprKind::Subquery(kind, query) => subquery(ctx, *kind, query, scope, expr.span),
        ExprKind::Let(slot, value, body) => binding(ctx, *slot, [value, body], scope),
    }
}

/// Whether the expression is exactly true, as `WHERE` asks.
pub(crate) fn holds(ctx: &Ctx<'_>, expr: &Expr, scope: ScopeRef<'_>) -> Result<bool, SqlError> {
    Ok(eval(ctx, expr, scope)?.as_bool() == Some(true))
}

/// Makes a value independent of the document, and counts the bytes that costs.
pub(crate) fn own(ctx: &Ctx<'_>, value: Found<'_>) -> Result<Value, SqlError> {
    match value {
        Cow::Owned(value) => Ok(value),
        Cow::Borrowed(value) => {
            ctx.charge_for(value)?;
            Ok(value.clone())
        }
    }
}

fn undefined<'a>() -> Found<'a> {
    Cow::Borrowed(Value::undefined())
}

fn truth<'a>(truth: bool) -> Found<'a> {
    Cow::Owned(Value::Bool(truth))
}

fn member<'a>(base: Found<'a>, name: &str) -> Found<'a> {
    match base {
        Cow::Borrowed(value) => Cow::Borrowed(value.get(name)),
        Cow::Owned(Value::Object(mut object)) => {
            Cow::Owned(object.remove(name).unwrap_or_default())
        }
        Cow::Owned(_) => undefined(),
    }
}

#[inline(never)]
fn index_into<'a>(
    ctx: &'a Ctx<'_>,
    base: &'a Expr,
    index: &'a Expr,
    scope: ScopeRef<'a>,
) -> Result<Found<'a>, SqlError> {
    let base = eval(ctx, base, scope)?;
    let index = eval(ctx, index, scope)?;
    if let Some(name) = index.as_str() {
        return Ok(member(base, name));
    }
    let Some(index) = index.as_i64().and_then(|index| usize::try_from(index).ok()) else {
        return Ok(undefined());
    };
    Ok(match base {
        Cow::Borrowed(Value::Array(items)) => {
            items.get(index).map_or_else(undefined, Cow::Borrowed)
        }
        Cow::Owned(Value::Array(mut items)) if index < items.len() => {
            Cow::Owned(items.swap_remove(index))
        }
        Cow::Borrowed(_) | Cow::Owned(_) => undefined(),
    })
}

#[inline(never)]
fn array(ctx: &Ctx<'_>, items: &[Expr], scope: ScopeRef<'_>) -> Result<Value, SqlError> {
    let mut elements = Vec::with_capacity(items.len());
    for item in items {
        let value = own(ctx, eval(ctx, item, scope)?)?;
        if !value.is_undefined() {
            elements.push(value);
        }
    }
    Ok(Value::Array(elements))
}

#[inline(never)]
pub(crate) fn object(
    ctx: &Ctx<'_>,
    members: &[(Str, Expr)],
    scope: ScopeRef<'_>,
) -> Result<Value, SqlError> {
    let mut object = Object::with_capacity(members.len());
    for (name, expr) in members {
        let value = own(ctx, eval(ctx, expr, scope)?)?;
        if !value.is_undefined() {
            object.push(name.clone(), value);
        }
    }
    Ok(Value::Object(object))
}

fn unary(op: UnaryOp, operand: &Value) -> Value {
    match op {
        UnaryOp::Not => operand
            .as_bool()
            .map_or(Value::Undefined, |truth| Value::Bool(!truth)),
        UnaryOp::Minus => minus(operand),
        UnaryOp::Plus if operand.is_number() => operand.clone(),
        UnaryOp::Plus => Value::Undefined,
        UnaryOp::BitNot => operand
            .as_f64()
            .map_or(Value::Undefined, |n| Value::Int32(!operators::to_int32(n))),
    }
}

#[cold]
fn no_function(name: &str, span: Span) -> SqlError {
    SqlError::unknown_function(&format!("udf.{name}"), span)
}

/// `LET` a variable be a value in an expression.
#[inline(never)]
fn binding<'a>(
    ctx: &'a Ctx<'_>,
    slot: Slot,
    [value, body]: [&'a Expr; 2],
    scope: ScopeRef<'a>,
) -> Result<Found<'a>, SqlError> {
    let value = own(ctx, eval(ctx, value, scope)?)?;
    let inner = Scope::one(slot, &value, scope);
    own(ctx, eval(ctx, body, Some(&inner))?).map(Cow::Owned)
}

/// Operators of one level, from left to right.
#[inline(never)]
fn chain(
    ctx: &Ctx<'_>,
    first: &Expr,
    rest: &[(BinaryOp, Expr)],
    scope: ScopeRef<'_>,
) -> Result<Value, SqlError> {
    let mut left = eval(ctx, first, scope)?;
    for (op, operand) in rest {
        let right = eval(ctx, operand, scope)?;
        left = Cow::Owned(ctx.made(operators::binary(*op, &left, &right))?);
    }
    own(ctx, left)
}

/// The negative of a number. That of 2^63 is an integer of 64 bits: -9223372036854775808 can be written so only.
fn minus(operand: &Value) -> Value {
    match operand {
        Value::Double(n) if *n == number::TWO_POW_63 => Value::Int64(i64::MIN),
        _ => number::arithmetic(&Value::Int32(0), operand, i64::checked_sub, |_, n| -n)
            .unwrap_or_default(),
    }
}

/// `AND` is decided by false, `OR` by true; anything but a boolean leaves both undecided.
#[inline(never)]
fn junction<'a>(
    ctx: &'a Ctx<'_>,
    terms: &'a [Expr],
    scope: ScopeRef<'a>,
    decisive: bool,
) -> Result<Found<'a>, SqlError> {
    let mut decided = true;
    for term in terms {
        match eval(ctx, term, scope)?.as_bool() {
            Some(value) if value == decisive => return Ok(truth(decisive)),
            Some(_) => {}
            None => decided = false,
        }
    }
    Ok(if decided {
        truth(!decisive)
    } else {
        undefined()
    })
}

#[inline(never)]
fn in_list<'a>(
    ctx: &'a Ctx<'_>,
    needle: &'a Expr,
    (list, set): (&'a [Expr], Option<&'a ConstantSet>),
    negated: bool,
    scope: ScopeRef<'a>,
) -> Result<Found<'a>, SqlError> {
    let needle = eval(ctx, needle, scope)?;
    if needle.is_undefined() {
        return Ok(undefined());
    }
    if let Some(set) = set {
        return Ok(truth(set.contains(list, &needle) != negated));
    }
    for item in list {
        let item = eval(ctx, item, scope)?;
        if !item.is_undefined() && operators::equal(&needle, &item) {
            return Ok(truth(!negated));
        }
    }
    Ok(truth(negated))
}

#[inline(never)]
fn between<'a>(
    ctx: &'a Ctx<'_>,
    [value, low, high]: [&'a Expr; 3],
    negated: bool,
    scope: ScopeRef<'a>,
) -> Result<Found<'a>, SqlError> {
    let value = eval(ctx, value, scope)?;
    let low = eval(ctx, low, scope)?;
    let high = eval(ctx, high, scope)?;
    let above = operators::compare(&value, &low, Ordering::is_ge);
    let below = operators::compare(&value, &high, Ordering::is_le);
    Ok(match (above, below) {
        (Some(false), _) | (_, Some(false)) => truth(negated),
        (Some(true), Some(true)) => truth(!negated),
        (None, None | Some(true)) | (Some(true), None) => undefined(),
    })
}

#[inline(never)]
fn like<'a>(
    ctx: &'a Ctx<'_>,
    value: &Value,
    pattern: &Value,
    escape: Option<char>,
    negated: bool,
    span: Span,
) -> Result<Found<'a>, SqlError> {
    let (Some(text), Some(pattern)) = (value.as_str(), pattern.as_str()) else {
        return Ok(undefined());
    };
    Ok(truth(
        like::matches(ctx, text, pattern, escape, span)? != negated,
    ))
}

#[inline(never)]
fn call<'a>(
    ctx: &'a Ctx<'_>,
    function: &'static Function,
    args: &'a [Expr],
    scope: ScopeRef<'a>,
) -> Result<Found<'a>, SqlError> {
    let args = args
        .iter()
        .map(|arg| eval(ctx, arg, scope))
        .collect::<Result<Vec<_>, _>>()?;
    ctx.work(function.work(&args))?;
    let value = match function.call {
        Call::Plain(run) => run(&args),
        Call::Context(run) => run(ctx, &args)?,
    };
    ctx.made(value.unwrap_or_default()).map(Cow::Owned)
}

#[inline(never)]
fn subquery<'a>(
    ctx: &'a Ctx<'_>,
    kind: SubqueryKind,
    query: &'a BoundQuery,
    scope: ScopeRef<'a>,
    span: Span,
) -> Result<Found<'a>, SqlError> {
    let enough = match kind {
        SubqueryKind::Exists | SubqueryKind::First => Some(1),
        SubqueryKind::Scalar => Some(2),
        SubqueryKind::Array | SubqueryKind::All | SubqueryKind::Last => None,
    };
    let mut rows = Pipeline::run_nested(ctx, query, scope, enough)?;
    Ok(Cow::Owned(match kind {
        SubqueryKind::Exists => Value::Bool(!rows.is_empty()),
        SubqueryKind::Scalar if rows.len() > 1 => return Err(SqlError::cardinality(span)),
        SubqueryKind::Scalar | SubqueryKind::Last => rows.pop().unwrap_or_default(),
        SubqueryKind::First => rows.into_iter().next().unwrap_or_default(),
        SubqueryKind::Array => Value::Array(rows),
        SubqueryKind::All => Value::Bool(!rows.iter().any(|row| row.as_bool() == Some(false))),
    }))
}
