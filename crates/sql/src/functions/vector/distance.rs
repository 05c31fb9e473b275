//! The similarity or distance of two vectors.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// How vectors are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Metric {
    Cosine,
    DotProduct,
    Euclidean,
}

impl Metric {
    /// That of the options, upper and lower case alike; cosine if they say none.
    fn of(options: &Value) -> Option<Metric> {
        let name = match options.get("distanceFunction") {
            Value::Undefined => return Some(Metric::Cosine),
            named => named.as_str()?,
        };
        let all = [
            ("cosine", Metric::Cosine),
            ("dotproduct", Metric::DotProduct),
            ("euclidean", Metric::Euclidean),
        ];
        let found = all
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, metric)| *metric)
    }
}

/// `VectorDistance`. The third argument asks for an exact search, which this always is.
pub(crate) fn distance(args: &Args<'_>) -> Option<Value> {
    args::finite(compared(args, Metric::of(args::any(args, 3))?)?)
}

/// `_VectorScore`: the same as a number that is the larger the nearer the vectors are.
pub(crate) fn score(args: &Args<'_>) -> Option<Value> {
    let metric = Metric::of(args::any(args, 3))?;
    let compared = compared(args, metric)?;
    args::finite(match metric {
        Metric::Cosine | Metric::DotProduct => compared,
        Metric::Euclidean => -compared,
    })
}

fn compared(args: &Args<'_>, metric: Metric) -> Option<f64> {
    let (a, b) = (vector(args, 0)?, vector(args, 1)?);
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    Some(match metric {
        Metric::Cosine => {
            let lengths = (dot(&a, &a) * dot(&b, &b)).sqrt();
            if lengths == 0.0 {
                // A vector without a direction is like no other.
                0.0
            } else {
                dot(&a, &b) / lengths
            }
        }
        Metric::DotProduct => dot(&a, &b),
        Metric::Euclidean => {
            let squares = a.iter().zip(&b).map(|(x, y)| (x - y) * (x - y));
            squares.sum::<f64>().sqrt()
        }
    })
}

fn vector(args: &Args<'_>, at: usize) -> Option<Vec<f64>> {
    args::array(args, at)?.iter().map(Value::as_f64).collect()
}
