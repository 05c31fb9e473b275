//! Intervals of values, in the order of [`lapsedb_value::order::compare_bson`].

use std::cmp::Ordering;

use lapsedb_value::order::{bson_class, compare_bson};
use lapsedb_value::{Object, Value};

use crate::collation::Collation;

/// One end of an interval.
#[derive(Clone, Debug)]
pub enum Edge {
    /// Before every value of a class, see [`bson_class`].
    ClassStart(u8),
    /// Just before a value.
    Before(Value),
    /// Just behind a value.
    After(Value),
    /// Behind every value of a class.
    ClassEnd(u8),
}

/// The entries between two edges.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Where it begins.
    pub low: Edge,
    /// Where it ends.
    pub high: Edge,
}

impl Interval {
    /// The interval of one value.
    pub fn point(value: &Value) -> Interval {
        Interval {
            low: Edge::Before(value.clone()),
            high: Edge::After(value.clone()),
        }
    }

    /// All values of a class.
    pub fn class(class: u8) -> Interval {
        Interval {
            low: Edge::ClassStart(class),
            high: Edge::ClassEnd(class),
        }
    }

    /// The value, if the interval is one point.
    pub fn as_point(&self) -> Option<&Value> {
        match (&self.low, &self.high) {
            (Edge::Before(low), Edge::After(high)) if compare_bson(low, high).is_eq() => Some(low),
            _ => None,
        }
    }

    /// Whether values in it may hold text, which collations compare.
    pub fn touches_text(&self) -> bool {
        let text = |edge: &Edge| match edge {
            Edge::ClassStart(class) | Edge::ClassEnd(class) => [
                Value::from(""),
                Value::Object(Object::new()),
                Value::Array(Vec::new()),
            ]
            .iter()
            .any(|value| bson_class(value) == *class),
            Edge::Before(value) | Edge::After(value) => Collation::matters(value),
        };
        text(&self.low) || text(&self.high)
    }

    /// Whether the value lies inside.
    pub fn contains(&self, value: &Value) -> bool {
        let point = Interval::point(value);
        compare_edges(&self.low, &point.low).is_le()
            && compare_edges(&point.high, &self.high).is_le()
    }
}

/// The order of edges along the values.
pub fn compare_edges(a: &Edge, b: &Edge) -> Ordering {
    let place = |edge: &Edge| match edge {
        Edge::ClassStart(class) => (*class, 0),
        Edge::Before(value) | Edge::After(value) => (bson_class(value), 1),
        Edge::ClassEnd(class) => (*class, 2),
    };
    place(a)
        .cmp(&place(b))
        .then_with(|| match (a, b) {
            (Edge::Before(a) | Edge::After(a), Edge::Before(b) | Edge::After(b)) => {
                compare_bson(a, b)
            }
            _ => Ordering::Equal,
        })
        .then_with(|| matches!(a, Edge::After(_)).cmp(&matches!(b, Edge::After(_))))
}

/// The union, in order and apart.
pub(super) fn merge(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_by(|a, b| compare_edges(&a.low, &b.low));
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len());
    for next in intervals {
        match merged.last_mut() {
            Some(last) if compare_edges(&next.low, &last.high).is_le() => {
                if compare_edges(&next.high, &last.high).is_gt() {
                    last.high = next.high;
                }
            }
            _ => merged.push(next),
        }
    }
    merged
}

/// What lies in both, each in order and apart.
pub(super) fn intersect(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let mut both = Vec::new();
    for a in a {
        for b in b {
            let low = match compare_edges(&a.low, &b.low).is_ge() {
                true => &a.low,
                false => &b.low,
            };
            let high = match compare_edges(&a.high, &b.high).is_le() {
                true => &a.high,
                false => &b.high,
            };
            if compare_edges(low, high).is_lt() {
                both.push(Interval {
                    low: low.clone(),
                    high: high.clone(),
                });
            }
        }
    }
    merge(both)
}

/// Whether every value of the first lies in the second, each in order and apart.
pub(super) fn is_within(a: &[Interval], b: &[Interval]) -> bool {
    let inside = |a: &Interval, b: &Interval| {
        compare_edges(&b.low, &a.low).is_le() && compare_edges(&a.high, &b.high).is_le()
    };
    a.iter().all(|a| b.iter().any(|b| inside(a, b)))
}
