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
use crate::limits::{GROUP_KEYS_MAX, JOINS_MAX, USER_FUNCTIONS_MAX};
use crate::params::Params;
use crate::plan::{AggregateKind, BoundQuery, Expr, Grouping, Projection, Slot, Step};
use crate::schema::{self, Schema};
use crate::span::Span;
use crate::stack;

pub(crate) use paths::Origins;

/// A query whose names are resolved, and what the service thinks of it only later.
pub(crate) struct Resolved {
    pub(crate) query: BoundQuery,
    pub(crate) origins: Origins,
    /// Why it is planned but not run.
    pub(crate) not_run: Option<SqlError>,
}

/// Resolves a query against its parameters.
pub(crate) fn bind_query(
    query: &ast::Query,
    params: &Params,
    schema: &Schema,
) -> Result<Resolved, SqlError> {
    stack::for_height(query.height, || {
        let mut binder = Binder::new(params, schema);
        binder.text = QueryText::of(&query.text);
        let bound = binder.query(query, Place::Outermost)?;
        if binder.joins > JOINS_MAX {
            return Err(SqlError::too_many_joins(JOINS_MAX, query.span));
        }
        if binder.user_functions > USER_FUNCTIONS_MAX {
            let error = SqlError::too_many_user_functions(USER_FUNCTIONS_MAX, query.span);
            return Err(error);
        }
        Ok(Resolved {
            query: bound,
            origins: Origins(binder.origins),
            not_run: binder.not_run,
        })
    })
}

/// Whether the expression of a computed property is allowed: it sees one document, and always gives the same for it.
pub(crate) fn check_computed(query: &ast::Query, property: &Property) -> Result<(), SqlError> {
    let params = Params::new();
    let mut binder = Binder::new(&params, &schema::NONE);
    binder.text = QueryText::of(&query.text);
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
    /// No: this is evaluated for each row, in `WHERE` or where nothing else is said of it.
    Rows,
    /// No: rows are grouped by this. Neither may a subquery.
    Keys,
    /// Yes: it is collected here.
    Gathering(Vec<(Slot, AggregateKind, Expr)>),
    /// This is the argument of an aggregate, which stands there.
    Argument(Span),
}

/// The text of the query, for messages that show a part of it.
#[derive(Default)]
struct QueryText(Str);

impl QueryText {
    fn of(text: &Str) -> QueryText {
        QueryText(text.clone())
    }

    fn at(&self, span: Span) -> String {
        let units = self.0.encode_utf16();
        let wanted = (span.end.saturating_sub(span.start)) as usize;
        let part: Vec<u16> = units.skip(span.start as usize).take(wanted).collect();
        String::from_utf16_lossy(&part)
    }
}

struct Binder<'p> {
    params: &'p Params,
    text: QueryText,
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
    /// The `LET`s of this query that are open.
    bindings: Vec<(Slot, Expr)>,
    /// Whether this is what rows are sorted by.
    ordering: bool,
    /// Where the first aggregate of the query stands.
    first_aggregate: Option<Span>,
    joins: usize,
    user_functions: usize,
    /// Why the query is planned but not run.
    not_run: Option<SqlError>,
}

impl<'p> Binder<'p> {
    fn new(params: &'p Params, schema: &'p Schema) -> Binder<'p> {
        Binder {
            params,
            text: QueryText::default(),
            ctx: Ctx::new(Env::new(0)),
            scope: Vec::new(),
            slots: 0,
            origins: HashMap::new(),
            mode: Mode::Rows,
            schema,
            defining: false,
            bindings: Vec::new(),
            ordering: false,
            first_aggregate: None,
            joins: 0,
            user_functions: 0,
            not_run: None,
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

    /// The name of a variable, if it is an alias in scope.
    fn name_of(&self, slot: Slot) -> Option<&str> {
        let alias = self.scope.iter().find(|alias| alias.slot == slot);
        alias.and_then(|alias| alias.name.as_deref())
    }

    /// The value of a parameter; undefined if it has none. Each place that names it gets a copy, which counts: a small text can
    /// name a large value very often.
    fn parameter(&self, name: &str) -> Result<Value, SqlError> {
        let value = self.params.get(name).unwrap_or(Value::undefined());
        self.ctx.charge_for(value)?;
        Ok(value.clone())
    }

    /// Binds a query; the names it brings into scope are gone afterwards.
    fn query(&mut self, query: &ast::Query, place: Place) -> Result<BoundQuery, SqlError> {
        let outer_names = self.scope.len();
        let outer_mode = std::mem::replace(&mut self.mode, Mode::Rows);
        let outer_aggregate = self.first_aggregate.take();
        let outer_bindings = std::mem::take(&mut self.bindings);
        let bound = self.query_in_scope(query, place);
        self.scope.truncate(outer_names);
        self.mode = outer_mode;
        self.first_aggregate = outer_aggregate;
        self.bindings = outer_bindings;
        bound
    }

    fn query_in_scope(&mut self, query: &ast::Query, place: Place) -> Result<BoundQuery, SqlError> {
        let first_own_slot = Slot(self.slots);
        let sources = self.from(&query.from, place)?;
        let row_slots = first_own_slot..Slot(self.slots);
        let filter = query
            .filter
            .as_ref()
            .map(|filter| self.expr(filter))
            .transpose()?;
        let keys = self.group_keys(&query.group_by.keys)?;

        self.mode = Mode::Gathering(Vec::new());
        let projection = self.projection(query, &sources)?;
        let order = self.order(query)?;
        let aggregates = match std::mem::replace(&mut self.mode, Mode::Rows) {
            Mode::Gathering(aggregates) => aggregates,
            Mode::Rows | Mode::Keys | Mode::Argument(_) => Vec::new(),
        };
        self.check_star(query, &sources, !aggregates.is_empty())?;
        let rank = self.rank(query)?;
        let mut bound = BoundQuery {
            sources,
            filter,
            grouping: None,
            projection,
            order,
            rank,
            distinct: query.select.distinct,
            offset: 0,
            limit: None,
        };
        if !keys.is_empty() || !aggregates.is_empty() {
            self.grouped(&mut bound, keys, aggregates, &row_slots)?;
        }
        self.check_order(query, &mut bound)?;
        (bound.offset, bound.limit) = self.window(query)?;
        if place != Place::Outermost {
            refuse_in_subquery(query)?;
        }
        Ok(bound)
    }

    /// What rows are grouped by: something of the rows, and of each row alone.
    fn group_keys(&mut self, keys: &[ast::Expr]) -> Result<Vec<Expr>, SqlError> {
        if let Some(key) = keys.get(GROUP_KEYS_MAX) {
            let what = "it groups by more than 1000 expressions";
            return Err(SqlError::too_complex(what, key.span));
        }
        let outer = std::mem::replace(&mut self.mode, Mode::Keys);
        let mut bound = Vec::with_capacity(keys.len());
        for key in keys {
            let expr = self.expr(key)?;
            if expr.constant().is_some() || !group::refers_to_a_row(&expr) {
                return Err(SqlError::group_by_constant(key.span));
            }
            bound.push(expr);
        }
        self.mode = outer;
        Ok(bound)
    }

    /// Puts the variables of the groups in the place of what is of the rows.
    fn grouped(
        &mut self,
        bound: &mut BoundQuery,
        keys: Vec<Expr>,
        aggregates: Vec<(Slot, AggregateKind, Expr)>,
        rows: &std::ops::Range<Slot>,
    ) -> Result<(), SqlError> {
        let keys: Vec<(Slot, Expr)> = keys.into_iter().map(|key| (self.new_slot(), key)).collect();
        let text = |span| self.text.at(span);
        let nothing = Projection::Object(Vec::new());
        let projection = std::mem::replace(&mut bound.projection, nothing);
        bound.projection = group::rewrite(projection, &keys, rows, &text)?;
        let paths: Vec<(Slot, Expr)> = keys
            .iter()
            .filter(|(_, key)| self.path(key).is_some() || group::is_path(key))
            .cloned()
            .collect();
        if keys.is_empty() {
            // There is one row: any path will do.
            bound.order.retain(|item| !group::is_path(&item.expr));
        }
        for item in &mut bound.order {
            item.expr = group::rewrite_order(item.expr.clone(), &paths, rows, &text)?;
        }
        bound.grouping = Some(Grouping { keys, aggregates });
        Ok(())
    }
}

/// Clauses that the service refuses inside another query.
fn refuse_in_subquery(query: &ast::Query) -> Result<(), SqlError> {
    match &query.order_by {
        ast::OrderBy::None => {}
        ast::OrderBy::Items(_, span) => return Err(SqlError::order_by_in_subquery(*span)),
        ast::OrderBy::Rank(by) => return Err(SqlError::rank_in_subquery(by.span)),
    }
    if let Some(top) = &query.select.top {
        return Err(SqlError::top_in_subquery(top.span));
    }
    match &query.window {
        Some(window) => Err(SqlError::offset_in_subquery(window.span)),
        None => Ok(()),
    }
}

/// A projection of one value, for those that need to look inside.
fn single_value(projection: &Projection) -> Option<&Expr> {
    match projection {
        Projection::Value(expr) => Some(expr),
        Projection::Object(_) => None,
    }
}
