//! Whether whatever fulfils one filter fulfils another: then a partial index holds all that the first can find.

use lapsedb_value::Value;

use super::Filter;
use super::bounds::of_test;
use super::exact::is_exact;
use super::interval::{Interval, is_within};
use super::node::Node;
use super::operators::Test;
use super::operators::compare::{Compare, Op};
use super::operators::elem_match::ElemMatch;
use super::path::position;
use super::presence::demands;

impl Filter {
    /// Whether every document that fulfils this one fulfils the other. Where that cannot be seen, it says no.
    pub fn implies(&self, other: &Filter) -> bool {
        let collation = |filter: &Filter| filter.options.collation.clone();
        let asked = Asked {
            collated: self.options.collation.is_some(),
            same: collation(self) == collation(other),
        };
        asked.implies(&self.root, &other.root)
    }
}

#[derive(Clone, Copy)]
struct Asked {
    collated: bool,
    /// Whether both compare texts alike.
    same: bool,
}

impl Asked {
    fn implies(self, given: &Node, wanted: &Node) -> bool {
        match (given, wanted) {
            (Node::Never, _) => true,
            (_, Node::And(parts)) => parts.iter().all(|part| self.implies(given, part)),
            (Node::Or(branches), _) => branches.iter().all(|one| self.implies(one, wanted)),
            (_, Node::Or(parts)) => parts.iter().any(|part| self.implies(given, part)),
            (_, Node::Field { path, test }) => self.says(given, "", (path.text(), test)),
            (_, Node::Nor(_) | Node::Not(_) | Node::Never) => false,
            (_, Node::Expr(_) | Node::Sample(_) | Node::Schema(_) | Node::Text(_)) => false,
        }
    }

    /// Whether one of the conditions that must hold is at least as strong as the test at the path.
    fn says(self, given: &Node, prefix: &str, wanted: (&str, &Test)) -> bool {
        match given {
            Node::And(parts) => parts.iter().any(|part| self.says(part, prefix, wanted)),
            Node::Or(parts) => parts.iter().all(|part| self.says(part, prefix, wanted)),
            Node::Field { path, test } => {
                let first = path.parts().first();
                if !prefix.is_empty() && first.is_some_and(|name| position(name).is_some()) {
                    return false;
                }
                let full = match prefix {
                    "" => path.text().to_owned(),
                    _ => format!("{prefix}.{}", path.text()),
                };
                match test {
                    Test::ElemMatch(ElemMatch::Object(inner)) if full != wanted.0 => {
                        self.says(inner, &full, wanted)
                    }
                    test => full == wanted.0 && self.is_stronger(test, wanted.1),
                }
            }
            Node::Not(inner) => match (inner.as_ref(), wanted.1) {
                // What is not null is there.
                (
                    Node::Field {
                        path,
                        test: Test::Compare(compare),
                    },
                    Test::Exists,
                ) => prefix.is_empty() && path.text() == wanted.0 && is_null(compare),
                _ => false,
            },
            Node::Never => true,
            Node::Nor(_) | Node::Expr(_) | Node::Sample(_) | Node::Schema(_) | Node::Text(_) => {
                false
            }
        }
    }

    fn is_stronger(self, given: &Test, wanted: &Test) -> bool {
        if let Test::Exists = wanted {
            return demands(given);
        }
        if let (Test::Type(given), Test::Type(wanted)) = (given, wanted) {
            return given.numbers.iter().all(|one| wanted.numbers.contains(one));
        }
        if let (Test::Compare(given), Test::Compare(wanted)) = (given, wanted)
            && is_null(given)
            && is_null(wanted)
        {
            return true;
        }
        let exact = is_exact(wanted) || (is_below_number(wanted) && !mentions_nan(given));
        match (
            of_test(given, self.collated),
            of_test(wanted, self.collated),
        ) {
            (Some(given), Some(wanted)) if exact && !given.is_empty() => {
                let text = given.iter().any(Interval::touches_text);
                (self.same || !text) && is_within(&given, &wanted)
            }
            _ => false,
        }
    }
}

fn is_null(compare: &Compare) -> bool {
    compare.op == Op::Eq && matches!(compare.value, Value::Null | Value::Undefined)
}

/// Numbers below a number: NaN alone lies within the bounds and does not pass.
fn is_below_number(test: &Test) -> bool {
    match test {
        Test::Compare(compare) => {
            matches!(compare.op, Op::Lt | Op::Lte)
                && compare
                    .value
                    .as_f64()
                    .is_some_and(|number| !number.is_nan())
        }
        _ => false,
    }
}

fn mentions_nan(test: &Test) -> bool {
    let nan = |value: &Value| value.as_f64().is_some_and(f64::is_nan);
    match test {
        Test::Compare(compare) => nan(&compare.value),
        Test::In(list) => list.values.iter().any(nan),
        _ => true,
    }
}

#[cfg(test)]
#[path = "implies_tests.rs"]
mod tests;
