//! `VectorDistance`: the similarity or distance of two vectors.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let (a, b) = (vector(args, 0)?, vector(args, 1)?);
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    // The third argument asks for an exact search, which this always is.
    let metric = match args::any(args, 3).get("distanceFunction") {
        Value::Undefined => "cosine",
        named => named.as_str()?,
    };
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    match metric.to_ascii_lowercase().as_str() {
        "cosine" => args::finite(dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()),
        "dotproduct" => args::finite(dot(&a, &b)),
        "euclidean" => args::finite(
            a.iter()
                .zip(&b)
                .map(|(x, y)| (x - y) * (x - y))
                .sum::<f64>()
                .sqrt(),
        ),
        _ => None,
    }
}

fn vector(args: &Args<'_>, at: usize) -> Option<Vec<f64>> {
    args::array(args, at)?.iter().map(Value::as_f64).collect()
}
