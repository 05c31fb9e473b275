//! The condition of a conditional patch.

use lapsedb_value::Value;

use crate::bound::{self, Bound};
use crate::error::SqlError;
use crate::eval::Env;
use crate::exec::Executor;
use crate::params::Params;
use crate::parser;
use crate::plan::{BoundSource, SourceKind};

/// A condition on one document: `from c where c.n = 5`.
#[derive(Clone, Debug)]
pub struct Condition {
    bound: Bound,
}

/// Reads the tail of a query from `FROM` on.
pub fn parse_condition(text: &str) -> Result<Condition, SqlError> {
    let bound = bound::bind(&parser::parse_tail(text)?, &Params::new())?;
    Ok(Condition { bound })
}

impl Condition {
    /// Whether the document satisfies the condition: whether the query would find it.
    pub fn holds(&self, document: &Value, env: &Env<'_>) -> Result<bool, SqlError> {
        let mut executor = Executor::new(&self.bound, *env);
        if let [
            BoundSource {
                kind: SourceKind::Container,
                ..
            },
        ] = self.bound.query().sources.as_slice()
        {
            return executor.keeps(document);
        }
        executor.push(document.clone())?;
        Ok(!executor.finish()?.is_empty())
    }
}
