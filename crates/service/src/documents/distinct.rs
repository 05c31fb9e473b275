//! The different values at a path.

use lapsedb_mql::distinct::values;
use lapsedb_mql::filter::FieldPath;
use lapsedb_value::order::{compare_bson, equal_bson};
use lapsedb_value::{Object, Value};

use crate::charge::{self, QueryWork};
use crate::documents::DOCUMENT_BYTES_MAX;
use crate::documents::fault::{Fault, Result};
use crate::documents::language::Terms;
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;

/// Documents looked at between two looks at the clock.
const STEP_ROWS: usize = 256;
/// Code of an answer that is too large for one document.
const TOO_BIG: i32 = 17_217;

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Distinct {
    /// The path.
    pub key: String,
    /// In which documents.
    pub filter: Object,
    /// How texts compare and which variables there are.
    pub terms: Terms,
}

/// The different values, in order; arrays count by their elements.
///
/// # Errors
/// When the filter is wrong, its time is up, there are too many, or the engine fails.
pub async fn distinct(
    work: &mut Work,
    namespace: &Namespace,
    distinct: &Distinct,
) -> Result<Vec<Value>> {
    let language = distinct.terms.language(work, namespace).await?;
    let filter = language.filter(&distinct.filter)?;
    let look = Look::fresh(work, namespace).await?;
    let mut walk = language.walk(&look, &filter).await?;
    let mut found: Vec<Value> = Vec::new();
    let mut loaded = QueryWork::default();
    let mut bytes = 0;
    let path = FieldPath::new(&distinct.key);
    let folded = |value: &Value| match &language.options.collation {
        Some(collation) => collation.fold(value),
        None => value.clone(),
    };
    while !walk.ended() {
        work.in_time()?;
        for row in walk.next(&look, STEP_ROWS).await? {
            loaded.loaded_bytes += row.body.len();
            let document = row.document()?;
            if !filter.matches(&document)? {
                continue;
            }
            for value in values(&document, &path) {
                let place =
                    found.binary_search_by(|other| compare_bson(&folded(other), &folded(value)));
                if let Err(at) = place {
                    bytes += crate::cursors::encoded(&one(value)).len();
                    found.insert(at, value.clone());
                }
            }
            if bytes > DOCUMENT_BYTES_MAX {
                return Err(Fault::new(TOO_BIG, "distinct too big, 16mb cap"));
            }
        }
    }
    look.spend(&work.ctx, charge::query(loaded));
    debug_assert!(found.is_sorted_by(|a, b| !equal_bson(a, b)));
    Ok(found)
}

fn one(value: &Value) -> Object {
    let mut object = Object::with_capacity(1);
    object.push("", value.clone());
    object
}
