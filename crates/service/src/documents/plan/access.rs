//! How documents are found, for those who ask.

use lapsedb_store::index::named::NamedIndex;
use lapsedb_value::{Object, Str, Value};

use crate::documents::shell;

use super::candidates::Candidate;
use super::shown::shown_bounds;

/// How documents are found.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// There is no such collection.
    Nothing,
    /// All are looked at.
    Everything {
        /// The youngest first.
        reverse: bool,
    },
    /// So many by their `_id`.
    Ids(usize),
    /// By an index.
    Index(Box<IndexAccess>),
}

impl Access {
    /// In a few words, as records of commands say it.
    pub(crate) fn summary(&self) -> String {
        match self {
            Access::Nothing => "EOF".to_owned(),
            Access::Everything { .. } => "COLLSCAN".to_owned(),
            Access::Ids(1) => "IDHACK".to_owned(),
            Access::Ids(_) => "IXSCAN { _id: 1 }".to_owned(),
            Access::Index(index) => {
                let pattern = Value::Object(index.pattern.clone());
                format!("IXSCAN {}", shell::text(&pattern))
            }
        }
    }
}

/// How an index is read.
#[derive(Clone, Debug)]
pub(crate) struct IndexAccess {
    pub(crate) number: u32,
    pub(crate) name: Str,
    pub(crate) pattern: Object,
    pub(crate) multikey: bool,
    /// For each field the paths at which arrays stand.
    pub(crate) multikey_paths: Object,
    pub(crate) unique: bool,
    pub(crate) sparse: bool,
    pub(crate) partial: bool,
    pub(crate) collation: Option<Object>,
    pub(crate) reverse: bool,
    /// How many stretches are merged by what follows their beginnings.
    pub(crate) merged: usize,
    /// Whether documents need not be asked the filter again.
    pub(crate) exact: bool,
    pub(crate) bounds: Object,
}

impl Access {
    /// By an index over words.
    pub(crate) fn searched(index: &NamedIndex) -> Access {
        Access::Index(Box::new(IndexAccess {
            number: index.number,
            name: index.name.clone(),
            pattern: index.pattern(),
            multikey: true,
            multikey_paths: Object::new(),
            unique: false,
            sparse: index.sparse,
            partial: index.filter.is_some(),
            collation: None,
            reverse: false,
            merged: 1,
            exact: false,
            bounds: Object::new(),
        }))
    }

    pub(super) fn index(candidate: &Candidate<'_>, reverse: bool, merged: usize) -> Access {
        let index = candidate.index;
        let mut pattern = index.pattern();
        let mut paths = Object::with_capacity(index.parts.len());
        match &candidate.bounds.wild {
            Some(path) => {
                pattern = Object::with_capacity(2);
                for name in ["$_path", path] {
                    pattern.push(name, 1);
                    paths.push(name, Value::Array(Vec::new()));
                }
            }
            None => {
                for (at, part) in index.parts.iter().enumerate() {
                    let arrays = candidate.notes.arrays_of(at).into_iter();
                    let arrays = arrays.map(|names| {
                        let names: Vec<&str> = part.path.split('.').take(names).collect();
                        Value::from(names.join("."))
                    });
                    paths.push(part.path.clone(), Value::Array(arrays.collect()));
                }
            }
        }
        Access::Index(Box::new(IndexAccess {
            number: index.number,
            name: index.name.clone(),
            pattern,
            multikey: candidate.notes.multikey,
            multikey_paths: paths,
            unique: index.unique || index.name == crate::documents::indexes::ID_INDEX,
            sparse: index.sparse,
            partial: index.filter.is_some(),
            collation: index.collation().cloned(),
            reverse,
            merged,
            exact: candidate.exact,
            bounds: shown_bounds(candidate, reverse),
        }))
    }
}
