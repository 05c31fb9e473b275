//! The SQL of Cosmos DB for NoSQL: text to syntax tree, to a checked query, to rows.
//!
//! Knows no storage, no protocol and no clock: documents are pushed in as values, and the time comes in
//! with the [`Env`]. Nothing here panics on input, and nothing runs or grows without a limit (see
//! [`limits`]).
//!
//! ```
//! use lapsedb_sql::{Params, run};
//! let rows = run("SELECT VALUE 1 + 1", &Params::new(), std::iter::empty(), 0).unwrap();
//! assert_eq!(rows[0].as_i64(), Some(2));
//! ```

mod access;
pub mod ast;
mod bind;
mod bound;
mod composition;
mod computed;
mod condition;
mod constant_set;
pub mod error;
mod eval;
mod exec;
mod filter_paths;
pub mod functions;
pub mod fuzz;
mod keyword;
mod lexer;
pub mod limits;
mod params;
mod parser;
mod partition;
pub mod plan;
mod print;
mod schema;
mod sequence;
mod span;
mod stack;

pub use access::IndexOf;
pub use ast::Query;
pub use bound::{Bound, bind, bind_with};
pub use computed::Computed;
pub use condition::{Condition, parse_condition};
pub use constant_set::ConstantSet;
pub use error::SqlError;
pub use eval::{Env, Flow};
pub use exec::{Executor, Progress, Row};
pub use filter_paths::Comparison;
pub use keyword::Keyword;
pub use params::Params;
pub use parser::parse;
pub use partition::PartitionFilter;
pub use schema::Schema;
pub use span::Span;

use lapsedb_value::Value;

/// Runs a query over all documents and returns all rows.
pub fn run(
    text: &str,
    params: &Params,
    documents: impl IntoIterator<Item = Value>,
    now_ms: i64,
) -> Result<Vec<Value>, SqlError> {
    let bound = bind(&parse(text)?, params)?;
    bound.check_runs()?;
    let mut executor = Executor::new(&bound, Env::new(now_ms));
    let mut rows = Vec::new();
    if bound.reads_documents() {
        for document in documents {
            let flow = executor.push(document)?;
            rows.append(&mut executor.take_rows());
            if flow == Flow::Done {
                break;
            }
        }
    }
    rows.append(&mut executor.finish()?);
    Ok(rows)
}
