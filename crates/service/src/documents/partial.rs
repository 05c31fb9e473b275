//! Filters of partial indexes, for the store, which knows no query language.

use std::sync::Arc;

use lapsedb_mql::filter::{Filter, Options};
use lapsedb_store::index::named::{DocumentFilter, FilterCompiler};
use lapsedb_value::Object;

/// How the store reads the filter of a partial index.
pub(crate) fn partial_filters() -> FilterCompiler {
    Arc::new(|expression: &Object| {
        let filter = Filter::parse(expression, &Options::default());
        let filter = filter.map_err(|error| error.to_string())?;
        let matches: DocumentFilter =
            // The operators that a partial index allows never fail on a document.
            Arc::new(move |document: &Object| filter.matches(document).unwrap_or(false));
        Ok(matches)
    })
}
