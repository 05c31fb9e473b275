//! Wildcard indexes: an entry for every value at every path of a document, or of a part of it.
//!
//! An entry is made of the path as text and the value behind it. Arrays give one entry per element at the path of the array;
//! an array right inside an array stands as it is. An object has entries for its members, an empty one for itself.

use lapsedb_value::{Object, Str, Value};

use super::IndexPart;
use crate::index::bson_key::{self, Part};

/// The last name of a wildcard's path.
const WILD: &str = "$**";
/// Levels of nesting that are followed; a document has fewer.
const DEPTH_MAX: usize = 200;

/// Which paths a wildcard index holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wildcard {
    /// The path below which all is held; everything, if empty.
    below: Str,
    /// Paths that are held, or left out, if a projection says so.
    listed: Vec<Str>,
    includes: bool,
    with_id: bool,
}

/// Whether a path stands for all paths.
#[must_use]
pub fn is_wild(path: &str) -> bool {
    path == WILD || path.ends_with(".$**")
}

impl Wildcard {
    /// The wildcard of an index, if it has one and nothing else.
    pub(super) fn of(parts: &[IndexPart], options: &Object) -> Option<Wildcard> {
        let [part] = parts else { return None };
        if !is_wild(&part.path) {
            return None;
        }
        let below = part.path.strip_suffix(WILD)?.trim_end_matches('.');
        let projection = options.get("wildcardProjection").and_then(Value::as_object);
        let mut wildcard = Wildcard {
            below: below.into(),
            listed: Vec::new(),
            includes: false,
            with_id: false,
        };
        if let Some(projection) = projection {
            wildcard.project("", projection);
        }
        Some(wildcard)
    }

    fn project(&mut self, prefix: &str, projection: &Object) {
        for (name, value) in projection.iter() {
            let path = join(prefix, name);
            let truth = value.as_f64().map_or(value.as_bool(), |n| Some(n != 0.0));
            match (value, truth) {
                (Value::Object(inner), _) => self.project(&path, inner),
                (_, Some(truth)) if path == "_id" => self.with_id = truth,
                (_, truth) => {
                    self.includes = truth.unwrap_or(true);
                    self.listed.push(path.as_str().into());
                }
            }
        }
    }

    /// Whether all values at a path have entries.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        let inside = |outer: &str| {
            outer.is_empty()
                || path == outer
                || path
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.starts_with('.'))
        };
        let own_id = path == "_id" || path.starts_with("_id.");
        let listed = self.listed.iter().any(|outer| inside(outer));
        let wanted = match () {
            () if self.below.is_empty() && own_id => self.with_id,
            () if self.listed.is_empty() => true,
            () => listed == self.includes,
        };
        wanted && inside(&self.below)
    }

    /// The entries of a document without their index, and whether an array was met.
    pub(super) fn stems(&self, document: &Object, fold: Option<&super::Fold>) -> Stems {
        let mut walk = Walk {
            wildcard: self,
            fold,
            stems: Stems::default(),
        };
        walk.object("", document, 0);
        walk.stems
    }
}

/// The bytes with which all entries at a path begin.
#[must_use]
pub fn path_prefix(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len() + 1);
    bson_key::push_name(path, &mut bytes);
    bytes
}

/// Entries of one document.
#[derive(Default)]
pub(super) struct Stems {
    pub(super) keys: Vec<Vec<u8>>,
    pub(super) multikey: bool,
}

struct Walk<'a> {
    wildcard: &'a Wildcard,
    fold: Option<&'a super::Fold>,
    stems: Stems,
}

impl Walk<'_> {
    fn object(&mut self, path: &str, object: &Object, depth: usize) {
        for (name, value) in object.iter() {
            self.value(&join(path, name), value, depth + 1, true);
        }
    }

    fn value(&mut self, path: &str, value: &Value, depth: usize, expands: bool) {
        match value {
            Value::Object(inner) if !inner.is_empty() && depth < DEPTH_MAX => {
                self.object(path, inner, depth);
            }
            Value::Array(elements) if expands => {
                self.stems.multikey = true;
                if elements.is_empty() {
                    self.emit(path, Part::Empty);
                }
                for element in elements {
                    self.value(path, element, depth + 1, false);
                }
            }
            leaf => match self.fold {
                Some(fold) => self.emit(path, Part::Value(&fold(leaf))),
                None => self.emit(path, Part::Value(leaf)),
            },
        }
    }

    fn emit(&mut self, path: &str, part: Part<'_>) {
        if self.wildcard.covers(path) {
            let mut key = path_prefix(path);
            bson_key::push_part(part, false, &mut key);
            self.stems.keys.push(key);
        }
    }
}

fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::index::named::parts;

    fn object(text: &str) -> Object {
        let limits = &lapsedb_value::json::Limits::DEFAULT;
        let value = lapsedb_value::json::parse(text.as_bytes(), limits).unwrap();
        value.into_object().unwrap()
    }

    fn wildcard(key: &str, options: &str) -> Wildcard {
        Wildcard::of(&parts(&object(key)), &object(options)).unwrap()
    }

    #[test]
    fn it_covers_what_its_path_and_its_projection_say() {
        let all = wildcard(r#"{"$**":1}"#, "{}");
        assert!(all.covers("a") && all.covers("a.b") && !all.covers("_id"));
        let below = wildcard(r#"{"a.b.$**":1}"#, "{}");
        assert!(below.covers("a.b") && below.covers("a.b.c"));
        assert!(!below.covers("a") && !below.covers("a.bc"));
        let some = wildcard(r#"{"$**":1}"#, r#"{"wildcardProjection":{"a":1,"_id":1}}"#);
        assert!(some.covers("a.b") && some.covers("_id") && !some.covers("c"));
        let others = wildcard(r#"{"$**":1}"#, r#"{"wildcardProjection":{"a":0}}"#);
        assert!(!others.covers("a.b") && others.covers("c"));
        let two = parts(&object(r#"{"$**":1,"a":1}"#));
        assert!(Wildcard::of(&two, &Object::new()).is_none());
    }

    #[test]
    fn every_value_has_an_entry_at_its_path() {
        let document = object(r#"{"_id":1,"a":{"b":[1,{"c":2},[3]],"e":{}},"d":[]}"#);
        let stems = wildcard(r#"{"$**":1}"#, "{}").stems(&document, None);
        assert!(stems.multikey);
        let mut expected = Vec::new();
        let mut expect = |path: &str, part: Part<'_>| {
            let mut key = path_prefix(path);
            bson_key::push_part(part, false, &mut key);
            expected.push(key);
        };
        expect("a.b", Part::Value(&Value::Int32(1)));
        expect("a.b.c", Part::Value(&Value::Int32(2)));
        let nested = Value::Array(vec![Value::Int32(3)]);
        expect("a.b", Part::Value(&nested));
        expect("a.e", Part::Value(&Value::Object(Object::new())));
        expect("d", Part::Empty);
        assert_eq!(stems.keys, expected);
    }
}
