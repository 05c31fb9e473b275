//! Why a document does not fulfil a validator: the parts that failed, each with the values that were considered.
//!
//! A filter only says no. Who wants to know why takes it apart again: every part is asked by itself, and those that gave
//! the wrong answer are described, the way MongoDB shows them in `errInfo.details`.

mod clause;
mod schema;

use lapsedb_value::{Object, Value};

use crate::Result;
use crate::filter::{Filter, Options};

use clause::{Clause, clauses};

/// A filter as a collection's documents are held to it.
#[derive(Clone, Debug)]
pub struct Validator {
    text: Object,
    filter: Filter,
    options: Options,
}

impl Validator {
    /// Reads a validator; what needs an index or runs scripts is refused.
    pub fn parse(text: &Object, options: &Options) -> Result<Validator> {
        clause::check(text)?;
        Ok(Validator {
            text: text.clone(),
            filter: Filter::parse(text, options)?,
            options: options.clone(),
        })
    }

    /// Whether a document fulfils it. One over which an expression fails does not.
    pub fn accepts(&self, document: &Object) -> bool {
        self.filter.matches(document).unwrap_or(false)
    }

    /// Why a document does not fulfil it.
    pub fn explain(&self, document: &Object) -> Object {
        let asked = Asked {
            document,
            options: &self.options,
        };
        asked.filter(&self.text, false)
    }
}

/// A document that is asked.
struct Asked<'a> {
    document: &'a Object,
    options: &'a Options,
}

impl Asked<'_> {
    /// Describes a whole filter: why it failed, or, inverted, why it did not.
    fn filter(&self, filter: &Object, inverted: bool) -> Object {
        let mut parts = clauses(filter);
        match (parts.len(), parts.pop()) {
            (1, Some(only)) => self.clause(&only, inverted),
            (_, last) => {
                parts.extend(last);
                self.list("$and", &parts, inverted, inverted)
            }
        }
    }

    fn clause(&self, clause: &Clause<'_>, inverted: bool) -> Object {
        match clause {
            Clause::List(name, filters) => {
                let parts: Vec<_> = filters
                    .iter()
                    .filter_map(Value::as_object)
                    .map(Clause::Whole)
                    .collect();
                // Of what none may hold, those that hold are at fault.
                let shows_satisfied = inverted != (*name == "$nor");
                self.list(name, &parts, inverted, shows_satisfied)
            }
            Clause::Whole(filter) => self.filter(filter, inverted),
            Clause::Not(field, inner) => {
                let mut filter = Object::with_capacity(1);
                filter.push(*field, (*inner).clone());
                let mut details = named("$not");
                details.push("details", Value::Object(self.filter(&filter, !inverted)));
                details
            }
            Clause::Schema(schema) => self.schema(schema, inverted),
            Clause::Leaf(leaf) => leaf.describe(self, inverted),
        }
    }

    fn list(
        &self,
        name: &str,
        parts: &[Clause<'_>],
        inverted: bool,
        shows_satisfied: bool,
    ) -> Object {
        let inner = inverted != (name == "$nor");
        let mut shown = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if self.holds(&part.text()) != shows_satisfied {
                continue;
            }
            let mut one = Object::with_capacity(2);
            one.push("index", i32::try_from(index).unwrap_or(i32::MAX));
            one.push("details", Value::Object(self.clause(part, inner)));
            shown.push(Value::Object(one));
        }
        let mut details = named(name);
        let list = match shows_satisfied {
            true => "clausesSatisfied",
            false => "clausesNotSatisfied",
        };
        details.push(list, Value::Array(shown));
        details
    }

    fn holds(&self, filter: &Object) -> bool {
        let filter = Filter::parse(filter, self.options);
        filter.is_ok_and(|filter| filter.matches(self.document).unwrap_or(false))
    }

    fn schema(&self, schema: &Object, inverted: bool) -> Object {
        let mut details = named("$jsonSchema");
        if inverted {
            details.push("reason", "schema matched");
            return details;
        }
        schema::push_annotations(schema, &mut details);
        let document = Value::Object(self.document.clone());
        let rules = schema::failed(schema, &document);
        details.push("schemaRulesNotSatisfied", Value::Array(rules));
        details
    }
}

/// A description that begins with an operator's name.
fn named(operator: &str) -> Object {
    let mut details = Object::with_capacity(6);
    details.push("operatorName", operator);
    details
}
