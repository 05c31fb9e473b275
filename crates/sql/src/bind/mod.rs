//! Resolves names, checks what can be checked without data, and folds constants.

mod clauses;
mod expr;
mod fold;
mod from;
mod group;
mod paths;
mod rank;

use std::collections::HashMap;

use lapsedb_value::{Str, Value};

use crate::ast;
use crate::computed::Property;
use crate::error::SqlError;
use crate::eval::{Ctx, Env};
use crate::limits::GROUP_KEYS_MAX;
use crate::params::Params;
use crate::plan::{AggregateKind, BoundQuery, Expr, Grouping, Projection, Slot, Step};
use crate::schema::{self, Schema};
use crate::span::Span;

pub(crate) use paths::Origins;

/// Resolves a query against its parameters.
pub(crate) fn bind_query(
    query: &ast::Query,
    params: &Params,
    schema: &Schema,
) -> Result<(BoundQuery, Origins), SqlError> {
    let mut binder = Binder::new(params, schema);
    let bound = binder.query(query, Place::Outermost)?;
    Ok((bound, Origins(binder.origins)))
}

/// Whether the expression of a computed property is allowed: it sees one document, and always gives the same for it.
pub(crate) fn check_computed(query: &ast::Query, property: &Property) -> Result<(), SqlError> {
    let params = Params::new();
    let mut binder = Binder::new(&params, &schema::NONE);
    binder.from(&query.from, Place::Outermost)?;
    binder.defining = true;
    binder.expr(&property.expr).map(drop)
}

/// Where a query stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the whole text, and reads the container.
    Outermost,
    /// It is the first source of such a query, and so reads the container too.
    Feed,
    /// It stands in an expression or a `JOIN`, and reads the current row.
    Nested,
}

/// A name in scope.
struct Alias {
    name: Option<Str>,
    slot: Slot,
}

/// Whether an aggregate may stand where the binder is.
enum Mode {
    /// No: this is evaluated for each row.
    Rows,
    /// Yes: it is collected here.
    Gathering(Vec<(Slot, AggregateKind, Expr)>),
    /// This is the argument of an aggregate.
    Argument,
}

struct Binder<'p> {
    params: &'p Params,
    /// What constants are computed with.
    ctx: Ctx<'p>,
    scope: Vec<Alias>,
    slots: u32,
    /// The document path that an alias stands for, where it does.
    origins: HashMap<Slot, Vec<Step>>,
    mode: Mode,
    schema: &'p Schema,
    /// Whether this is the expression of a computed property.
    defining: bool,
}

impl<'p> Binder<'p> {
    fn new(params: &'p Params, schema: &'p Schema) -> Binder<'p> {
        Binder {
            params,
            ctx: Ctx::new(Env::new(0)),
            scope: Vec::new(),
            slots: 0,
            origins: HashMap::new(),
            mode: Mode::Rows,
            schema,
            defining: false,
        }
    }
}

impl Binder<'_> {
    fn new_slot(&mut self) -> Slot {
        let slot = Slot(self.slots);
        self.slots += 1;
        slot
    }

    fn find(&self, name: &str) -> Option<Slot> {
        self.scope
            .iter()
            .rev()
            .find(|alias| alias.name.as_deref() == Some(name))
            .map(|alias| alias.slot)
    }

    /// The alias of a variable, for messages.
    fn name_of(&self, slot: Slot) -> Str {
        let alias = self.scope.iter().find(|alias| alias.slot == slot);
        alias
            .and_then(|alias| alias.name.clone())
            .unwrap_or_default()
    }

    fn parameter(&self, name: &str, span: Span) -> Result<Value, SqlError> {
        match self.params.get(name) {
            Some(value) => Ok(value.clone()),
            None => Err(SqlError::unresolved(&format!("@{name}"), span)),
        }
    }

    /// Binds a query; the names it brings into scope are gone afterwards.
    fn query(&mut self, query: &ast::Query, place: Place) -> Result<BoundQuery, SqlError> {
        let outer_names = self.scope.len();
        let outer_mode = std::mem::replace(&mut self.mode, Mode::Rows);
        let bound = self.query_in_scope(query, place);
        self.scope.truncate(outer_names);
        self.mode = outer_mode;
        bound
    }

    fn query_in_scope(&mut self, query: &ast::Query, place: Place) -> Result<BoundQuery, SqlError> {
        if place != Place::Outermost {
            refuse_in_subquery(query)?;
        }
        let first_own_slot = Slot(self.slots);
        let sources = self.from(&query.from, place)?;
        let row_slots = first_own_slot..Slot(self.slots);
        let filter = query
            .filter
            .as_ref()
            .map(|filter| self.expr(filter))
            .transpose()?;
        if query.group_by.len() > GROUP_KEYS_MAX {
            return Err(SqlError::too_complex(
                "it groups by more than 1000 expressions",
                query.span,
            ));
        }
        let keys = query
            .group_by
            .iter()
            .map(|key| self.expr(key))
            .collect::<Result<Vec<_>, _>>()?;

        self.mode = Mode::Gathering(Vec::new());
        let projection = self.projection(query, &sources)?;
        let aggregates = match std::mem::replace(&mut self.mode, Mode::Rows) {
            Mode::Gathering(aggregates) => aggregates,
            Mode::Rows | Mode::Argument => Vec::new(),
        };
        let order = self.order(query)?;
        let rank = self.rank(query, keys.is_empty() && aggregates.is_empty())?;
        let (projection, grouping) = if keys.is_empty() && aggregates.is_empty() {
            (projection, None)
        } else {
            let keys: Vec<(Slot, Expr)> =
                keys.into_iter().map(|key| (self.new_slot(), key)).collect();
            let name = |slot| self.name_of(slot);
            let projection = group::rewrite(projection, &keys, &row_slots, &name)?;
            (projection, Some(Grouping { keys, aggregates }))
        };
        let (offset, limit) = self.window(query)?;
        let distinct = query.select.distinct;
        Ok(BoundQuery {
            sources,
            filter,
            grouping,
            projection,
            order,
            rank,
            distinct,
            offset,
            limit,
        })
    }
}

/// Clauses that the service refuses inside another query.
fn refuse_in_subquery(query: &ast::Query) -> Result<(), SqlError> {
    if query.select.top.is_some() {
        return Err(SqlError::not_in_subquery("SC2203", "'TOP'", query.span));
    }
    if let Some(window) = &query.window {
        return Err(SqlError::not_in_subquery(
            "SC2204",
            "'OFFSET LIMIT' clause",
            window.span,
        ));
    }
    match &query.order_by {
        ast::OrderBy::None => Ok(()),
        ast::OrderBy::Items(_) => Err(SqlError::not_in_subquery(
            "SC2202",
            "'ORDER BY'",
            query.span,
        )),
        ast::OrderBy::Rank(_, span) => Err(SqlError::not_in_subquery(
            "SC2228",
            "The ORDER BY RANK clause",
            *span,
        )),
    }
}

/// A projection of one value, for those that need to look inside.
fn single_value(projection: &Projection) -> Option<&Expr> {
    match projection {
        Projection::Value(expr) => Some(expr),
        Projection::Object(_) => None,
    }
}
