//! Operands: literals, names, calls, subqueries, and the member accesses after them.

use lapsedb_value::Value;

use super::{Parser, literal};
use crate::ast::{Expr, ExprKind, Name, SubqueryKind};
use crate::error::SqlError;
use crate::keyword::Keyword;
use crate::lexer::{Kind, Token};

impl Parser<'_> {
    /// An operand and the `.name` and `[index]` after it.
    pub(super) fn postfix(&mut self) -> Result<Expr, SqlError> {
        let mut expr = self.primary()?;
        loop {
            if self.take_symbol(".") {
                let name = self.name()?;
                let span = expr.span.to(name.span);
                expr = self.node(ExprKind::Member(Box::new(expr), name), span)?;
            } else if self.take_symbol("[") {
                expr = self.indexed(expr)?;
            } else {
                return Ok(expr);
            }
        }
    }

    #[inline(never)]
    fn indexed(&mut self, base: Expr) -> Result<Expr, SqlError> {
        let index = self.expr()?;
        self.expect_symbol("]")?;
        let span = base.span.to(self.last_span());
        match index.kind {
            ExprKind::Literal(Value::String(text)) => {
                let name = Name {
                    text,
                    span: index.span,
                };
                self.node(ExprKind::Member(Box::new(base), name), span)
            }
            _ => self.node(ExprKind::Index(Box::new(base), Box::new(index)), span),
        }
    }

    /// The parameter that comes next; its name goes without the `@`.
    pub(super) fn parameter(&mut self) -> Name {
        let token = self.next();
        Name {
            text: token.text.trim_start_matches('@').into(),
            span: token.span,
        }
    }

    #[inline(never)]
    fn primary(&mut self) -> Result<Expr, SqlError> {
        let token = self.peek();
        let literal = match token.kind {
            Kind::Number => literal::number(token.text),
            Kind::String => Some(Value::String(literal::string(token.text))),
            Kind::Parameter => {
                let name = self.parameter();
                return self.node(ExprKind::Parameter(name.text), name.span);
            }
            Kind::Word => return self.word(token),
            Kind::Keyword(Keyword::Exists) => return self.subquery_form(SubqueryKind::Exists),
            Kind::Keyword(Keyword::Array) => return self.subquery_form(SubqueryKind::Array),
            // Reserved, and names of functions all the same.
            Kind::Keyword(Keyword::Left | Keyword::Right) => {
                self.next();
                let name = Name {
                    text: token.text.to_ascii_uppercase().into(),
                    span: token.span,
                };
                return self.call(name, false);
            }
            Kind::Keyword(Keyword::Udf) => return self.user_defined(),
            Kind::Keyword(keyword) => Parser::word_literal(keyword),
            Kind::Symbol("(") => return self.parenthesis(),
            Kind::Symbol("[") => return self.array(),
            Kind::Symbol("{") => return self.object(),
            Kind::Symbol(_) | Kind::Invalid(_) | Kind::End => None,
        };
        let Some(literal) = literal else {
            return Err(self.unexpected());
        };
        self.next();
        self.node(ExprKind::Literal(literal), token.span)
    }

    /// `udf.f(…)`
    #[inline(never)]
    fn user_defined(&mut self) -> Result<Expr, SqlError> {
        self.next();
        self.expect_symbol(".")?;
        let name = self.name()?;
        self.call(name, true)
    }

    /// A word: a subquery form, a call, or a name.
    fn word(&mut self, token: Token<'_>) -> Result<Expr, SqlError> {
        self.next();
        if !self.is_symbol("(") {
            return self.node(ExprKind::Name(token.text.into()), token.span);
        }
        if self.ahead(1).kind == Kind::Keyword(Keyword::Select) {
            return self.named_subquery(token);
        }
        self.call(token.into(), false)
    }

    /// `ALL(SELECT …)` and its kin. The names are no reserved words: any other one is found wrong at the end, as by the service.
    #[inline(never)]
    fn named_subquery(&mut self, token: Token<'_>) -> Result<Expr, SqlError> {
        self.next();
        let query = self.query()?;
        let kind = subquery_kind(token.text).ok_or_else(|| self.unexpected())?;
        self.expect_symbol(")")?;
        let span = token.span.to(self.last_span());
        self.node(ExprKind::Subquery(kind, Box::new(query)), span)
    }

    pub(super) fn call(&mut self, name: Name, user_defined: bool) -> Result<Expr, SqlError> {
        let args = self.list("(", ")")?;
        let span = name.span.to(self.last_span());
        self.node(
            ExprKind::Call {
                name,
                user_defined,
                args,
            },
            span,
        )
    }

    /// Expressions between two symbols.
    fn list(&mut self, open: &str, close: &str) -> Result<Vec<Expr>, SqlError> {
        self.expect_symbol(open)?;
        let mut items = Vec::new();
        if self.take_symbol(close) {
            return Ok(items);
        }
        loop {
            items.push(self.expr()?);
            if self.take_symbol(close) {
                return Ok(items);
            }
            self.expect_symbol(",")?;
        }
    }

    fn subquery_form(&mut self, kind: SubqueryKind) -> Result<Expr, SqlError> {
        let start = self.next().span;
        self.expect_symbol("(")?;
        let query = self.query()?;
        self.expect_symbol(")")?;
        self.node(
            ExprKind::Subquery(kind, Box::new(query)),
            start.to(self.last_span()),
        )
    }

    fn parenthesis(&mut self) -> Result<Expr, SqlError> {
        self.next();
        let token = self.peek();
        let expr = if token.kind == Kind::Keyword(Keyword::Select) {
            self.scalar_subquery()?
        } else if token.kind == Kind::Word
            && token.text.eq_ignore_ascii_case("LET")
            && self.ahead(1).kind == Kind::Word
        {
            self.binding()?
        } else {
            self.expr()?
        };
        self.expect_symbol(")")?;
        Ok(expr)
    }

    #[inline(never)]
    fn scalar_subquery(&mut self) -> Result<Expr, SqlError> {
        let query = self.query()?;
        let span = query.span;
        self.node(
            ExprKind::Subquery(SubqueryKind::Scalar, Box::new(query)),
            span,
        )
    }

    fn array(&mut self) -> Result<Expr, SqlError> {
        let start = self.peek().span;
        let items = self.list("[", "]")?;
        self.node(ExprKind::Array(items), start.to(self.last_span()))
    }

    fn object(&mut self) -> Result<Expr, SqlError> {
        let start = self.next().span;
        let mut members = Vec::new();
        if !self.take_symbol("}") {
            loop {
                let name = self.object_key()?;
                self.expect_symbol(":")?;
                members.push((name, self.expr()?));
                if self.take_symbol("}") {
                    break;
                }
                self.expect_symbol(",")?;
            }
        }
        self.node(ExprKind::Object(members), start.to(self.last_span()))
    }

    fn object_key(&mut self) -> Result<Name, SqlError> {
        let token = self.peek();
        if token.kind == Kind::String {
            self.next();
            return Ok(Name {
                text: literal::string(token.text),
                span: token.span,
            });
        }
        self.name()
    }
}

fn subquery_kind(word: &str) -> Option<SubqueryKind> {
    let forms = [
        ("ALL", SubqueryKind::All),
        ("FIRST", SubqueryKind::First),
        ("LAST", SubqueryKind::Last),
    ];
    forms
        .into_iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
        .map(|(_, kind)| kind)
}
