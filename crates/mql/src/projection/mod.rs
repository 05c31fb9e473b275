//! Projections of `find`: which parts of a document are shown.

mod elem_match;
mod parse;
mod positional;
mod slice;

use std::sync::Arc;

use lapsedb_value::{Object, Str, Value};

use crate::Result;
use crate::expressions::{Beside, Env};
use crate::filter::{Match, Options};
use crate::stages::shape::Shape;

/// A projection that has been read and checked.
#[derive(Clone, Debug)]
pub struct Projection {
    /// What is kept, dropped and computed; nothing keeps all.
    shape: Option<Shape>,
    slices: Vec<slice::Slice>,
    /// Arrays reduced to one element where they are, in a projection that keeps what it does not name.
    elements: Vec<elem_match::ElementOf>,
    positional: Option<Vec<Str>>,
    /// What is known about a document besides itself, by the field that shows it.
    metas: Vec<(Vec<Str>, Meta)>,
    env: Arc<Env>,
}

/// What `$meta` can tell about a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meta {
    /// What the document was sorted by.
    SortKey,
    /// The number of the record; LapseDB shows none.
    RecordId,
    /// The entry of the index that led to the document; shown only where an index is forced.
    IndexKey,
    /// How well the texts of the document answer `$text`.
    TextScore,
    /// How far the place of the document is from that of `$near`.
    Distance,
}

impl Projection {
    /// Reads a projection.
    pub fn parse(spec: &Object, options: &Options) -> Result<Projection> {
        parse::parse(spec, options)
    }

    /// Whether documents are shown as they are.
    pub fn is_everything(&self) -> bool {
        self.shape.is_none()
            && self.slices.is_empty()
            && self.elements.is_empty()
            && self.positional.is_none()
            && self.metas.is_empty()
    }

    /// Whether the element that matched is needed.
    pub fn needs_position(&self) -> bool {
        self.positional.is_some()
    }

    /// The part of the document that is shown; `sort_key` is what it was sorted by, if it was.
    pub fn apply(
        &self,
        document: Object,
        found: Match,
        sort_key: Option<&[Value]>,
    ) -> Result<Object> {
        self.env.set_beside(Beside {
            score: found.score,
            distance: found.distance,
            point: None,
        });
        let before = self.positional.as_ref().map(|_| document.clone());
        let mut shown = match &self.shape {
            Some(shape) => shape.apply(document, &self.env)?,
            None => document,
        };
        for slice in &self.slices {
            slice.apply(&mut shown);
        }
        for element in &self.elements {
            element.apply(&mut shown, &self.env)?;
        }
        if let (Some(path), Some(before)) = (&self.positional, &before) {
            positional::apply(path, before, &mut shown, found.position)?;
        }
        for (path, meta) in &self.metas {
            let value = match meta {
                Meta::SortKey => sort_key.map(|key| Value::Array(key.to_vec())),
                Meta::TextScore => found.score.map(Value::Double),
                Meta::Distance => found.distance.map(Value::Double),
                Meta::RecordId | Meta::IndexKey => None,
            };
            if let Some(value) = value {
                set_in(&mut shown, path, &value);
            }
        }
        Ok(shown)
    }
}

/// Sets a path in an object; in arrays on the way, in every element.
fn set_in(object: &mut Object, path: &[Str], value: &Value) {
    match path {
        [] => {}
        [last] => {
            object.insert(last.clone(), value.clone());
        }
        [first, rest @ ..] => match object.get_mut(first) {
            Some(inner) => set_below(inner, rest, value),
            None => {
                let mut inner = Value::Null;
                set_below(&mut inner, rest, value);
                object.insert(first.clone(), inner);
            }
        },
    }
}

fn set_below(holder: &mut Value, path: &[Str], value: &Value) {
    match holder {
        Value::Object(object) => set_in(object, path, value),
        Value::Array(elements) => elements
            .iter_mut()
            .for_each(|element| set_below(element, path, value)),
        other => {
            let mut object = Object::with_capacity(1);
            set_in(&mut object, path, value);
            *other = Value::Object(object);
        }
    }
}
