//! Expressions as text.

use std::fmt;

use super::{Bare, Printer};
use crate::ast::{Expr, ExprKind, Name};

impl Printer<'_, '_> {
    /// What stands before a dot or a bracket: a number would take the dot for its own.
    fn base(&mut self, base: &Expr) -> fmt::Result {
        match &base.kind {
            ExprKind::Literal(_) => {
                self.text("(")?;
                self.expr(base)?;
                self.text(")")
            }
            ExprKind::Name(_)
            | ExprKind::Parameter(_)
            | ExprKind::Member(..)
            | ExprKind::Index(..)
            | ExprKind::Array(_)
            | ExprKind::Object(_)
            | ExprKind::Call { .. } => self.expr(base),
            // Their own parentheses, which must not be left out.
            _ => {
                self.bare = Bare::No;
                self.expr(base)
            }
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> fmt::Result {
        match &expr.kind {
            ExprKind::Literal(value) => self.literal(value),
            ExprKind::Parameter(name) => self.words(&["@", name]),
            ExprKind::Name(name) => self.text(name),
            ExprKind::Member(base, name) => {
                self.base(base)?;
                self.member(&name.text)
            }
            ExprKind::Index(base, index) => {
                self.base(base)?;
                self.text("[")?;
                self.expr(index)?;
                self.text("]")
            }
            ExprKind::Array(items) => {
                self.text("[")?;
                self.list(items)?;
                self.text("]")
            }
            ExprKind::Object(members) => {
                self.text("{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    self.comma(at)?;
                    self.quoted(&name.text)?;
                    self.text(": ")?;
                    self.expr(value)?;
                }
                self.text("}")
            }
            ExprKind::Call {
                name,
                user_defined,
                args,
            } => {
                self.text(if *user_defined { "udf." } else { "" })?;
                self.words(&[&name.text, "("])?;
                self.list(args)?;
                self.text(")")
            }
            ExprKind::Subquery(kind, query) => self.subquery(kind.word(), query),
            ExprKind::Let(name, value, body) => self.binding(name, value, body),
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Chain(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Coalesce(..)
            | ExprKind::Conditional(..)
            | ExprKind::In { .. }
            | ExprKind::Between { .. }
            | ExprKind::Like { .. } => self.operator(expr),
        }
    }

    /// Operators: each in its parentheses.
    fn operator(&mut self, expr: &Expr) -> fmt::Result {
        match &expr.kind {
            ExprKind::Unary(op, operand) => {
                let close = self.open()?;
                self.words(&[op.symbol(), " "])?;
                self.expr(operand)?;
                self.text(close)
            }
            ExprKind::Binary(op, left, right) => self.infix(left, op.symbol(), right),
            ExprKind::Chain(first, rest) => {
                let rest = rest.iter().map(|(op, operand)| (op.symbol(), operand));
                self.chain(first, rest)
            }
            ExprKind::And(terms) => self.terms("AND", terms),
            ExprKind::Or(terms) => self.terms("OR", terms),
            ExprKind::Coalesce(left, right) => self.infix(left, "??", right),
            ExprKind::Conditional(condition, then, otherwise) => {
                let close = self.open()?;
                self.expr(condition)?;
                self.text(" ? ")?;
                self.expr(then)?;
                self.text(" : ")?;
                self.expr(otherwise)?;
                self.text(close)
            }
            ExprKind::In {
                needle,
                list,
                negated,
            } => {
                let close = self.test(needle, *negated, "IN (")?;
                self.list(list)?;
                self.words(&[")", close])
            }
            ExprKind::Between {
                value,
                low,
                high,
                negated,
            } => {
                let close = self.test(value, *negated, "BETWEEN ")?;
                self.expr(low)?;
                self.text(" AND ")?;
                self.expr(high)?;
                self.text(close)
            }
            ExprKind::Like {
                value,
                pattern,
                escape,
                negated,
            } => {
                let close = self.test(value, *negated, "LIKE ")?;
                self.expr(pattern)?;
                self.escape(escape.as_ref())?;
                self.text(close)
            }
            ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Name(_)
            | ExprKind::Member(..)
            | ExprKind::Index(..)
            | ExprKind::Array(_)
            | ExprKind::Object(_)
            | ExprKind::Call { .. }
            | ExprKind::Subquery(..)
            | ExprKind::Let(..) => self.expr(expr),
        }
    }

    fn escape(&mut self, escape: Option<&Name>) -> fmt::Result {
        let Some(escape) = escape else {
            return Ok(());
        };
        self.text(" ESCAPE ")?;
        self.quoted(&escape.text)
    }

    /// Opens the parentheses of an operator; what closes them.
    fn open(&mut self) -> Result<&'static str, fmt::Error> {
        match self.bare {
            Bare::No => {
                self.text("(")?;
                return Ok(")");
            }
            Bare::Outer => self.bare = Bare::No,
            Bare::Left => {}
        }
        Ok("")
    }

    fn infix(&mut self, left: &Expr, symbol: &str, right: &Expr) -> fmt::Result {
        let close = self.open()?;
        self.expr(left)?;
        self.words(&[" ", symbol, " "])?;
        self.expr(right)?;
        self.text(close)
    }

    /// The first operand of a test, and its word.
    fn test(
        &mut self,
        operand: &Expr,
        negated: bool,
        word: &str,
    ) -> Result<&'static str, fmt::Error> {
        let close = self.open()?;
        self.expr(operand)?;
        self.words(&[if negated { " NOT " } else { " " }, word])?;
        Ok(close)
    }

    fn terms(&mut self, word: &str, terms: &[Expr]) -> fmt::Result {
        match terms {
            [] => Ok(()),
            [first, rest @ ..] => self.chain(first, rest.iter().map(|term| (word, term))),
        }
    }

    /// Operators that bind alike, grouped from the left.
    fn chain<'e>(
        &mut self,
        first: &Expr,
        rest: impl ExactSizeIterator<Item = (&'e str, &'e Expr)>,
    ) -> fmt::Result {
        let closes = (0..rest.len())
            .map(|_| self.open())
            .collect::<Result<Vec<_>, _>>()?;
        self.expr(first)?;
        for ((symbol, operand), close) in rest.zip(closes.into_iter().rev()) {
            self.words(&[" ", symbol, " "])?;
            self.expr(operand)?;
            self.text(close)?;
        }
        Ok(())
    }

    /// `(LET a = b IN c)`. `IN` with a parenthesis behind it goes on with the value, unless that is a test already. So the
    /// body begins without one, as it did in the text that was parsed, or the value ends in a test that is open.
    fn binding(&mut self, name: &Name, value: &Expr, body: &Expr) -> fmt::Result {
        self.words(&["(LET ", &name.text, " = "])?;
        if ends_in_test(value) {
            self.open_to_the_right(value)?;
            self.text(" IN ")?;
        } else {
            self.expr(value)?;
            self.text(" IN ")?;
            self.bare = Bare::Left;
        }
        self.expr(body)?;
        self.text(")")
    }

    /// The expression without the parentheses of the operators that its text ends with.
    fn open_to_the_right(&mut self, expr: &Expr) -> fmt::Result {
        match &expr.kind {
            ExprKind::In { .. } | ExprKind::Like { .. } | ExprKind::Between { .. } => {
                self.bare = Bare::Outer;
                self.expr(expr)
            }
            ExprKind::And(terms) => self.open_terms("AND", terms),
            ExprKind::Or(terms) => self.open_terms("OR", terms),
            ExprKind::Coalesce(left, right) => {
                self.expr(left)?;
                self.text(" ?? ")?;
                self.open_to_the_right(right)
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                self.expr(condition)?;
                self.text(" ? ")?;
                self.expr(then)?;
                self.text(" : ")?;
                self.open_to_the_right(otherwise)
            }
            _ => self.expr(expr),
        }
    }

    fn open_terms(&mut self, word: &str, terms: &[Expr]) -> fmt::Result {
        let Some((last, before)) = terms.split_last() else {
            return Ok(());
        };
        self.terms(word, before)?;
        self.words(&[" ", word, " "])?;
        self.open_to_the_right(last)
    }
}

/// Whether an expression can be written so that its text ends in `IN`, `LIKE` or `BETWEEN` without parentheses.
fn ends_in_test(expr: &Expr) -> bool {
    let last = |terms: &[Expr]| terms.last().is_some_and(ends_in_test);
    match &expr.kind {
        ExprKind::In { .. } | ExprKind::Like { .. } | ExprKind::Between { .. } => true,
        ExprKind::And(terms) | ExprKind::Or(terms) => {
            let fits = |term: &Expr| match term.kind {
                ExprKind::In { .. } | ExprKind::Like { .. } => true,
                ExprKind::And(_) => matches!(expr.kind, ExprKind::Or(_)),
                _ => false,
            };
            terms.last().is_some_and(fits) && last(terms)
        }
        ExprKind::Coalesce(_, right) => {
            !matches!(right.kind, ExprKind::Conditional(..)) && ends_in_test(right)
        }
        ExprKind::Conditional(_, _, otherwise) => ends_in_test(otherwise),
        _ => false,
    }
}
