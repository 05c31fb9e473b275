//! Filters: which documents a command speaks of.

mod bounds;
mod equalities;
mod fields;
pub mod geo;
pub(crate) mod node;
mod normalize;
pub(crate) mod operators;
pub(crate) mod parse;
pub(crate) mod path;
mod pathless;
mod schema;

use std::sync::Arc;

use lapsedb_value::{Object, Value};

pub use bounds::{Edge, Interval};
pub(crate) use equalities::{equalities, id_of};
pub use path::FieldPath;

use crate::Result;
use crate::collation::Collation;
use crate::expressions::Env;
use node::{Node, Run};
use parse::Parser;
use path::Holder;

/// What a filter depends on besides its text.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How text is compared; nothing means by bytes.
    pub collation: Option<Arc<Collation>>,
    /// The time, the variables and the random numbers of the command.
    pub env: Arc<Env>,
}

/// A filter that has been read and checked.
#[derive(Clone, Debug)]
pub struct Filter {
    pub(crate) root: Node,
    options: Options,
}

/// The element of an array that made a document match, as `$` in updates and projections needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Its position in the array.
    pub position: Option<usize>,
}

impl Filter {
    /// Reads a filter.
    pub fn parse(filter: &Object, options: &Options) -> Result<Filter> {
        Ok(Filter {
            root: normalize::normalize(Parser::new(options).object(filter)?),
            options: options.clone(),
        })
    }

    /// A filter that every document fulfils.
    pub fn everything() -> Filter {
        Filter {
            root: Node::And(Vec::new()),
            options: Options::default(),
        }
    }

    /// Whether every document fulfils it, known without looking at any.
    pub fn is_everything(&self) -> bool {
        matches!(&self.root, Node::And(parts) if parts.is_empty())
    }

    /// Whether the document fulfils it; an expression may fail over a document.
    pub fn matches(&self, document: &Object) -> Result<bool> {
        Ok(self.match_with_position(document)?.is_some())
    }

    /// Whether the document fulfils it, and by which element of an array.
    pub fn match_with_position(&self, document: &Object) -> Result<Option<Match>> {
        let mut run = Run::new(document, &self.options.env);
        let found = self.root.matches(Holder::Object(document), &mut run);
        match run.error {
            Some(error) => Err(error),
            None => Ok(found.then_some(Match {
                position: run.position,
            })),
        }
    }

    /// The field whose distance the filter sorts by, and how to measure it: `$near` and `$nearSphere`.
    pub fn near(&self) -> Option<(&FieldPath, &geo::Near)> {
        let mut parts = vec![&self.root];
        while let Some(node) = parts.pop() {
            match node {
                Node::And(inner) => parts.extend(inner),
                Node::Field {
                    path,
                    test: operators::Test::Near(near),
                } => return Some((path, near)),
                _ => {}
            }
        }
        None
    }

    /// Whether the filter holds for a document whose only member is the value under that name.
    pub(crate) fn matches_named(&self, name: &str, value: &Value) -> Result<bool> {
        let empty = Object::new();
        let mut run = Run::new(&empty, &self.options.env);
        let found = self.root.matches(Holder::Only(name, value), &mut run);
        match run.error {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }
}
