//! What follows from a filter for the entries of a document.

use lapsedb_query::encode;
use lapsedb_query::plan::{Bounds, Condition, Seek};
use lapsedb_value::Value;
use lapsedb_value::path::{Path, Segment};

use super::IndexOf;
use super::origin::Places;
use crate::plan::{BinaryOp, Expr, ExprKind, UnaryOp};

/// Tags of the kinds of values in the index, from and to.
const NULLS: (u8, u8) = (0x01, 0x02);
const BOOLS: (u8, u8) = (0x02, 0x04);
const NUMBERS: (u8, u8) = (0x04, 0x07);
const STRINGS: (u8, u8) = (0x08, 0x09);
const ARRAYS: (u8, u8) = (0x0A, 0x0B);
const OBJECTS: (u8, u8) = (0x0C, 0x0D);
const PRIMITIVES: (u8, u8) = (0x01, 0x09);

/// Reads filters.
pub(super) struct Demand<'a> {
    pub(super) places: &'a Places,
    pub(super) index_of: IndexOf<'a>,
}

impl Demand<'_> {
    /// What follows from an expression being true.
    pub(super) fn of(&self, expr: &Expr) -> Condition {
        match &expr.kind {
            ExprKind::Constant(Value::Bool(true)) => Condition::Always,
            // Whatever else a constant is, it keeps no row.
            ExprKind::Constant(_) => Condition::Never,
            ExprKind::And(terms) => {
                Condition::All(terms.iter().map(|term| self.of(term)).collect())
            }
            ExprKind::Or(terms) => Condition::Any(terms.iter().map(|term| self.of(term)).collect()),
            ExprKind::Binary(op, left, right) => self.comparison(*op, left, right),
            ExprKind::In {
                needle,
                list,
                negated: false,
                ..
            } => match list.iter().map(Expr::constant).collect::<Option<Vec<_>>>() {
                Some(values) => self.equal(needle, &values),
                None => Condition::Always,
            },
            ExprKind::Between {
                value,
                low,
                high,
                negated: false,
            } => match (low.constant(), high.constant()) {
                (Some(low), Some(high)) => Condition::All(vec![
                    self.range(value, BinaryOp::GreaterOrEqual, low),
                    self.range(value, BinaryOp::LessOrEqual, high),
                ]),
                _ => Condition::Always,
            },
            ExprKind::Like {
                value,
                pattern,
                escape,
                negated: false,
            } => match pattern.constant() {
                Some(Value::String(pattern)) => self.like(value, pattern, *escape),
                Some(_) => Condition::Never,
                None => Condition::Always,
            },
            ExprKind::Call(function, arguments) => self.call(function.name, arguments),
            ExprKind::Unary(UnaryOp::Not, operand) => self.denied(operand),
            ExprKind::Slot(_) | ExprKind::Member(..) | ExprKind::Index(..) => {
                self.equal(expr, &[&Value::Bool(true)])
            }
            _ => Condition::Always,
        }
    }

    /// What follows from an expression being false.
    fn denied(&self, expr: &Expr) -> Condition {
        match &expr.kind {
            ExprKind::Slot(_) | ExprKind::Member(..) | ExprKind::Index(..) => {
                self.equal(expr, &[&Value::Bool(false)])
            }
            ExprKind::Call(function, arguments) if function.name == "IS_DEFINED" => {
                let path = arguments
                    .first()
                    .and_then(|argument| self.places.path(argument));
                let plain = path.filter(|path| !path.segments().contains(&Segment::Elements));
                match plain.and_then(|path| (self.index_of)(&path)) {
                    Some(index) => Condition::Lacks(index),
                    None => Condition::Always,
                }
            }
            _ => Condition::Always,
        }
    }

    fn comparison(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Condition {
        match (left.constant(), right.constant()) {
            (None, Some(value)) => self.compared(left, op, value),
            (Some(value), None) => self.compared(right, mirrored(op), value),
            (None, None) | (Some(_), Some(_)) => Condition::Always,
        }
    }

    fn compared(&self, expr: &Expr, op: BinaryOp, value: &Value) -> Condition {
        match op {
            BinaryOp::Equal => self.equal(expr, &[value]),
            BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual => self.range(expr, op, value),
            _ => Condition::Always,
        }
    }

    fn equal(&self, expr: &Expr, values: &[&Value]) -> Condition {
        let mut bounds: Vec<Vec<u8>> = values
            .iter()
            .filter(|value| can_equal(value))
            .map(|value| encode::value_bytes(value).to_vec())
            .collect();
        if bounds.is_empty() {
            return Condition::Never;
        }
        bounds.sort_unstable();
        bounds.dedup();
        self.seek(expr, bounds.into_iter().map(Bounds::Value).collect())
    }

    /// Only values of one kind have an order, and only simple ones.
    fn range(&self, expr: &Expr, op: BinaryOp, value: &Value) -> Condition {
        match value {
            // Nothing is above or below what is not a number.
            Value::Double(n) if n.is_nan() => return Condition::Never,
            Value::Null
            | Value::Bool(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::Double(_)
            | Value::String(_) => {}
            _ => return Condition::Never,
        }
        let (mut from, mut to) = encode::kind_bounds(value);
        let sharp = encode::is_exact(value);
        match op {
            BinaryOp::Greater if sharp => from = encode::upper_bound(value),
            BinaryOp::Greater | BinaryOp::GreaterOrEqual => from = encode::lower_bound(value),
            BinaryOp::Less if sharp => to = encode::lower_bound(value),
            _ => to = encode::upper_bound(value),
        }
        if from >= to {
            return Condition::Never;
        }
        self.seek(expr, vec![Bounds::Range(from.to_vec(), to.to_vec())])
    }

    fn like(&self, expr: &Expr, pattern: &str, escape: Option<char>) -> Condition {
        let mut prefix = String::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            if Some(c) == escape {
                prefix.push(chars.next().unwrap_or(c));
            } else if matches!(c, '%' | '_' | '[') {
                return self.prefix(expr, &prefix);
            } else {
                prefix.push(c);
            }
        }
        self.equal(expr, &[&Value::from(prefix)])
    }

    /// Strings that begin so.
    fn prefix(&self, expr: &Expr, prefix: &str) -> Condition {
        let from = encode::string_prefix(prefix);
        let to = encode::after(from.clone());
        self.seek(expr, vec![Bounds::Range(from.to_vec(), to.to_vec())])
    }

    fn call(&self, name: &str, arguments: &[Expr]) -> Condition {
        let Some(first) = arguments.first() else {
            return Condition::Always;
        };
        let constant = |at: usize| arguments.get(at).map(Expr::constant);
        match name {
            "IS_DEFINED" => self.seek(first, vec![Bounds::everything()]),
            "IS_NULL" => self.kind(first, NULLS),
            "IS_BOOL" => self.kind(first, BOOLS),
            "IS_NUMBER" | "IS_INTEGER" | "IS_FINITE_NUMBER" => self.kind(first, NUMBERS),
            "IS_STRING" => self.kind(first, STRINGS),
            "IS_ARRAY" => self.kind(first, ARRAYS),
            "IS_OBJECT" => self.kind(first, OBJECTS),
            "IS_PRIMITIVE" => self.kind(first, PRIMITIVES),
            "STARTSWITH" => match (constant(1).flatten(), constant(2)) {
                (Some(Value::String(prefix)), None | Some(Some(Value::Bool(false)))) => {
                    self.prefix(first, prefix)
                }
                _ => Condition::Always,
            },
            "ARRAY_CONTAINS" => match (constant(1).flatten(), constant(2)) {
                (Some(value), None | Some(Some(Value::Bool(false)))) => self.element(first, value),
                _ => Condition::Always,
            },
            "ARRAY_CONTAINS_ANY" | "ARRAY_CONTAINS_ALL" => {
                let values = arguments.iter().skip(1).map(Expr::constant);
                let Some(values) = values.collect::<Option<Vec<_>>>() else {
                    return Condition::Always;
                };
                let each = values.into_iter().map(|value| self.element(first, value));
                if name == "ARRAY_CONTAINS_ANY" {
                    Condition::Any(each.collect())
                } else {
                    Condition::All(each.collect())
                }
            }
            _ => Condition::Always,
        }
    }

    /// One element of an array has this value.
    fn element(&self, array: &Expr, value: &Value) -> Condition {
        if value.is_undefined() {
            return Condition::Never;
        }
        let Some(path) = self.places.path(array) else {
            return Condition::Always;
        };
        let mut segments = path.segments().to_vec();
        segments.push(Segment::Elements);
        let value = encode::value_bytes(value).to_vec();
        self.seek_at(&Path::new(segments), vec![Bounds::Value(value)])
    }

    fn kind(&self, expr: &Expr, (from, to): (u8, u8)) -> Condition {
        self.seek(expr, vec![Bounds::Range(vec![from], vec![to])])
    }

    fn seek(&self, expr: &Expr, bounds: Vec<Bounds>) -> Condition {
        match self.places.path(expr) {
            Some(path) => self.seek_at(&path, bounds),
            None => Condition::Always,
        }
    }

    fn seek_at(&self, path: &Path, bounds: Vec<Bounds>) -> Condition {
        match (self.index_of)(path) {
            Some(index) => Condition::Seek(Seek {
                index,
                bounds,
                many: path.segments().contains(&Segment::Elements),
                partition: false,
            }),
            None => Condition::Always,
        }
    }
}

/// Whether a value can be equal to one: nothing equals undefined and NaN.
fn can_equal(value: &Value) -> bool {
    match value {
        Value::Undefined => false,
        Value::Double(n) => !n.is_nan(),
        _ => true,
    }
}

/// The same comparison with its sides exchanged.
const fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        op => op,
    }
}
