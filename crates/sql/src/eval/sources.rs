//! `FROM` and `JOIN`: the cross product of all sources, one row at a time.

use lapsedb_value::Value;

use super::{Ctx, Scope, ScopeRef, eval};
use crate::error::SqlError;
use crate::exec::Pipeline;
use crate::plan::{BoundSource, SourceKind};

/// Whether more input can change the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Yes.
    More,
    /// No: `TOP` or `LIMIT` is satisfied.
    Done,
}

/// What takes the rows.
pub(crate) type Sink<'s> = dyn FnMut(ScopeRef<'_>) -> Result<Flow, SqlError> + 's;

/// Calls the sink with the variables of every row of the sources.
pub(crate) fn rows(
    ctx: &Ctx<'_>,
    sources: &[BoundSource],
    scope: ScopeRef<'_>,
    sink: &mut Sink<'_>,
) -> Result<Flow, SqlError> {
    let Some((source, rest)) = sources.split_first() else {
        return sink(scope);
    };
    match &source.kind {
        // The documents come from outside and are bound before this is called.
        SourceKind::Container | SourceKind::Feed(_) => Ok(Flow::More),
        SourceKind::Value(expr) => {
            let value = eval(ctx, expr, scope)?;
            values(ctx, source, &value, rest, scope, sink)
        }
        SourceKind::Rows(query) => {
            for row in Pipeline::run_nested(ctx, query, scope, None)? {
                if values(ctx, source, &row, rest, scope, sink)? == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
            Ok(Flow::More)
        }
    }
}

/// Binds the value, or each of its elements, and goes on to the next source.
pub(crate) fn values(
    ctx: &Ctx<'_>,
    source: &BoundSource,
    value: &Value,
    rest: &[BoundSource],
    scope: ScopeRef<'_>,
    sink: &mut Sink<'_>,
) -> Result<Flow, SqlError> {
    let elements = match value {
        Value::Array(elements) if source.iterates => elements.as_slice(),
        Value::Undefined => &[],
        _ if source.iterates => &[],
        value => std::slice::from_ref(value),
    };
    for value in elements {
        ctx.step()?;
        let inner = Scope::one(source.slot, value, scope);
        if rows(ctx, rest, Some(&inner), sink)? == Flow::Done {
            return Ok(Flow::Done);
        }
    }
    Ok(Flow::More)
}
