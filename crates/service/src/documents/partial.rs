//! What indexes ask of the query language, for the store, which knows none.

use std::sync::Arc;

use lapsedb_mql::filter::{Filter, Options};
use lapsedb_store::index::named::{DocumentFilter, FilterCompiler};
use lapsedb_value::Object;

use crate::documents::search::key_makers;

/// How the store reads the filter of a partial index, and makes keys of words.
pub(crate) fn partial_filters() -> FilterCompiler {
    let filters = Arc::new(|expression: &Object| {
        let filter = Filter::parse(expression, &Options::default());
        let filter = filter.map_err(|error| error.to_string())?;
        let matches: DocumentFilter =
            // The operators that a partial index allows never fail on a document.
            Arc::new(move |document: &Object| filter.matches(document).unwrap_or(false));
        Ok(matches)
    });
    FilterCompiler {
        filters,
        key_makers: key_makers(),
    }
}
