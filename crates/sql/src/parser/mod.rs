//! Tokens to a [`Query`]: recursive descent, with precedence climbing for operators.

mod expr;
mod literal;
mod primary;
mod query;

use crate::ast::{Expr, ExprKind, Name, Query};
use crate::error::SqlError;
use crate::keyword::Keyword;
use crate::lexer::{self, Kind, Token};
use crate::limits::{ANDS_MAX, HEIGHT_MAX, JOINS_MAX, NESTING_MAX, ORS_MAX};
use crate::span::Span;

/// Reads a whole query.
pub fn parse(text: &str) -> Result<Query, SqlError> {
    let mut parser = Parser::new(text)?;
    let query = parser.query()?;
    parser.end()?;
    Ok(query)
}

/// Reads the tail of a query from `FROM` on, as a conditional patch carries it.
pub(crate) fn parse_tail(text: &str) -> Result<Query, SqlError> {
    let mut parser = Parser::new(text)?;
    let query = parser.condition()?;
    parser.end()?;
    Ok(query)
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    nesting: usize,
    ands: usize,
    ors: usize,
    joins: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Parser<'t>, SqlError> {
        Ok(Parser {
            tokens: lexer::tokens(text)?,
            at: 0,
            nesting: 0,
            ands: 0,
            ors: 0,
            joins: 0,
        })
    }

    /// The token that many places ahead; beyond the end it is the end.
    fn ahead(&self, places: usize) -> Token<'t> {
        let end = Token {
            kind: Kind::End,
            text: "",
            span: Span::default(),
        };
        let index = (self.at + places).min(self.tokens.len().saturating_sub(1));
        self.tokens.get(index).copied().unwrap_or(end)
    }

    fn peek(&self) -> Token<'t> {
        self.ahead(0)
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Where the last token taken ends.
    fn last_span(&self) -> Span {
        self.tokens
            .get(self.at.wrapping_sub(1))
            .map_or_else(Span::default, |token| token.span)
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        self.peek().kind_is_symbol(symbol)
    }

    fn is_keyword(&self, keyword: Keyword) -> bool {
        self.peek().kind == Kind::Keyword(keyword)
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    fn take_keyword(&mut self, keyword: Keyword) -> bool {
        let found = self.is_keyword(keyword);
        self.at += usize::from(found);
        found
    }

    fn expect_symbol(&mut self, symbol: &str) -> Result<(), SqlError> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn expect_keyword(&mut self, keyword: Keyword) -> Result<(), SqlError> {
        if self.take_keyword(keyword) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn end(&mut self) -> Result<(), SqlError> {
        if self.peek().kind == Kind::End {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// The error that the next token cannot stand here. At the end of the text the last token is
    /// named, for there is no other to point at.
    fn unexpected(&self) -> SqlError {
        let token = self.peek();
        let token = match token.kind {
            Kind::End => self.tokens.iter().rev().nth(1).copied().unwrap_or(token),
            _ => token,
        };
        SqlError::syntax(token.text, token.span)
    }

    /// A name that is no reserved word.
    fn name(&mut self) -> Result<Name, SqlError> {
        match self.peek().kind {
            Kind::Word => {
                let token = self.next();
                Ok(Name {
                    text: token.text.into(),
                    span: token.span,
                })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Goes one level down; every way in has its [`Parser::leave`], unless the parse fails.
    fn enter(&mut self) -> Result<(), SqlError> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(SqlError::too_complex(
                "it nests too deeply",
                self.peek().span,
            ));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.nesting -= 1;
    }

    fn count_and(&mut self) -> Result<(), SqlError> {
        self.ands += 1;
        if self.ands > ANDS_MAX {
            return Err(SqlError::too_complex(
                "it has more than 2000 ANDs",
                self.last_span(),
            ));
        }
        Ok(())
    }

    fn count_or(&mut self) -> Result<(), SqlError> {
        self.ors += 1;
        if self.ors > ORS_MAX {
            return Err(SqlError::too_complex(
                "it has more than 2000 ORs",
                self.last_span(),
            ));
        }
        Ok(())
    }

    fn count_join(&mut self) -> Result<(), SqlError> {
        self.joins += 1;
        if self.joins > JOINS_MAX {
            return Err(SqlError::too_complex(
                "it has more than 10 JOINs",
                self.last_span(),
            ));
        }
        Ok(())
    }

    /// A node over children that are already built; refused if the tree grows too high.
    fn node(&self, kind: ExprKind, span: Span) -> Result<Expr, SqlError> {
        let height = kind.child_height() + 1;
        if height > HEIGHT_MAX {
            return Err(SqlError::too_complex(
                "its expressions nest too deeply",
                span,
            ));
        }
        Ok(Expr { kind, span, height })
    }
}

impl Token<'_> {
    fn kind_is_symbol(&self, symbol: &str) -> bool {
        matches!(self.kind, Kind::Symbol(text) if text == symbol)
    }
}
