//! Tokens to a [`Query`]: recursive descent, with precedence climbing for operators.

mod expr;
pub(crate) mod literal;
mod primary;
mod query;

use crate::ast::{Expr, ExprKind, Name, Query, SelectList};
use crate::error::SqlError;
use crate::keyword::Keyword;
use crate::lexer::{self, Invalid, Kind, Token};
use crate::limits::{ANDS_MAX, HEIGHT_MAX, NESTING_MAX, ORS_MAX};
use crate::span::Span;
use crate::stack;

/// Reads a whole query.
pub fn parse(text: &str) -> Result<Query, SqlError> {
    let mut parser = Parser::new(text)?;
    let mut query = parser.query()?;
    parser.end()?;
    if let (SelectList::Star(span), []) = (&query.select.list, query.from.as_slice()) {
        return Err(SqlError::star_without_from(*span));
    }
    query.text = text.into();
    Ok(query)
}

/// Reads the tail of a query from `FROM` on, as a conditional patch carries it.
pub(crate) fn parse_tail(text: &str) -> Result<Query, SqlError> {
    let mut parser = Parser::new(text)?;
    let mut query = parser.condition()?;
    parser.end()?;
    query.text = text.into();
    Ok(query)
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    nesting: usize,
    ands: usize,
    ors: usize,
    /// Whether an `IN` ends the expression: the one of `LET`.
    in_let: bool,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Parser<'t>, SqlError> {
        Ok(Parser {
            tokens: lexer::tokens(text)?,
            at: 0,
            nesting: 0,
            ands: 0,
            ors: 0,
            in_let: false,
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

    /// The error that the next token cannot stand here, or is none.
    fn unexpected(&self) -> SqlError {
        let token = self.peek();
        match token.kind {
            Kind::End => SqlError::end_of_text(token.span),
            Kind::Invalid(Invalid::Number) => SqlError::invalid_number(token.text, token.span),
            Kind::Invalid(Invalid::String) => SqlError::invalid_string(token.text, token.span),
            // The service shows nothing of a text behind a character NUL.
            Kind::Invalid(Invalid::Character) => {
                SqlError::invalid_token(token.text.trim_matches('\0'), token.span)
            }
            Kind::Word
            | Kind::Keyword(_)
            | Kind::Parameter
            | Kind::Number
            | Kind::String
            | Kind::Symbol(_) => SqlError::syntax(token.text, token.span),
        }
    }

    /// A name that is no reserved word.
    fn name(&mut self) -> Result<Name, SqlError> {
        match self.peek().kind {
            Kind::Word => Ok(self.next().into()),
            _ => Err(self.unexpected()),
        }
    }

    /// Reads something one level further down.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Parser<'t>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        if self.nesting == NESTING_MAX {
            let span = self.peek().span;
            return Err(SqlError::too_complex("it nests too deeply", span));
        }
        self.nesting += 1;
        let result = stack::with_room(|| read(self));
        self.nesting -= 1;
        result
    }

    fn count_junction(&mut self, word: Keyword) -> Result<(), SqlError> {
        let (count, most, what) = match word {
            Keyword::Or => (&mut self.ors, ORS_MAX, "it has more than 2000 ORs"),
            _ => (&mut self.ands, ANDS_MAX, "it has more than 2000 ANDs"),
        };
        *count += 1;
        if *count > most {
            return Err(SqlError::too_complex(what, self.last_span()));
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

impl From<Token<'_>> for Name {
    fn from(token: Token<'_>) -> Name {
        Name {
            text: token.text.into(),
            span: token.span,
        }
    }
}

impl Token<'_> {
    fn kind_is_symbol(&self, symbol: &str) -> bool {
        matches!(self.kind, Kind::Symbol(text) if text == symbol)
    }
}
