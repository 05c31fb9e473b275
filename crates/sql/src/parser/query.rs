//! Clauses.

use lapsedb_value::Value;

use super::{Parser, literal};
use crate::ast::{
    Collection, Count, Expr, ExprKind, OrderBy, OrderItem, Query, Select, SelectItem, SelectList,
    Source, Step, Window,
};
use crate::error::SqlError;
use crate::keyword::Keyword;
use crate::lexer::Kind;
use crate::limits::HEIGHT_MAX;

impl Parser<'_> {
    /// `SELECT …` up to where the query ends.
    pub(super) fn query(&mut self) -> Result<Query, SqlError> {
        self.enter()?;
        let start = self.peek().span;
        self.expect_keyword(Keyword::Select)?;
        let select = self.select()?;
        let from = self.from()?;
        let filter = if self.take_keyword(Keyword::Where) {
            Some(self.expr()?)
        } else {
            None
        };
        let group_by = self.group_by()?;
        let order_by = self.order_by()?;
        let window = self.window()?;
        let span = start.to(self.last_span());
        self.leave();
        Ok(finished(Query {
            select,
            from,
            filter,
            group_by,
            order_by,
            window,
            span,
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
        let select = Select {
            distinct: false,
            top: None,
            list: SelectList::Value(yes),
        };
        let span = start.to(self.last_span());
        let order_by = OrderBy::None;
        Ok(finished(Query {
            select,
            from,
            filter,
            group_by: Vec::new(),
            order_by,
            window: None,
            span,
            height: 0,
        }))
    }

    fn select(&mut self) -> Result<Select, SqlError> {
        let distinct = self.take_keyword(Keyword::Distinct);
        let top = if self.take_keyword(Keyword::Top) {
            Some(self.count()?)
        } else {
            None
        };
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
        })
    }

    fn select_item(&mut self) -> Result<SelectItem, SqlError> {
        let expr = self.expr()?;
        let alias = if self.take_keyword(Keyword::As) || self.peek().kind == Kind::Word {
            Some(self.name()?)
        } else {
            None
        };
        Ok(SelectItem { expr, alias })
    }

    fn count(&mut self) -> Result<Count, SqlError> {
        let token = self.peek();
        match token.kind {
            Kind::Number => {
                self.next();
                let value = literal::number(token)?.as_f64().unwrap_or_default();
                Ok(Count::Literal(value, token.span))
            }
            Kind::Parameter => Ok(Count::Parameter(self.parameter())),
            _ => Err(self.unexpected()),
        }
    }

    fn from(&mut self) -> Result<Vec<Source>, SqlError> {
        if !self.take_keyword(Keyword::From) {
            return Ok(Vec::new());
        }
        let mut sources = vec![self.source()?];
        while self.take_keyword(Keyword::Join) {
            self.count_join()?;
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
                steps.push(Step::Member(self.member_name()?.text));
            } else if self.take_symbol("[") {
                steps.push(self.bracket_step()?);
                self.expect_symbol("]")?;
            } else {
                return Ok(Collection::Path { root, steps });
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
                Ok(Step::Member(literal::string(token)?))
            }
            Kind::Number => {
                let index = literal::number(token)?
                    .as_i64()
                    .and_then(|n| u64::try_from(n).ok());
                let index = index.ok_or_else(|| self.unexpected())?;
                self.next();
                Ok(Step::Index(index))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn group_by(&mut self) -> Result<Vec<Expr>, SqlError> {
        let mut keys = Vec::new();
        if self.take_keyword(Keyword::Group) {
            self.expect_keyword(Keyword::By)?;
            keys.push(self.expr()?);
            while self.take_symbol(",") {
                keys.push(self.expr()?);
            }
        }
        Ok(keys)
    }

    fn order_by(&mut self) -> Result<OrderBy, SqlError> {
        if !self.take_keyword(Keyword::Order) {
            return Ok(OrderBy::None);
        }
        self.expect_keyword(Keyword::By)?;
        if self.is_keyword(Keyword::Rank) {
            let start = self.next().span;
            let call = self.expr()?;
            if self.is_keyword(Keyword::Asc) || self.is_keyword(Keyword::Desc) {
                // The service's code for this text is not known.
                let message = "Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is not allowed.";
                return Err(SqlError::new("SC2221", message, self.next().span));
            }
            return Ok(OrderBy::Rank(call, start.to(self.last_span())));
        }
        let mut items = vec![self.order_item()?];
        while self.take_symbol(",") {
            items.push(self.order_item()?);
        }
        Ok(OrderBy::Items(items))
    }

    fn order_item(&mut self) -> Result<OrderItem, SqlError> {
        let expr = self.expr()?;
        let descending = if self.take_keyword(Keyword::Desc) {
            Some(true)
        } else {
            self.take_keyword(Keyword::Asc).then_some(false)
        };
        Ok(OrderItem { expr, descending })
    }

    fn window(&mut self) -> Result<Option<Window>, SqlError> {
        let start = self.peek().span;
        if !self.take_keyword(Keyword::Offset) {
            return Ok(None);
        }
        let offset = self.count()?;
        self.expect_keyword(Keyword::Limit)?;
        let limit = self.count()?;
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
        OrderBy::Items(items) => items.iter().map(|item| item.expr.height).max().unwrap_or(0),
        OrderBy::Rank(call, _) => call.height,
    };
    let filter = query.filter.as_ref().map_or(0, |expr| expr.height);
    let keys = query
        .group_by
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
