//! Syntax trees as text: one canonical spelling, in the shape of the rewritten queries in the service's query plans.
//!
//! Every operator stands in parentheses, so the text says how the parser grouped it, and reading it needs no precedence.
//! What is printed parses to the same tree, spans apart, and so prints the same again: two trees are the same where their
//! texts are. A text nests deeper than the query it was made of, so a query close to
//! [`NESTING_MAX`](crate::limits::NESTING_MAX) may print to one beyond it.

mod expr;

use std::fmt::{self, Display, Formatter};

use lapsedb_value::{Value, json};

use crate::ast::{
    BinaryOp, Collection, Count, Expr, OrderBy, Query, SelectList, Source, Step, SubqueryKind,
    UnaryOp,
};
use crate::keyword::Keyword;
use crate::stack;

/// Blanks for one level of subqueries.
const INDENT: usize = 4;

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        stack::for_height(self.height, || Printer::new(f).query(self))
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        stack::for_height(self.height, || Printer::new(f).expr(self))
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
            SubqueryKind::First => "FIRST",
            SubqueryKind::Last => "LAST",
        }
    }
}

struct Printer<'a, 'f> {
    out: &'a mut Formatter<'f>,
    /// Blanks before a line.
    indent: usize,
    /// The parentheses that are left out.
    bare: Bare,
}

/// Parentheses of operators that are left out. Any other text ends it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bare {
    /// None.
    No,
    /// Those of the next operator.
    Outer,
    /// Those of the next operator, and of the operators that its text begins with.
    Left,
}

impl<'a, 'f> Printer<'a, 'f> {
    fn new(out: &'a mut Formatter<'f>) -> Printer<'a, 'f> {
        Printer {
            out,
            indent: 0,
            bare: Bare::No,
        }
    }

    fn text(&mut self, text: &str) -> fmt::Result {
        if !text.is_empty() {
            self.bare = Bare::No;
        }
        self.out.write_str(text)
    }

    fn words(&mut self, words: &[&str]) -> fmt::Result {
        words.iter().try_for_each(|word| self.text(word))
    }

    fn line(&mut self) -> fmt::Result {
        self.text(&format!("\n{:1$}", "", self.indent))
    }

    fn query(&mut self, query: &Query) -> fmt::Result {
        self.text("SELECT")?;
        if query.select.distinct {
            self.text(" DISTINCT")?;
        }
        if let Some(top) = &query.select.top {
            self.text(" TOP ")?;
            self.count(&top.count)?;
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
        if !query.group_by.keys.is_empty() {
            self.line()?;
            self.text("GROUP BY ")?;
            self.list(&query.group_by.keys)?;
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
            Count::Literal(number, _) => self.literal(number),
            Count::Parameter(name) => self.words(&["@", &name.text]),
        }
    }

    fn source(&mut self, source: &Source) -> fmt::Result {
        if let (true, Some(alias)) = (source.iterates, &source.alias) {
            self.words(&[&alias.text, " IN "])?;
        }
        match &source.collection {
            Collection::Path { root, steps, .. } => {
                self.text(&root.text)?;
                for step in steps {
                    match step {
                        Step::Member(name) => self.member(name)?,
                        Step::Index(index) => self.text(&format!("[{index}]"))?,
                    }
                }
            }
            Collection::Query(query) => self.subquery("", query)?,
        }
        match (source.iterates, &source.alias) {
            (false, Some(alias)) => self.words(&[" AS ", &alias.text]),
            (true, _) | (false, None) => Ok(()),
        }
    }

    fn order_by(&mut self, order_by: &OrderBy) -> fmt::Result {
        match order_by {
            OrderBy::None => Ok(()),
            OrderBy::Rank(by) => {
                self.line()?;
                self.text("ORDER BY RANK ")?;
                self.expr(&by.call)?;
                self.text(if by.sorted { " ASC" } else { "" })
            }
            OrderBy::Items(items, _) => {
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
            return self.words(&[".", name]);
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
            value => {
                let text = json::to_string(value);
                self.text(&text)?;
                // What is written as a whole number would be read as an integer of 64 bits.
                let whole = matches!(value, Value::Double(_))
                    && text
                        .bytes()
                        .all(|byte| byte == b'-' || byte.is_ascii_digit());
                self.text(if whole { ".0" } else { "" })
            }
        }
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
