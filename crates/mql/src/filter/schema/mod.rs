//! `$jsonSchema`: documents by their structure.

mod parse;

use lapsedb_value::bson::kind;
use lapsedb_value::order::{compare_numbers, equal_bson};
use lapsedb_value::{Budget, Object, Str, Value};

use super::operators::type_is::TypeIs;
use crate::Result;
use crate::pattern::Pattern;

/// A schema that has been read and checked. Each part speaks only of values of its own kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    types: Option<TypeIs>,
    values: Option<Vec<Value>>,
    minimum: Option<Limit>,
    maximum: Option<Limit>,
    multiple_of: Option<Value>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    pattern: Option<Pattern>,
    min_items: Option<usize>,
    max_items: Option<usize>,
    unique_items: bool,
    items: Items,
    additional_items: Additional,
    min_properties: Option<usize>,
    max_properties: Option<usize>,
    required: Vec<Str>,
    properties: Vec<(Str, Schema)>,
    pattern_properties: Vec<(Pattern, Schema)>,
    additional_properties: Additional,
    dependencies: Vec<(Str, Dependency)>,
    all_of: Vec<Schema>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    not: Option<Box<Schema>>,
}

/// A bound of numbers, and whether it is itself allowed.
#[derive(Clone, Debug)]
struct Limit {
    value: Value,
    exclusive: bool,
}

/// What elements of arrays must fulfil.
#[derive(Clone, Debug, Default)]
enum Items {
    #[default]
    Any,
    Each(Box<Schema>),
    ByPosition(Vec<Schema>),
}

/// What is said about members and elements that are not named.
#[derive(Clone, Debug, Default)]
enum Additional {
    #[default]
    Allowed,
    Refused,
    Fulfil(Box<Schema>),
}

/// What must hold if a member is there.
#[derive(Clone, Debug)]
enum Dependency {
    Members(Vec<Str>),
    Fulfil(Box<Schema>),
}

impl Schema {
    /// Reads a schema.
    pub(crate) fn parse(schema: &Value) -> Result<Schema> {
        parse::parse(schema)
    }

    /// Whether the whole document fulfils it.
    pub(crate) fn matches(&self, document: &Object) -> bool {
        self.types
            .as_ref()
            .is_none_or(|types| types.numbers.contains(&i32::from(kind::DOCUMENT)))
            && self.is_listed(|known| match known {
                Value::Object(known) => equal_objects(known, document),
                _ => false,
            })
            && self.accepts_members(document)
            && self.combines(&|schema| schema.matches(document))
    }

    /// Whether a value fulfils it.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.types.as_ref().is_none_or(|types| types.matches(value))
            && self.is_listed(|known| equal_bson(known, value))
            && self.accepts_number(value)
            && self.accepts_text(value)
            && self.accepts_array(value)
            && value
                .as_object()
                .is_none_or(|object| self.accepts_members(object))
            && self.combines(&|schema| schema.accepts(value))
    }

    fn is_listed(&self, equals: impl Fn(&Value) -> bool) -> bool {
        self.values
            .as_ref()
            .is_none_or(|values| values.iter().any(equals))
    }

    /// What the schemas within this one say together.
    fn combines(&self, accepts: &dyn Fn(&Schema) -> bool) -> bool {
        let all = self.all_of.iter().all(accepts);
        let any = self.any_of.is_empty() || self.any_of.iter().any(accepts);
        let one = self.one_of.is_empty()
            || self.one_of.iter().filter(|schema| accepts(schema)).count() == 1;
        all && any && one && self.not.as_ref().is_none_or(|schema| !accepts(schema))
    }

    fn accepts_number(&self, value: &Value) -> bool {
        let order = |limit: &Limit| compare_numbers(value, &limit.value);
        let above = self.minimum.as_ref().is_none_or(|limit| {
            order(limit).is_none_or(|order| order.is_gt() || (order.is_eq() && !limit.exclusive))
        });
        let below = self.maximum.as_ref().is_none_or(|limit| {
            order(limit).is_none_or(|order| order.is_lt() || (order.is_eq() && !limit.exclusive))
        });
        above
            && below
            && self
                .multiple_of
                .as_ref()
                .is_none_or(|of| is_multiple(value, of))
    }

    fn accepts_text(&self, value: &Value) -> bool {
        let Value::String(text) = value else {
            return true;
        };
        let length = || text.chars().count();
        self.min_length.is_none_or(|min| length() >= min)
            && self.max_length.is_none_or(|max| length() <= max)
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| holds(pattern, text))
    }

    fn accepts_array(&self, value: &Value) -> bool {
        let Value::Array(elements) = value else {
            return true;
        };
        let unique = || {
            let mut seen = elements.iter().enumerate();
            seen.all(|(at, element)| {
                !elements
                    .iter()
                    .take(at)
                    .any(|other| equal_bson(other, element))
            })
        };
        let fulfil = |element: &Value, additional: &Additional| match additional {
            Additional::Allowed => true,
            Additional::Refused => false,
            Additional::Fulfil(schema) => schema.accepts(element),
        };
        self.min_items.is_none_or(|min| elements.len() >= min)
            && self.max_items.is_none_or(|max| elements.len() <= max)
            && (!self.unique_items || unique())
            && match &self.items {
                Items::Any => true,
                Items::Each(schema) => elements.iter().all(|element| schema.accepts(element)),
                Items::ByPosition(schemas) => {
                    elements
                        .iter()
                        .enumerate()
                        .all(|(at, element)| match schemas.get(at) {
                            Some(schema) => schema.accepts(element),
                            None => fulfil(element, &self.additional_items),
                        })
                }
            }
    }

    fn accepts_members(&self, object: &Object) -> bool {
        self.min_properties.is_none_or(|min| object.len() >= min)
            && self.max_properties.is_none_or(|max| object.len() <= max)
            && self.required.iter().all(|name| object.contains_key(name))
            && object
                .iter()
                .all(|(name, member)| self.accepts_member(name, member))
            && self.dependencies.iter().all(|(name, dependency)| {
                !object.contains_key(name)
                    || match dependency {
                        Dependency::Members(names) => {
                            names.iter().all(|name| object.contains_key(name))
                        }
                        Dependency::Fulfil(schema) => schema.matches(object),
                    }
            })
    }

    fn accepts_member(&self, name: &str, member: &Value) -> bool {
        let named = self.properties.iter().find(|(known, _)| known == name);
        let mut known = named.is_some();
        if named.is_some_and(|(_, schema)| !schema.accepts(member)) {
            return false;
        }
        for (pattern, schema) in &self.pattern_properties {
            if holds(pattern, name) {
                known = true;
                if !schema.accepts(member) {
                    return false;
                }
            }
        }
        known
            || match &self.additional_properties {
                Additional::Allowed => true,
                Additional::Refused => false,
                Additional::Fulfil(schema) => schema.accepts(member),
            }
    }
}

/// Whether a number is a whole multiple; what is no number is not asked.
fn is_multiple(value: &Value, of: &Value) -> bool {
    use lapsedb_value::decimal128::Decimal128;
    let decimal = |value: &Value| match value {
        Value::Decimal128(bytes) => Some(Decimal128::from_bytes(bytes)),
        Value::Double(n) => Some(Decimal128::from_f64_wide(*n)),
        _ => value.as_i64().map(Decimal128::from),
    };
    match (decimal(value), decimal(of)) {
        (Some(value), Some(of)) => value.rem(of).is_zero(),
        _ => true,
    }
}

fn equal_objects(a: &Object, b: &Object) -> bool {
    let pairs = || a.iter().zip(b.iter());
    a.len() == b.len() && pairs().all(|((name, a), (other, b))| name == other && equal_bson(a, b))
}

/// Whether a text fulfils a pattern; one that is too long for it does not. Schemas speak of one document, which is small.
fn holds(pattern: &Pattern, text: &str) -> bool {
    pattern.is_match(text, &Budget::default()).unwrap_or(false)
}
