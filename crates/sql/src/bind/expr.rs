//! Expressions.

use std::collections::HashMap;

use lapsedb_value::{Str, Value};

use super::{Alias, Binder, Mode, Place};
use crate::ast;
use crate::computed::Property;
use crate::constant_set::ConstantSet;
use crate::error::SqlError;
use crate::functions;
use crate::plan::{AggregateKind, Expr, ExprKind, Slot, SubqueryKind};
use crate::schema;
use crate::span::Span;

impl<'p> Binder<'p> {
    /// Resolves an expression, and computes it if nothing in it depends on a row.
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        let span = expr.span;
        let kind = match &expr.kind {
            ast::ExprKind::Literal(value) => ExprKind::Constant(value.clone()),
            ast::ExprKind::Parameter(name) => ExprKind::Constant(self.parameter(name, span)?),
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
                escape: *escape,
                negated: *negated,
            },
            ast::ExprKind::Call {
                name,
                user_defined,
                args,
            } => self.call(name, *user_defined, args, span)?,
            ast::ExprKind::Subquery(kind, query) => self.subquery(*kind, query, span)?,
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
            ExprKind::Call(function, args) if function.name == "VectorDistance" => {
                self.complete_vector_options(args, expr.span);
            }
            _ => {}
        }
        Ok(())
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
            None if name == "NaN" => Ok(ExprKind::Constant(Value::Double(f64::NAN))),
            None if name == "Infinity" => Ok(ExprKind::Constant(Value::Double(f64::INFINITY))),
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

    /// Of members with the same name the last one counts.
    fn object(&mut self, members: &[(ast::Name, ast::Expr)]) -> Result<ExprKind, SqlError> {
        let mut bound: Vec<(Str, Expr)> = Vec::with_capacity(members.len());
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(members.len());
        for (name, expr) in members {
            let expr = self.expr(expr)?;
            match places
                .get(name.text.as_str())
                .and_then(|at| bound.get_mut(*at))
            {
                Some((_, old)) => *old = expr,
                None => {
                    places.insert(&name.text, bound.len());
                    bound.push((name.text.clone(), expr));
                }
            }
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
            // There is no engine for scripts, so no user-defined function can exist.
            return Err(SqlError::unknown_function(
                &format!("udf.{}", name.text),
                name.span,
            ));
        }
        if let Some(kind) = AggregateKind::from_name(&name.text) {
            return self.aggregate(kind, args, span);
        }
        let Some(function) = functions::find(&name.text) else {
            return Err(SqlError::unknown_function(&name.text, name.span));
        };
        if function.rank_only {
            let message = format!(
                "The {} function is only allowed in the ORDER BY RANK clause.",
                function.name
            );
            return Err(SqlError::new("SC2240", message, span));
        }
        if !function.takes(args.len()) {
            return Err(SqlError::arity(
                function.name,
                function.min,
                function.max,
                span,
            ));
        }
        if self.defining && !function.is_pure() {
            return Err(not_in_computed(function.name, span));
        }
        Ok(ExprKind::Call(function, self.list(args)?))
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

    fn aggregate(
        &mut self,
        kind: AggregateKind,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<ExprKind, SqlError> {
        let [argument] = args else {
            return Err(SqlError::arity(&kind.to_string(), 1, Some(1), span));
        };
        let gathered = match std::mem::replace(&mut self.mode, Mode::Argument) {
            Mode::Gathering(gathered) => gathered,
            Mode::Argument => return Err(SqlError::nested_aggregate(span)),
            Mode::Rows => {
                self.mode = Mode::Rows;
                // The service's code for this text is not known.
                let message = "Aggregate functions are only allowed in the SELECT clause.";
                return Err(SqlError::new("SC2101", message, span));
            }
        };
        let argument = self.expr(argument)?;
        let slot = self.new_slot();
        let mut gathered = gathered;
        gathered.push((slot, kind, argument));
        self.mode = Mode::Gathering(gathered);
        Ok(ExprKind::Slot(slot))
    }

    #[inline(never)]
    fn subquery(
        &mut self,
        kind: SubqueryKind,
        query: &ast::Query,
        span: Span,
    ) -> Result<ExprKind, SqlError> {
        if matches!(self.mode, Mode::Argument) {
            return Err(SqlError::nested_aggregate(span));
        }
        if self.defining {
            return Err(not_in_computed("A subquery", span));
        }
        Ok(ExprKind::Subquery(
            kind,
            Box::new(self.query(query, Place::Nested)?),
        ))
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
