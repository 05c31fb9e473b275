//! Filters: which documents a command speaks of.

mod bounds;
mod equalities;
mod exact;
mod fields;
pub mod geo;
mod implies;
mod interval;
pub(crate) mod node;
mod normalize;
pub(crate) mod operators;
pub(crate) mod parse;
pub(crate) mod path;
mod pathless;
mod presence;
pub(crate) mod schema;
mod special;
mod tree;

use std::sync::Arc;

use lapsedb_value::{Object, Str, Value};

pub(crate) use equalities::{equalities, id_of};
pub use interval::{Edge, Interval};
pub use path::FieldPath;

use crate::Result;
use crate::collation::Collation;
use crate::expressions::{Env, Metas, Names};
use crate::text::{Search, TextSpec};
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
    /// The text index that `$text` asks, if there is one.
    pub text: Option<Arc<TextSpec>>,
    /// The text indexes of other collections, for pipelines that read them.
    pub texts: Vec<(Str, Arc<TextSpec>)>,
    /// What `$meta` can tell here.
    pub metas: Metas,
}

impl Options {
    /// What an expression may use besides the document.
    pub fn names(&self) -> Names {
        let names = self.env.names().with_metas(self.metas);
        names.with_collation(self.collation.clone())
    }

    /// The same for expressions behind a filter, which may leave something beside each document.
    #[must_use]
    pub fn behind(&self, filter: &Filter) -> Options {
        let mut options = self.clone();
        options.metas.text_score |= filter.text().is_some();
        options.metas.distance |= filter.near().is_some();
        options
    }

    /// The same for a pipeline over another collection of the database.
    pub(crate) fn of_collection(&self, name: &str) -> Options {
        let other = self.texts.iter().find(|(known, _)| known == name);
        Options {
            text: other.map(|(_, spec)| Arc::clone(spec)),
            metas: Metas::default(),
            ..self.clone()
        }
    }
}

/// A filter that has been read and checked.
#[derive(Clone, Debug)]
pub struct Filter {
    pub(crate) root: Node,
    options: Options,
}

/// The element of an array that made a document match, as `$` in updates and projections needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Match {
    /// Its position in the array.
    pub position: Option<usize>,
    /// How well the texts of the document answer `$text`.
    pub score: Option<f64>,
    /// How far its place is from that of `$near`.
    pub distance: Option<f64>,
}

impl Filter {
    /// Reads a filter.
    pub fn parse(filter: &Object, options: &Options) -> Result<Filter> {
        Ok(Filter {
            root: normalize::normalize(special::checked(Parser::new(options).object(filter)?)?),
            options: options.clone(),
        })
    }

    /// A filter that a document fulfils if it fulfils both.
    pub(crate) fn and(&self, other: &Filter) -> Filter {
        Filter {
            root: normalize::normalize(Node::And(vec![self.root.clone(), other.root.clone()])),
            options: self.options.clone(),
        }
    }

    /// How it compares texts.
    pub fn collation(&self) -> Option<&Collation> {
        self.options.collation.as_deref()
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
                score: run.score,
                distance: run.distance,
            })),
        }
    }

    /// What the filter asks of texts: `$text`.
    pub fn text(&self) -> Option<&Search> {
        special::text(&self.root)
    }

    /// Whether every document that the filter finds answers its `$text`.
    pub fn demands_text(&self) -> bool {
        match &self.root {
            Node::Text(_) => true,
            Node::And(parts) => parts.iter().any(|part| matches!(part, Node::Text(_))),
            _ => false,
        }
    }

    /// The one value that every document which the filter finds has at a path, or has in an array there.
    pub fn equal_to(&self, path: &str) -> Option<&Value> {
        special::equal_to(&self.root, path)
    }

    /// What the filter says about places that holds for every document it finds.
    pub fn places(&self) -> Vec<geo::Place<'_>> {
        special::places(&self.root)
    }

    /// The place at a distance that the filter sorts by: how far it is, and what stands there.
    pub(crate) fn nearest(&self, document: &Object) -> Option<(f64, Value)> {
        let (path, near) = self.near()?;
        node::nearest(path, near, Holder::Object(document))
            .map(|(distance, place)| (distance, place.clone()))
    }

    /// The same filter for places that are no farther than that.
    #[must_use]
    pub fn nearer_than(&self, radius: f64) -> Filter {
        let mut nearer = self.clone();
        special::limit_distance(&mut nearer.root, radius);
        nearer
    }

    /// A filter for places by their distance, within another one.
    pub(crate) fn near_within(
        path: &str,
        near: geo::Near,
        query: Option<Filter>,
        options: &Options,
    ) -> Result<Filter> {
        let mut parts = vec![Node::Field {
            path: FieldPath::new(path),
            test: operators::Test::Near(near),
        }];
        parts.extend(query.map(|query| query.root));
        Ok(Filter {
            root: normalize::normalize(special::checked(Node::And(parts))?),
            options: options.clone(),
        })
    }

    /// The filter as a tree of lines, as MongoDB shows it where it says why it has no plan.
    pub fn tree(&self) -> String {
        let mut tree = String::new();
        tree::write(&self.root, 0, &mut tree);
        tree
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
