//! `$slice`: some elements of an array.

use lapsedb_value::{Object, Str, Value};

use crate::expressions::numeric::Num;

/// A path to arrays, and which elements of them are shown.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    path: Vec<Str>,
    skip: Option<i64>,
    limit: i64,
}

impl Slice {
    /// Reads `n` or `[skip, limit]`; nothing if it is neither.
    pub(super) fn parse(path: &[Str], argument: &Value) -> Option<Slice> {
        let number = |value: &Value| Num::of(value).and_then(truncated);
        let (skip, limit) = match argument {
            Value::Array(pair) => match pair.as_slice() {
                [skip, limit] => (
                    Some(number(skip)?),
                    number(limit).filter(|limit| *limit > 0)?,
                ),
                _ => return None,
            },
            single => (None, number(single)?),
        };
        Some(Slice {
            path: path.to_vec(),
            skip,
            limit,
        })
    }

    pub(super) fn apply(&self, document: &mut Object) {
        self.object(document, &self.path);
    }

    fn object(&self, object: &mut Object, path: &[Str]) {
        let [name, rest @ ..] = path else {
            return;
        };
        if let Some(value) = object.get_mut(name) {
            self.value(value, rest);
        }
    }

    fn value(&self, value: &mut Value, rest: &[Str]) {
        match value {
            Value::Array(elements) if rest.is_empty() => self.cut(elements),
            Value::Array(elements) => {
                for element in elements {
                    self.value(element, rest);
                }
            }
            Value::Object(object) => self.object(object, rest),
            _ => {}
        }
    }

    /// A negative skip or a lone negative limit counts from the end.
    fn cut(&self, elements: &mut Vec<Value>) {
        let length = elements.len() as i64;
        let (start, count) = match self.skip {
            Some(skip) if skip < 0 => ((length.saturating_add(skip)).max(0), self.limit),
            Some(skip) => (skip.min(length), self.limit),
            None if self.limit < 0 => ((length.saturating_add(self.limit)).max(0), length),
            None => (0, self.limit),
        };
        let end = start.saturating_add(count).min(length);
        let (start, end) = (
            usize::try_from(start).unwrap_or_default(),
            usize::try_from(end).unwrap_or_default(),
        );
        elements.truncate(end);
        elements.drain(..start.min(elements.len()));
    }
}

/// The number without its fraction; what does not fit counts as the furthest there is.
fn truncated(number: Num) -> Option<i64> {
    let n = number.to_f64();
    (!n.is_nan()).then_some(n as i64)
}
