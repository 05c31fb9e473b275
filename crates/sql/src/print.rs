//! Syntax trees as text: one canonical spelling, in the shape of the rewritten queries in the service's query plans.
//!
//! Every operator stands in parentheses, so the text says how the parser grouped it, and reading it needs no precedence.
//! What is printed parses to the same tree, spans apart, and so prints the same again: two trees are the same where their
//! texts are. A text nests deeper than the query it was made of, so a query close to
//! [`NESTING_MAX`](crate::limits::NESTING_MAX) may print to one beyond it.

use std::fmt::{self, Display, Formatter};

use lapsedb_value::{Value, json};

use crate::ast::{
    BinaryOp, Collection, Count, Expr, ExprKind, OrderBy, Query, SelectList, Source, Step,
    SubqueryKind, UnaryOp,
};
use crate::keyword::Keyword;

/// Blanks for one level of subqueries.
const INDENT: usize = 4;

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer { out: f, indent: 0 }.query(self)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer { out: f, indent: 0 }.expr(self)
    }
}

impl BinaryOp {
    /// The operator as it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Modulo => "%",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::ShiftRightZero => ">>>",
            BinaryOp::Less => "<",
            BinaryOp::LessOrEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterOrEqual => ">=",
            BinaryOp::Equal => "=",
            BinaryOp::NotEqual => "!=",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::BitOr => "|",
            BinaryOp::Concat => "||",
        }
    }
}

impl UnaryOp {
    /// The operator as it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Minus => "-",
            UnaryOp::Plus => "+",
            UnaryOp::BitNot => "~",
            UnaryOp::Not => "NOT",
        }
    }
}

impl SubqueryKind {
    /// The word before the parenthesis.
    const fn word(self) -> &'static str {
        match self {
            SubqueryKind::Scalar => "",
            SubqueryKind::Exists => "EXISTS",
            SubqueryKind::Array => "ARRAY",
            SubqueryKind::All => "ALL",
            SubqueryKind::Any => "ANY",
            SubqueryKind::First => "FIRST",
            SubqueryKind::Last => "LAST",
        }
    }
}

struct Printer<'a, 'f> {
    out: &'a mut Formatter<'f>,
    /// Blanks before a line.
    indent: usize,
}

impl Printer<'_, '_> {
    fn text(&mut self, text: &str) -> fmt::Result {
        self.out.write_str(text)
    }

    fn line(&mut self) -> fmt::Result {
        write!(self.out, "\n{:1$}", "", self.indent)
    }

    fn query(&mut self, query: &Query) -> fmt::Result {
        self.text("SELECT")?;
        if query.select.distinct {
            self.text(" DISTINCT")?;
        }
        if let Some(top) = &query.select.top {
            self.text(" TOP ")?;
            self.count(top)?;
        }
        self.text(" ")?;
        self.select_list(&query.select.list)?;
        for (at, source) in query.from.iter().enumerate() {
            self.line()?;
            self.text(if at == 0 { "FROM " } else { "JOIN " })?;
            self.source(source)?;
        }
        if let Some(filter) = &query.filter {
            self.line()?;
            self.text("WHERE ")?;
            self.expr(filter)?;
        }
        if !query.group_by.is_empty() {
            self.line()?;
            self.text("GROUP BY ")?;
            self.list(&query.group_by)?;
        }
        self.order_by(&query.order_by)?;
        if let Some(window) = &query.window {
            self.line()?;
            self.text("OFFSET ")?;
            self.count(&window.offset)?;
            self.text(" LIMIT ")?;
            self.count(&window.limit)?;
        }
        Ok(())
    }

    fn select_list(&mut self, list: &SelectList) -> fmt::Result {
        match list {
            SelectList::Star(_) => self.text("*"),
            SelectList::Value(expr) => {
                self.text("VALUE ")?;
                self.expr(expr)
            }
            SelectList::Items(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.comma(at)?;
                    self.expr(&item.expr)?;
                    if let Some(alias) = &item.alias {
                        self.text(" AS ")?;
                        match is_plain(&alias.text) {
                            true => self.text(&alias.text)?,
                            false => self.quoted(&alias.text)?,
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn count(&mut self, count: &Count) -> fmt::Result {
        match count {
            Count::Literal(number, _) => self.literal(&Value::number(*number)),
            Count::Parameter(name) => write!(self.out, "@{}", name.text),
        }
    }

    fn source(&mut self, source: &Source) -> fmt::Result {
        if let (true, Some(alias)) = (source.iterates, &source.alias) {
            write!(self.out, "{} IN ", alias.text)?;
        }
        match &source.collection {
            Collection::Path { root, steps } => {
                self.text(&root.text)?;
                for step in steps {
                    match step {
                        Step::Member(name) => self.member(name)?,
                        Step::Index(index) => write!(self.out, "[{index}]")?,
                    }
                }
            }
            Collection::Query(query) => self.subquery("", query)?,
        }
        match (source.iterates, &source.alias) {
            (false, Some(alias)) => write!(self.out, " AS {}", alias.text),
            (true, _) | (false, None) => Ok(()),
        }
    }

    fn order_by(&mut self, order_by: &OrderBy) -> fmt::Result {
        match order_by {
            OrderBy::None => Ok(()),
            OrderBy::Rank(call, _) => {
                self.line()?;
                self.text("ORDER BY RANK ")?;
                self.expr(call)
            }
            OrderBy::Items(items) => {
                self.line()?;
                self.text("ORDER BY ")?;
                for (at, item) in items.iter().enumerate() {
                    self.comma(at)?;
                    self.expr(&item.expr)?;
                    self.text(match item.descending {
                        None => "",
                        Some(false) => " ASC",
                        Some(true) => " DESC",
                    })?;
                }
                Ok(())
            }
        }
    }

    /// The word, and the query in parentheses and on lines of its own. Those of `ARRAY` are one level further in.
    fn subquery(&mut self, word: &str, query: &Query) -> fmt::Result {
        let outer = self.indent;
        let closing = match word {
            "ARRAY" => outer + INDENT,
            _ => outer,
        };
        self.indent = closing + INDENT;
        self.text(word)?;
        self.text("(")?;
        self.line()?;
        self.query(query)?;
        self.indent = closing;
        self.line()?;
        self.indent = outer;
        self.text(")")
    }

    fn comma(&mut self, at: usize) -> fmt::Result {
        self.text(if at == 0 { "" } else { ", " })
    }

    fn list(&mut self, exprs: &[Expr]) -> fmt::Result {
        for (at, expr) in exprs.iter().enumerate() {
            self.comma(at)?;
            self.expr(expr)?;
        }
        Ok(())
    }

    fn quoted(&mut self, text: &str) -> fmt::Result {
        self.text(&json::to_string(&Value::from(text)))
    }

    fn member(&mut self, name: &str) -> fmt::Result {
        if is_plain(name) {
            return write!(self.out, ".{name}");
        }
        self.text("[")?;
        self.quoted(name)?;
        self.text("]")
    }

    fn literal(&mut self, value: &Value) -> fmt::Result {
        match value {
            Value::Undefined => self.text("undefined"),
            // JSON has no text for them; the language has.
            Value::Double(n) if !n.is_finite() => {
                write!(self.out, "{}", if n.is_nan() { "NaN" } else { "Infinity" })
            }
            value => self.text(&json::to_string(value)),
        }
    }

    /// What stands before a dot or a bracket: a number would take the dot for its own.
    fn base(&mut self, base: &Expr) -> fmt::Result {
        match &base.kind {
            ExprKind::Literal(_) => {
                self.text("(")?;
                self.expr(base)?;
                self.text(")")
            }
            _ => self.expr(base),
        }
    }

    fn expr(&mut self, expr: &Expr) -> fmt::Result {
        match &expr.kind {
            ExprKind::Literal(value) => self.literal(value),
            ExprKind::Parameter(name) => write!(self.out, "@{name}"),
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
                write!(self.out, "{}(", name.text)?;
                self.list(args)?;
                self.text(")")
            }
            ExprKind::Subquery(kind, query) => self.subquery(kind.word(), query),
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
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
                write!(self.out, "({} ", op.symbol())?;
                self.expr(operand)?;
                self.text(")")
            }
            ExprKind::Binary(op, left, right) => self.infix(left, op.symbol(), right),
            ExprKind::And(terms) => self.chain("AND", terms),
            ExprKind::Or(terms) => self.chain("OR", terms),
            ExprKind::Coalesce(left, right) => self.infix(left, "??", right),
            ExprKind::Conditional(condition, then, otherwise) => {
                self.text("(")?;
                self.expr(condition)?;
                self.text(" ? ")?;
                self.expr(then)?;
                self.text(" : ")?;
                self.expr(otherwise)?;
                self.text(")")
            }
            ExprKind::In {
                needle,
                list,
                negated,
            } => {
                self.test(needle, *negated, "IN (")?;
                self.list(list)?;
                self.text("))")
            }
            ExprKind::Between {
                value,
                low,
                high,
                negated,
            } => {
                self.test(value, *negated, "BETWEEN ")?;
                self.expr(low)?;
                self.text(" AND ")?;
                self.expr(high)?;
                self.text(")")
            }
            ExprKind::Like {
                value,
                pattern,
                escape,
                negated,
            } => {
                self.test(value, *negated, "LIKE ")?;
                self.expr(pattern)?;
                if let Some(escape) = escape {
                    self.text(" ESCAPE ")?;
                    self.quoted(escape.encode_utf8(&mut [0; 4]))?;
                }
                self.text(")")
            }
            ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Name(_)
            | ExprKind::Member(..)
            | ExprKind::Index(..)
            | ExprKind::Array(_)
            | ExprKind::Object(_)
            | ExprKind::Call { .. }
            | ExprKind::Subquery(..) => self.expr(expr),
        }
    }

    fn infix(&mut self, left: &Expr, symbol: &str, right: &Expr) -> fmt::Result {
        self.text("(")?;
        self.expr(left)?;
        write!(self.out, " {symbol} ")?;
        self.expr(right)?;
        self.text(")")
    }

    /// Terms of one operator, grouped from the left.
    fn chain(&mut self, symbol: &str, terms: &[Expr]) -> fmt::Result {
        for _ in 1..terms.len() {
            self.text("(")?;
        }
        for (at, term) in terms.iter().enumerate() {
            if at > 0 {
                write!(self.out, " {symbol} ")?;
            }
            self.expr(term)?;
            if at > 0 {
                self.text(")")?;
            }
        }
        Ok(())
    }

    /// The first operand of a test, and its word.
    fn test(&mut self, operand: &Expr, negated: bool, word: &str) -> fmt::Result {
        self.text("(")?;
        self.expr(operand)?;
        self.text(if negated { " NOT " } else { " " })?;
        self.text(word)
    }
}

/// Whether a name can stand without quotes everywhere.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    let begins = bytes
        .next()
        .is_some_and(|first| first == b'_' || first.is_ascii_alphabetic());
    begins
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && Keyword::from_word(name).is_none()
}
