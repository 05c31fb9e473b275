//! Clauses.

use lapsedb_value::{Str, Value};

use super::{Parser, literal};
use crate::ast::{
    Collection, Count, ExprKind, GroupBy, OrderBy, OrderItem, Query, RankBy, Select, SelectItem,
    SelectList, Source, Step, Top, Window,
};
use crate::error::SqlError;
use crate::keyword::Keyword;
use crate::lexer::Kind;
use crate::limits::HEIGHT_MAX;
use crate::span::Span;

impl Parser<'_> {
    /// `SELECT …` up to where the query ends.
    pub(super) fn query(&mut self) -> Result<Query, SqlError> {
        self.nested(Parser::clauses)
    }

    fn clauses(&mut self) -> Result<Query, SqlError> {
        let start = self.peek().span;
        self.expect_keyword(Keyword::Select)?;
        let select = self.select(start)?;
        let from = self.from()?;
        let filter = if self.take_keyword(Keyword::Where) {
            Some(self.expr()?)
        } else {
            None
        };
        let group_by = self.group_by()?;
        let order_by = self.order_by()?;
        let window = self.window()?;
        Ok(finished(Query {
            select,
            from,
            filter,
            group_by,
            order_by,
            window,
            span: start.to(self.last_span()),
            text: Str::default(),
            height: 0,
        }))
    }

    /// `FROM … WHERE …`, which becomes `SELECT VALUE true FROM … WHERE …`.
    pub(super) fn condition(&mut self) -> Result<Query, SqlError> {
        let start = self.peek().span;
        if !self.is_keyword(Keyword::From) {
            return Err(self.unexpected());
        }
        let from = self.from()?;
        let filter = if self.take_keyword(Keyword::Where) {
            Some(self.expr()?)
        } else {
            None
        };
        let yes = self.node(ExprKind::Literal(Value::Bool(true)), start)?;
        Ok(finished(Query {
            select: Select {
                distinct: false,
                top: None,
                list: SelectList::Value(yes),
                span: start,
            },
            from,
            filter,
            group_by: GroupBy {
                keys: Vec::new(),
                span: start,
            },
            order_by: OrderBy::None,
            window: None,
            span: start.to(self.last_span()),
            text: Str::default(),
            height: 0,
        }))
    }

    fn select(&mut self, start: Span) -> Result<Select, SqlError> {
        let distinct = self.take_keyword(Keyword::Distinct);
        let top = self.top()?;
        let list = if self.is_symbol("*") {
            SelectList::Star(self.next().span)
        } else if self.take_keyword(Keyword::Value) {
            SelectList::Value(self.expr()?)
        } else {
            let mut items = vec![self.select_item()?];
            while self.take_symbol(",") {
                items.push(self.select_item()?);
            }
            SelectList::Items(items)
        };
        Ok(Select {
            distinct,
            top,
            list,
            span: start.to(self.last_span()),
        })
    }

    /// `TOP n`: any number is read, and looked at when the query is bound.
    fn top(&mut self) -> Result<Option<Top>, SqlError> {
        let start = self.peek();
        if !self.take_keyword(Keyword::Top) {
            return Ok(None);
        }
        let token = self.peek();
        let value = match token.kind {
            Kind::Number => literal::number(token.text),
            _ => None,
        };
        let count = self.count(value)?;
        let span = start.span.to(self.last_span());
        Ok(Some(Top { count, span }))
    }

    /// The number of `OFFSET` or `LIMIT`: one that is not whole is refused as it stands.
    fn rows(&mut self) -> Result<Count, SqlError> {
        let token = self.peek();
        let value = match token.kind {
            Kind::Number => literal::whole(token.text).map(Value::from),
            _ => None,
        };
        self.count(value)
    }

    fn count(&mut self, value: Option<Value>) -> Result<Count, SqlError> {
        match (value, self.peek().kind) {
            (Some(value), _) => Ok(Count::Literal(value, self.next().span)),
            (None, Kind::Parameter) => Ok(Count::Parameter(self.parameter())),
            (None, _) => Err(self.unexpected()),
        }
    }

    fn select_item(&mut self) -> Result<SelectItem, SqlError> {
        let expr = self.expr()?;
        let alias = match (self.take_keyword(Keyword::As), self.peek().kind) {
            (_, Kind::String) => Some(self.quoted_name()?),
            (true, _) | (false, Kind::Word) => Some(self.name()?),
            (false, _) => None,
        };
        Ok(SelectItem { expr, alias })
    }

    fn from(&mut self) -> Result<Vec<Source>, SqlError> {
        if !self.take_keyword(Keyword::From) {
            return Ok(Vec::new());
        }
        let mut sources = vec![self.source()?];
        while self.take_keyword(Keyword::Join) {
            sources.push(self.source()?);
        }
        Ok(sources)
    }

    fn source(&mut self) -> Result<Source, SqlError> {
        let start = self.peek().span;
        if self.peek().kind == Kind::Word && self.ahead(1).kind == Kind::Keyword(Keyword::In) {
            let alias = Some(self.name()?);
            self.next();
            let collection = self.collection()?;
            return Ok(Source {
                collection,
                alias,
                iterates: true,
                span: start.to(self.last_span()),
            });
        }
        let collection = self.collection()?;
        let alias = if self.take_keyword(Keyword::As) || self.peek().kind == Kind::Word {
            Some(self.name()?)
        } else {
            None
        };
        Ok(Source {
            collection,
            alias,
            iterates: false,
            span: start.to(self.last_span()),
        })
    }

    fn collection(&mut self) -> Result<Collection, SqlError> {
        if self.take_symbol("(") {
            let query = self.query()?;
            self.expect_symbol(")")?;
            return Ok(Collection::Query(Box::new(query)));
        }
        let root = self.name()?;
        let mut steps = Vec::new();
        loop {
            if self.take_symbol(".") {
                steps.push(Step::Member(self.name()?.text));
            } else if self.take_symbol("[") {
                steps.push(self.bracket_step()?);
                self.expect_symbol("]")?;
            } else {
                let span = root.span.to(self.last_span());
                return Ok(Collection::Path { root, steps, span });
            }
            if steps.len() >= usize::from(HEIGHT_MAX) {
                return Err(SqlError::too_complex(
                    "a path in FROM is too long",
                    root.span,
                ));
            }
        }
    }

    fn bracket_step(&mut self) -> Result<Step, SqlError> {
        let token = self.peek();
        match token.kind {
            Kind::String => {
                self.next();
                Ok(Step::Member(literal::string(token.text)))
            }
            Kind::Number => {
                let index = literal::whole(token.text).and_then(|n| u64::try_from(n).ok());
                let index = index.ok_or_else(|| self.unexpected())?;
                self.next();
                Ok(Step::Index(index))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn group_by(&mut self) -> Result<GroupBy, SqlError> {
        let start = self.peek().span;
        let mut keys = Vec::new();
        if self.take_keyword(Keyword::Group) {
            self.expect_keyword(Keyword::By)?;
            keys.push(self.expr()?);
            while self.take_symbol(",") {
                keys.push(self.expr()?);
            }
        }
        let span = start.to(self.last_span());
        Ok(GroupBy { keys, span })
    }

    fn order_by(&mut self) -> Result<OrderBy, SqlError> {
        let start = self.peek().span;
        if !self.take_keyword(Keyword::Order) {
            return Ok(OrderBy::None);
        }
        self.expect_keyword(Keyword::By)?;
        // `RANK` is no reserved word: with nothing behind it, it is a name.
        let ranked =
            self.peek().kind == Kind::Word && self.peek().text.eq_ignore_ascii_case("RANK");
        if ranked && self.ahead(1).kind == Kind::Word {
            return self.rank(start);
        }
        let mut items = vec![self.order_item()?];
        while self.take_symbol(",") {
            items.push(self.order_item()?);
        }
        Ok(OrderBy::Items(items, start.to(self.last_span())))
    }

    /// `RANK f(…)`: a call and nothing else.
    fn rank(&mut self, start: Span) -> Result<OrderBy, SqlError> {
        self.next();
        let name = self.name()?;
        let call = self.call(name, false)?;
        let sorted = self.take_keyword(Keyword::Asc) || self.take_keyword(Keyword::Desc);
        Ok(OrderBy::Rank(RankBy {
            call,
            sorted,
            span: start.to(self.last_span()),
        }))
    }

    fn order_item(&mut self) -> Result<OrderItem, SqlError> {
        let expr = self.expr()?;
        let descending = if self.take_keyword(Keyword::Desc) {
            Some(true)
        } else {
            self.take_keyword(Keyword::Asc).then_some(false)
        };
        let span = match descending {
            Some(_) => expr.span.to(self.last_span()),
            None => expr.span,
        };
        Ok(OrderItem {
            expr,
            descending,
            span,
        })
    }

    fn window(&mut self) -> Result<Option<Window>, SqlError> {
        let start = self.peek().span;
        if !self.take_keyword(Keyword::Offset) {
            return Ok(None);
        }
        let offset = self.rows()?;
        self.expect_keyword(Keyword::Limit)?;
        let limit = self.rows()?;
        Ok(Some(Window {
            offset,
            limit,
            span: start.to(self.last_span()),
        }))
    }
}

/// Notes how high the expressions of the query are.
fn finished(mut query: Query) -> Query {
    let selected = match &query.select.list {
        SelectList::Star(_) => 0,
        SelectList::Value(expr) => expr.height,
        SelectList::Items(items) => items.iter().map(|item| item.expr.height).max().unwrap_or(0),
    };
    let sources = query.from.iter().map(|source| match &source.collection {
        Collection::Path { steps, .. } => u16::try_from(steps.len()).unwrap_or(HEIGHT_MAX),
        Collection::Query(inner) => inner.height,
    });
    let ordered = match &query.order_by {
        OrderBy::None => 0,
        OrderBy::Items(items, _) => items.iter().map(|item| item.expr.height).max().unwrap_or(0),
        OrderBy::Rank(by) => by.call.height,
    };
    let filter = query.filter.as_ref().map_or(0, |expr| expr.height);
    let keys = query
        .group_by
        .keys
        .iter()
        .map(|expr| expr.height)
        .max()
        .unwrap_or(0);
    let height = selected
        .max(ordered)
        .max(filter)
        .max(keys)
        .max(sources.max().unwrap_or(0));
    query.height = height.saturating_add(1);
    query
}
