//! Expressions.

use std::collections::HashSet;

use lapsedb_value::{Str, Value};

use super::{Alias, Binder, Mode, Place};
use crate::ast;
use crate::computed::Property;
use crate::constant_set::ConstantSet;
use crate::error::SqlError;
use crate::eval;
use crate::functions;
use crate::plan::{
    AggregateKind, BoundQuery, Expr, ExprKind, Projection, Slot, SourceKind, SubqueryKind,
};
use crate::schema;
use crate::span::Span;

impl<'p> Binder<'p> {
    /// Resolves an expression, and computes it if nothing in it depends on a row.
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        let span = expr.span;
        let kind = match &expr.kind {
            ast::ExprKind::Subquery(kind, query) => return self.subquery(*kind, query, span),
            ast::ExprKind::Literal(value) => ExprKind::Constant(value.clone()),
            // A definition is made without values for them.
            ast::ExprKind::Parameter(name) if self.defining => {
                return Err(SqlError::unresolved(&format!("@{name}"), span));
            }
            ast::ExprKind::Parameter(name) => ExprKind::Constant(self.parameter(name)?),
            ast::ExprKind::Name(name) => self.name(name, span)?,
            ast::ExprKind::Member(base, name) => {
                ExprKind::Member(self.boxed(base)?, name.text.clone())
            }
            ast::ExprKind::Index(base, index) => self.index(base, index, span)?,
            ast::ExprKind::Array(items) => ExprKind::Array(self.list(items)?),
            ast::ExprKind::Object(members) => self.object(members)?,
            ast::ExprKind::Unary(op, operand) => ExprKind::Unary(*op, self.boxed(operand)?),
            ast::ExprKind::Binary(op, a, b) => {
                ExprKind::Binary(*op, self.boxed(a)?, self.boxed(b)?)
            }
            ast::ExprKind::Chain(first, rest) => self.chain(first, rest)?,
            ast::ExprKind::And(terms) => ExprKind::And(self.list(terms)?),
            ast::ExprKind::Or(terms) => ExprKind::Or(self.list(terms)?),
            ast::ExprKind::Coalesce(a, b) => ExprKind::Coalesce(self.boxed(a)?, self.boxed(b)?),
            ast::ExprKind::Conditional(a, b, c) => {
                ExprKind::Conditional(self.boxed(a)?, self.boxed(b)?, self.boxed(c)?)
            }
            ast::ExprKind::In {
                needle,
                list,
                negated,
            } => self.in_list(needle, list, *negated)?,
            ast::ExprKind::Between {
                value,
                low,
                high,
                negated,
            } => {
                let (value, low, high) = (self.boxed(value)?, self.boxed(low)?, self.boxed(high)?);
                ExprKind::Between {
                    value,
                    low,
                    high,
                    negated: *negated,
                }
            }
            ast::ExprKind::Like {
                value,
                pattern,
                escape,
                negated,
            } => ExprKind::Like {
                value: self.boxed(value)?,
                pattern: self.boxed(pattern)?,
                escape: escape.as_ref().map(escape_character).transpose()?,
                negated: *negated,
            },
            ast::ExprKind::Call {
                name,
                user_defined,
                args,
            } => self.call(name, *user_defined, args, span)?,
            ast::ExprKind::Let(name, value, body) => self.binding(name, value, body, span)?,
        };
        let mut expr = self.folded(Expr::new(kind, span));
        self.apply_schema(&mut expr)?;
        Ok(expr)
    }

    /// Puts in what the container's definition says of an expression. Apart from the recursion, whose stack is small.
    #[inline(never)]
    fn apply_schema(&mut self, expr: &mut Expr) -> Result<(), SqlError> {
        match &mut expr.kind {
            ExprKind::Member(base, name) => {
                if let Some((slot, property)) = self.computed_member(base, name) {
                    expr.kind = self.computed(slot, property)?;
                }
            }
            ExprKind::Call(function, args)
                if matches!(function.name, "VectorDistance" | "_VectorScore") =>
            {
                self.complete_vector_options(args, expr.span);
            }
            _ => {}
        }
        Ok(())
    }

    #[inline(never)]
    fn chain(
        &mut self,
        first: &ast::Expr,
        rest: &[(ast::BinaryOp, ast::Expr)],
    ) -> Result<ExprKind, SqlError> {
        let first = self.boxed(first)?;
        let rest = rest
            .iter()
            .map(|(op, operand)| Ok((*op, self.expr(operand)?)));
        Ok(ExprKind::Chain(
            first,
            rest.collect::<Result<_, SqlError>>()?,
        ))
    }

    /// `LET name = value IN body`
    #[inline(never)]
    fn binding(
        &mut self,
        name: &ast::Name,
        value: &ast::Expr,
        body: &ast::Expr,
        span: Span,
    ) -> Result<ExprKind, SqlError> {
        if self.ordering {
            return Err(SqlError::let_in_order_by(span));
        }
        let value = self.boxed(value)?;
        let slot = self.new_slot();
        if let Some(path) = self.path(&value) {
            self.origins.insert(slot, path);
        }
        self.scope.push(Alias {
            name: Some(name.text.clone()),
            slot,
        });
        self.ctx.charge(expr_bytes(&value))?;
        self.bindings.push((slot, value.as_ref().clone()));
        let body = self.boxed(body);
        self.bindings.pop();
        self.scope.pop();
        Ok(ExprKind::Let(slot, value, body?))
    }

    fn in_list(
        &mut self,
        needle: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
    ) -> Result<ExprKind, SqlError> {
        let (needle, list) = (self.boxed(needle)?, self.list(list)?);
        let set = ConstantSet::of(&list);
        Ok(ExprKind::In {
            needle,
            list,
            set,
            negated,
        })
    }

    fn boxed(&mut self, expr: &ast::Expr) -> Result<Box<Expr>, SqlError> {
        Ok(Box::new(self.expr(expr)?))
    }

    fn list(&mut self, exprs: &[ast::Expr]) -> Result<Vec<Expr>, SqlError> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn name(&self, name: &Str, span: Span) -> Result<ExprKind, SqlError> {
        match self.find(name) {
            Some(slot) => Ok(ExprKind::Slot(slot)),
            None => Err(SqlError::unresolved(name, span)),
        }
    }

    /// A member by its name or an element by its number: a literal or a parameter. What has to be computed is refused, as by
    /// the service, even if it is the same for every row.
    #[inline(never)]
    fn index(
        &mut self,
        base: &ast::Expr,
        index: &ast::Expr,
        span: Span,
    ) -> Result<ExprKind, SqlError> {
        let plain = is_plain(index);
        let (base, index) = (self.boxed(base)?, self.boxed(index)?);
        match index.constant().filter(|_| plain) {
            Some(Value::String(name)) => Ok(ExprKind::Member(base, name.clone())),
            Some(number) if number.as_f64().is_some() => Ok(ExprKind::Index(base, index)),
            Some(_) | None => Err(SqlError::member_indexer(span)),
        }
    }

    /// The expression that a computed property is.
    fn computed(&mut self, slot: Slot, property: &Property) -> Result<ExprKind, SqlError> {
        let alias = Alias {
            name: Some(property.alias.clone()),
            slot,
        };
        // A computed property sees the document and nothing else, not even other computed properties.
        let scope = std::mem::replace(&mut self.scope, vec![alias]);
        let schema = std::mem::replace(&mut self.schema, &schema::NONE);
        let expr = self.expr(&property.expr);
        (self.scope, self.schema) = (scope, schema);
        Ok(expr?.kind)
    }

    /// The computed property that a member is, and the variable that holds its document.
    fn computed_member(&self, base: &Expr, name: &str) -> Option<(Slot, &'p Property)> {
        match base.kind {
            ExprKind::Slot(slot) if self.origins.get(&slot).is_some_and(Vec::is_empty) => {
                Some((slot, self.schema.computed.get(name)?))
            }
            _ => None,
        }
    }

    /// The name of the computed property that an expression is, if it is one.
    pub(super) fn computed_name(&mut self, expr: &ast::Expr) -> Option<Str> {
        let (base, name) = match &expr.kind {
            ast::ExprKind::Member(base, name) => (base, &name.text),
            ast::ExprKind::Index(base, index) => match &index.kind {
                ast::ExprKind::Literal(Value::String(name)) => (base, name),
                _ => return None,
            },
            _ => return None,
        };
        let base = self.expr(base).ok()?;
        self.computed_member(&base, name)?;
        Some(name.clone())
    }

    fn object(&mut self, members: &[(ast::Name, ast::Expr)]) -> Result<ExprKind, SqlError> {
        let mut bound: Vec<(Str, Expr)> = Vec::with_capacity(members.len());
        let mut names = HashSet::with_capacity(members.len());
        for (name, expr) in members {
            if !names.insert(&name.text) {
                return Err(SqlError::property_twice(&name.text, name.span));
            }
            bound.push((name.text.clone(), self.expr(expr)?));
        }
        Ok(ExprKind::Object(bound))
    }

    #[inline(never)]
    pub(super) fn call(
        &mut self,
        name: &ast::Name,
        user_defined: bool,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<ExprKind, SqlError> {
        if user_defined {
            return self.user_function(name, args);
        }
        if let Some(kind) = AggregateKind::from_name(&name.text) {
            return self.aggregate(kind, &name.text, args, span);
        }
        let Some(function) = functions::find(&name.text) else {
            return Err(SqlError::unknown_function(&name.text, name.span));
        };
        if function.rank_only {
            return Err(SqlError::rank_only(function.name, span));
        }
        if !function.takes(args.len()) {
            return Err(SqlError::arity(
                &name.text,
                function.min,
                function.max,
                span,
            ));
        }
        if self.defining && !function.is_pure() {
            return Err(not_in_computed(function.name, span));
        }
        let args = self.list(args)?;
        if let Some(check) = function.check {
            check(&args, span)?;
        }
        Ok(ExprKind::Call(function, args))
    }

    /// What the query does not say of how vectors are compared, the container's policy says.
    fn complete_vector_options(&self, args: &mut Vec<Expr>, span: Span) {
        let said = match args.get(3) {
            Some(options) => options.constant().cloned(),
            None => Some(Value::Undefined),
        };
        let paths: Vec<_> = args.iter().take(2).map(|arg| self.path(arg)).collect();
        let Some(options) = said.and_then(|said| self.schema.vector_options(&paths, &said)) else {
            return;
        };
        args.truncate(3);
        while args.len() < 3 {
            args.push(Expr::new(ExprKind::Constant(Value::Bool(false)), span));
        }
        args.push(Expr::new(ExprKind::Constant(options), span));
    }

    /// There is no engine for scripts, so no user-defined function can exist: the query is planned, as by the service, and
    /// not run.
    #[inline(never)]
    fn user_function(
        &mut self,
        name: &ast::Name,
        args: &[ast::Expr],
    ) -> Result<ExprKind, SqlError> {
        if self.defining {
            return Err(not_in_computed(&name.text, name.span));
        }
        self.user_functions += 1;
        let error = SqlError::unknown_function(&format!("udf.{}", name.text), name.span);
        self.not_run.get_or_insert(error);
        Ok(ExprKind::UserFunction(name.text.clone(), self.list(args)?))
    }

    fn aggregate(
        &mut self,
        kind: AggregateKind,
        name: &str,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<ExprKind, SqlError> {
        let [argument] = args else {
            return Err(SqlError::arity(name, 1, Some(1), span));
        };
        let mut gathered = match std::mem::replace(&mut self.mode, Mode::Argument(span)) {
            Mode::Gathering(gathered) => gathered,
            Mode::Argument(outer) => return Err(SqlError::nested_aggregate(outer)),
            Mode::Keys => return Err(SqlError::group_by_aggregate(span)),
            Mode::Rows => return Err(SqlError::aggregate_in_where(span)),
        };
        self.first_aggregate.get_or_insert(span);
        let argument = self.expr(argument)?;
        let argument = self.with_bindings(argument)?;
        let slot = self.new_slot();
        gathered.push((slot, kind, argument));
        self.mode = Mode::Gathering(gathered);
        Ok(ExprKind::Slot(slot))
    }

    /// The argument of an aggregate is evaluated for each row, apart from the `LET`s of its query that it stands in: it takes
    /// copies of those along, which count.
    fn with_bindings(&self, argument: Expr) -> Result<Expr, SqlError> {
        let span = argument.span;
        let mut around = self.bindings.iter().rev();
        around.try_fold(argument, |argument, (slot, value)| {
            self.ctx.charge(expr_bytes(value))?;
            let kind = ExprKind::Let(*slot, Box::new(value.clone()), Box::new(argument));
            Ok(Expr::new(kind, span))
        })
    }

    #[inline(never)]
    fn subquery(
        &mut self,
        kind: SubqueryKind,
        query: &ast::Query,
        span: Span,
    ) -> Result<Expr, SqlError> {
        if matches!(self.mode, Mode::Keys) {
            return Err(SqlError::group_by_aggregate(span));
        }
        if self.defining {
            return Err(not_in_computed("A subquery", span));
        }
        let bound = self.query(query, Place::Nested)?;
        if kind == SubqueryKind::Scalar {
            if may_have_rows(&bound) {
                return Err(SqlError::cardinality(span));
            }
            if is_bare(&bound)
                && let Projection::Value(value) = bound.projection
            {
                // `(SELECT VALUE e)` is `e`.
                return Ok(value);
            }
        }
        let expr = Expr::new(ExprKind::Subquery(kind, Box::new(bound)), span);
        Ok(self.folded(expr))
    }
}

/// Bytes that an expression takes, near enough to limit copies of it.
fn expr_bytes(expr: &Expr) -> u64 {
    let mut bytes = size_of::<Expr>() as u64 + expr.constant().map_or(0, eval::weight);
    expr.each_part(&mut |part| bytes += expr_bytes(part));
    bytes
}

/// Whether a subquery may have several rows, whatever the data.
fn may_have_rows(query: &BoundQuery) -> bool {
    match &query.grouping {
        Some(grouping) => !grouping.keys.is_empty(),
        None => query.sources.iter().any(|source| {
            source.iterates
                || match &source.kind {
                    SourceKind::Rows(inner) | SourceKind::Feed(inner) => may_have_rows(inner),
                    SourceKind::Container | SourceKind::Value(_) => false,
                }
        }),
    }
}

/// Whether a subquery has nothing but its projection.
fn is_bare(query: &BoundQuery) -> bool {
    query.sources.is_empty()
        && query.filter.is_none()
        && query.grouping.is_none()
        && query.order.is_empty()
        && query.rank.is_none()
        && query.limit.is_none()
        && query.offset == 0
}

/// The only character of an escape.
fn escape_character(escape: &ast::Name) -> Result<char, SqlError> {
    let mut chars = escape.text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(SqlError::escape_character(&escape.text, escape.span)),
    }
}

fn not_in_computed(what: &str, span: Span) -> SqlError {
    // The service's code for this text is not known.
    let message = format!("{what} is not allowed in the query of a computed property.");
    SqlError::new("SC2001", message, span)
}

/// Whether an expression is a literal or a parameter; a negative number is a literal too.
fn is_plain(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Literal(_) | ast::ExprKind::Parameter(_) => true,
        ast::ExprKind::Unary(ast::UnaryOp::Minus, operand) => {
            matches!(operand.kind, ast::ExprKind::Literal(_))
        }
        _ => false,
    }
}
