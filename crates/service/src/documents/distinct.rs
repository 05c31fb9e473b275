//! The different values at a path.

use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_mql::distinct::values;
use lapsedb_mql::filter::FieldPath;
use lapsedb_value::order::compare_bson;
use lapsedb_value::{Object, Value};

use crate::charge::{self, QueryWork};
use crate::documents::DOCUMENT_BYTES_MAX;
use crate::documents::fault::{Fault, Result};
use crate::documents::language::Terms;
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::views::{self, Resolved};
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
    let look = match Look::fresh(work, namespace).await {
        Ok(look) => look,
        Err(fault) => {
            return match views::resolved(work, namespace).await? {
                Some(resolved) => through(work, &resolved, distinct).await,
                None => Err(fault),
            };
        }
    };
    let mut walk = language.walk(&look, &filter).await?;
    let mut loaded = QueryWork::default();
    let mut found = Found::new(&distinct.key, language.options.collation.clone());
    while !walk.ended() {
        work.in_time().await?;
        for row in walk.next(&look, STEP_ROWS).await? {
            loaded.loaded_bytes += row.body.len();
            let document = row.document()?;
            if !filter.matches(&document)? {
                continue;
            }
            found.add(&document)?;
        }
    }
    look.spend(&work.ctx, charge::query(loaded));
    Ok(found.values)
}

/// The different values in what a view shows.
async fn through(work: &Work, resolved: &Resolved, distinct: &Distinct) -> Result<Vec<Value>> {
    let stages = views::filtered(&distinct.filter);
    let collation = resolved.parsed()?.map(Arc::new);
    let mut found = Found::new(&distinct.key, collation);
    let (documents, _held) = views::documents(work, resolved, &stages, &distinct.terms).await?;
    for document in documents {
        found.add(&document)?;
    }
    Ok(found.values)
}

/// The values found so far, in order.
struct Found {
    path: FieldPath,
    collation: Option<Arc<Collation>>,
    values: Vec<Value>,
    bytes: usize,
}

impl Found {
    fn new(key: &str, collation: Option<Arc<Collation>>) -> Found {
        Found {
            path: FieldPath::new(key),
            collation,
            values: Vec::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, document: &Object) -> Result<()> {
        let folded = |value: &Value| match &self.collation {
            Some(collation) => collation.fold(value),
            None => value.clone(),
        };
        for value in values(document, &self.path) {
            let place = self
                .values
                .binary_search_by(|other| compare_bson(&folded(other), &folded(value)));
            if let Err(at) = place {
                self.bytes += crate::cursors::encoded(&one(value)).len();
                self.values.insert(at, value.clone());
            }
        }
        match self.bytes > DOCUMENT_BYTES_MAX {
            true => Err(Fault::new(TOO_BIG, "distinct too big, 16mb cap")),
            false => Ok(()),
        }
    }
}

fn one(value: &Value) -> Object {
    let mut object = Object::with_capacity(1);
    object.push("", value.clone());
    object
}
