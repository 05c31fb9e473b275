//! Reads of a document only what is asked of it: most of a long one is never looked at by a filter or an order.

use lapsedb_mql::stages::Pipeline;
use lapsedb_value::{Object, Str, bson};

use crate::documents::fault::Result;
use crate::documents::language::{Filter, Sort};

/// Which of a document's members are looked at.
#[derive(Clone, Debug)]
pub(crate) struct Needed(Option<Vec<Str>>);

impl Needed {
    /// Those that a filter looks at.
    pub(crate) fn by(filter: &Filter) -> Needed {
        Needed(filter.fields())
    }

    /// Those that a pipeline looks at.
    pub(crate) fn by_pipeline(pipeline: &Pipeline) -> Needed {
        Needed(pipeline.fields())
    }

    /// Whether only the number of documents matters.
    pub(crate) fn is_nothing(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }

    /// Those and the ones that an order looks at.
    pub(crate) fn and_by(mut self, sort: &Sort) -> Needed {
        if let Some(names) = &mut self.0 {
            let first = |path: &str| Str::new(path.split('.').next().unwrap_or(path));
            names.extend(sort.fields().map(|(path, _)| first(path)));
        }
        self
    }

    /// These members of a document; perhaps others too.
    pub(crate) fn read(&self, body: &[u8]) -> Result<Object> {
        Ok(match &self.0 {
            None => bson::read_document(body)?,
            Some(names) => bson::read_members(body, names)?,
        })
    }
}
