//! Which partitions a filter can reach.
//!
//! The filter is brought into a list of alternatives, each of which fixes some levels of the key. Only
//! what certainly follows from the filter is used; everything else leaves a level open.

use lapsedb_value::Value;
use lapsedb_value::order::deep_equal;
use lapsedb_value::path::{Path, Segment};

use crate::ast::{BinaryOp, SubqueryKind, UnaryOp};
use crate::bind::Origins;
use crate::limits::PARTITION_POINTS_MAX;
use crate::plan::{Expr, ExprKind, Step};

/// The partition key values that can satisfy a query.
#[derive(Clone, Debug)]
pub enum PartitionFilter {
    /// Any.
    Everything,
    /// None: the filter contradicts itself.
    Nothing,
    /// These keys. One with fewer values than the key has levels stands for all that begin so.
    /// [`Value::Undefined`] is the key of documents that have no value there.
    Keys(Vec<Vec<Value>>),
}

/// One way to satisfy the filter: the value of each level, where it is fixed.
type Alternative = Vec<Option<Value>>;

struct Inference<'a> {
    levels: Vec<Vec<Step>>,
    origins: &'a Origins,
}

/// Reads filters that must all hold.
pub(crate) fn infer(filters: &[&Expr], paths: &[Path], origins: &Origins) -> PartitionFilter {
    let mut levels = Vec::with_capacity(paths.len());
    for path in paths {
        let mut steps = Vec::new();
        for segment in path.segments() {
            match segment {
                Segment::Member(name) => steps.push(Step::Member(name.clone())),
                Segment::Elements => return PartitionFilter::Everything,
            }
        }
        levels.push(steps);
    }
    let inference = Inference { levels, origins };
    let mut keys: Vec<Vec<Value>> = Vec::new();
    let met = filters.iter().fold(inference.open(), |met, filter| {
        inference.both(met, inference.alternatives(filter))
    });
    for alternative in met {
        let key: Vec<Value> = alternative.into_iter().map_while(|value| value).collect();
        if key.is_empty() {
            return PartitionFilter::Everything;
        }
        if !keys.iter().any(|known| equal(known, &key)) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        PartitionFilter::Nothing
    } else {
        PartitionFilter::Keys(keys)
    }
}

fn equal(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| deep_equal(a, b))
}

impl Inference<'_> {
    fn open(&self) -> Vec<Alternative> {
        vec![vec![None; self.levels.len()]]
    }

    fn alternatives(&self, expr: &Expr) -> Vec<Alternative> {
        match &expr.kind {
            ExprKind::Constant(Value::Bool(true)) => self.open(),
            // Whatever else a constant is, it keeps no row.
            ExprKind::Constant(_) => Vec::new(),
            ExprKind::And(terms) => terms.iter().fold(self.open(), |met, term| {
                self.both(met, self.alternatives(term))
            }),
            ExprKind::Or(terms) => {
                let either: Vec<Alternative> = terms
                    .iter()
                    .flat_map(|term| self.alternatives(term))
                    .collect();
                if either.len() > PARTITION_POINTS_MAX {
                    self.open()
                } else {
                    either
                }
            }
            // Nothing is true of what is undefined.
            ExprKind::Binary(_, a, b) if is_undefined(a) || is_undefined(b) => Vec::new(),
            ExprKind::Binary(BinaryOp::Equal, a, b) => match (a.constant(), b.constant()) {
                (None, Some(value)) => self.fixed(a, std::iter::once(value)),
                (Some(value), None) => self.fixed(b, std::iter::once(value)),
                _ => self.open(),
            },
            ExprKind::In {
                needle,
                list,
                negated: false,
                ..
            } => {
                let values: Option<Vec<&Value>> = list.iter().map(Expr::constant).collect();
                match values {
                    Some(values) => self.fixed(needle, values.into_iter()),
                    None => self.open(),
                }
            }
            ExprKind::Unary(UnaryOp::Not, operand) => {
                self.fixed(operand, std::iter::once(&Value::Bool(false)))
            }
            // `a ?? false` is true where `a` is.
            ExprKind::Coalesce(a, otherwise)
                if otherwise
                    .constant()
                    .is_some_and(|value| value.as_bool() != Some(true)) =>
            {
                self.alternatives(a)
            }
            ExprKind::Like {
                value,
                pattern,
                escape: None,
                negated: false,
            } => match pattern.constant() {
                Some(text @ Value::String(pattern)) if !pattern.contains(['%', '_', '[']) => {
                    self.fixed(value, std::iter::once(text))
                }
                _ => self.open(),
            },
            ExprKind::Call(function, args) => self.call(function.name, args),
            ExprKind::Subquery(SubqueryKind::Exists, query)
                if query.sources.is_empty() && query.grouping.is_none() =>
            {
                let filter = query.filter.as_ref();
                filter.map_or_else(|| self.open(), |filter| self.alternatives(filter))
            }
            _ => self.fixed(expr, std::iter::once(&Value::Bool(true))),
        }
    }

    /// What follows from a function being true.
    fn call(&self, name: &str, args: &[Expr]) -> Vec<Alternative> {
        match (name, args) {
            ("IS_NULL", [value]) => self.fixed(value, std::iter::once(&Value::Null)),
            ("ARRAY_CONTAINS", [list, value]) => match list.constant() {
                Some(Value::Array(values)) => self.fixed(value, values.iter()),
                _ => self.open(),
            },
            ("STRINGEQUALS", [a, b]) => match (a.constant(), b.constant()) {
                (None, Some(text @ Value::String(_))) => self.fixed(a, std::iter::once(text)),
                (Some(text @ Value::String(_)), None) => self.fixed(b, std::iter::once(text)),
                _ => self.open(),
            },
            _ => self.open(),
        }
    }

    /// The expression is one of the values; that matters if it is a level of the key.
    fn fixed<'v>(&self, expr: &Expr, values: impl Iterator<Item = &'v Value>) -> Vec<Alternative> {
        let level = self
            .origins
            .path(expr)
            .and_then(|path| self.levels.iter().position(|level| *level == path));
        let Some(level) = level else {
            return self.open();
        };
        let mut alternatives = Vec::new();
        for value in values {
            let point = match value {
                // Equality with undefined or NaN never holds.
                Value::Undefined => continue,
                Value::Double(n) if n.is_nan() => continue,
                // An infinity is no key that a client could send: the filter alone decides.
                Value::Double(n) if n.is_infinite() => return self.open(),
                Value::Array(_) | Value::Object(_) => Value::Undefined,
                value => value.clone(),
            };
            let mut alternative = vec![None; self.levels.len()];
            if let Some(place) = alternative.get_mut(level) {
                *place = Some(point);
            }
            alternatives.push(alternative);
        }
        if alternatives.len() > PARTITION_POINTS_MAX {
            self.open()
        } else {
            alternatives
        }
    }

    /// What satisfies both; alternatives that contradict one another drop out.
    fn both(&self, left: Vec<Alternative>, right: Vec<Alternative>) -> Vec<Alternative> {
        if left.len().saturating_mul(right.len()) > PARTITION_POINTS_MAX {
            // Either side alone is a weaker condition, and so a safe one.
            return if left.len() <= right.len() {
                left
            } else {
                right
            };
        }
        let mut met = Vec::new();
        for a in &left {
            for b in &right {
                met.extend(merged(a, b));
            }
        }
        met
    }
}

fn is_undefined(expr: &Expr) -> bool {
    expr.constant().is_some_and(Value::is_undefined)
}

fn merged(a: &Alternative, b: &Alternative) -> Option<Alternative> {
    a.iter()
        .zip(b)
        .map(|(a, b)| match (a, b) {
            (Some(a), Some(b)) => deep_equal(a, b).then(|| Some(a.clone())),
            (Some(value), None) | (None, Some(value)) => Some(Some(value.clone())),
            (None, None) => Some(None),
        })
        .collect()
}
