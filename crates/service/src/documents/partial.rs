//! What indexes ask of the query language, for the store, which knows none.

use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_store::index::named::{DocumentFilter, FilterCompiler, Fold, ReadFilter};
use lapsedb_value::{Object, Value};

use crate::documents::search::key_makers;

/// How the store reads the filter of a partial index and the collation of any, and makes keys of words.
pub(crate) fn partial_filters() -> FilterCompiler {
    let filters: ReadFilter = Arc::new(|expression, collation| {
        let options = Options {
            collation: read(collation)?,
            ..Options::default()
        };
        let filter = Filter::parse(expression, &options).map_err(|error| error.to_string())?;
        let matches: DocumentFilter =
            // The operators that a partial index allows never fail on a document.
            Arc::new(move |document: &Object| filter.matches(document).unwrap_or(false));
        Ok(matches)
    });
    FilterCompiler {
        filters,
        key_makers: key_makers(),
        folds: Arc::new(|collation| {
            let fold = |collation: Arc<Collation>| -> Fold {
                Arc::new(move |value: &Value| collation.fold(value))
            };
            Ok(read(Some(collation))?.map(fold))
        }),
    }
}

fn read(collation: Option<&Object>) -> Result<Option<Arc<Collation>>, String> {
    let Some(collation) = collation else {
        return Ok(None);
    };
    let collation = Collation::parse(collation).map_err(|error| error.to_string())?;
    Ok(collation.map(Arc::new))
}
