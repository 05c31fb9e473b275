//! Preferred numbers: `$bucketAuto` can end its spans at members of a series.

use lapsedb_value::{Object, Value};

use super::Span;
use crate::expressions::numeric::Num;
use crate::expressions::values::type_name;
use crate::{MqlError, Result};

/// A series of preferred numbers, repeated at every power of ten, or the powers of two.
#[derive(Clone, Debug)]
pub(super) enum Granularity {
    Series(Vec<f64>),
    PowersOfTwo,
}

/// The series by name, each within one power of ten. As with MongoDB, R80 has only the members that R40 has not.
const SERIES: &[(&str, &[f64])] = &[
    ("1-2-5", &[1.0, 2.0, 5.0]),
    ("R5", &[1.0, 1.6, 2.5, 4.0, 6.3]),
    ("R10", &[1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0]),
    (
        "R20",
        &[
            1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8, 3.15, 3.55, 4.0, 4.5, 5.0, 5.6,
            6.3, 7.1, 8.0, 9.0,
        ],
    ),
    (
        "R40",
        &[
            1.0, 1.06, 1.12, 1.18, 1.25, 1.32, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.12, 2.24, 2.36,
            2.5, 2.65, 2.8, 3.0, 3.15, 3.35, 3.55, 3.75, 4.0, 4.25, 4.5, 4.75, 5.0, 5.3, 5.6, 6.0,
            6.3, 6.7, 7.1, 7.5, 8.0, 8.5, 9.0, 9.5,
        ],
    ),
    (
        "R80",
        &[
            1.03, 1.09, 1.15, 1.22, 1.28, 1.36, 1.45, 1.55, 1.65, 1.75, 1.85, 1.95, 2.06, 2.18,
            2.3, 2.43, 2.58, 2.72, 2.9, 3.07, 3.25, 3.45, 3.65, 3.87, 4.12, 4.37, 4.62, 4.87, 5.15,
            5.45, 5.8, 6.15, 6.5, 6.9, 7.3, 7.75, 8.25, 8.75, 9.25, 9.75,
        ],
    ),
    ("E6", &[1.0, 1.5, 2.2, 3.3, 4.7, 6.8]),
    (
        "E12",
        &[1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2],
    ),
    (
        "E24",
        &[
            1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0, 3.3, 3.6, 3.9, 4.3, 4.7,
            5.1, 5.6, 6.2, 6.8, 7.5, 8.2, 9.1,
        ],
    ),
];

/// The finer E series: even steps of the logarithm, rounded to two places, with one historical exception.
fn fine_series(name: &str) -> Option<Vec<f64>> {
    let steps: i32 = match name {
        "E48" => 48,
        "E96" => 96,
        "E192" => 192,
        _ => return None,
    };
    let member = |step: i32| {
        let exact = 10f64.powf(f64::from(step) / f64::from(steps));
        match (exact * 100.0).round() / 100.0 {
            9.19 => 9.2,
            member => member,
        }
    };
    Some((0..steps).map(member).collect())
}

impl Granularity {
    pub(super) fn parse(value: &Value) -> Result<Granularity> {
        let Some(name) = value.as_str() else {
            let found = type_name(value);
            let message = format!(
                "The $bucketAuto 'granularity' field must be a string, but found type: {found}"
            );
            return Err(MqlError::new(40261, message));
        };
        if name == "POWERSOF2" {
            return Ok(Granularity::PowersOfTwo);
        }
        let series = SERIES.iter().find(|(known, _)| *known == name);
        let series = series.map(|(_, numbers)| numbers.to_vec());
        series
            .or_else(|| fine_series(name))
            .map(Granularity::Series)
            .ok_or_else(|| MqlError::new(40257, format!("Unknown rounding granularity '{name}'")))
    }

    /// The least member that is greater.
    fn above(&self, n: f64) -> f64 {
        match self {
            _ if n == 0.0 => 0.0,
            Granularity::PowersOfTwo => {
                let mut power = n.log2().floor().exp2();
                while power <= n {
                    power *= 2.0;
                }
                power
            }
            Granularity::Series(numbers) => {
                let mut scale = 10f64.powf(n.log10().floor());
                loop {
                    let members = numbers.iter().map(|member| member * scale);
                    if let Some(member) = members.into_iter().find(|member| *member > n) {
                        return member;
                    }
                    scale *= 10.0;
                }
            }
        }
    }

    /// The greatest member that is less.
    fn below(&self, n: f64) -> f64 {
        match self {
            _ if n == 0.0 => 0.0,
            Granularity::PowersOfTwo => {
                let mut power = n.log2().ceil().exp2();
                while power >= n {
                    power /= 2.0;
                }
                power
            }
            Granularity::Series(numbers) => {
                let mut scale = 10f64.powf(n.log10().floor());
                loop {
                    let members = numbers.iter().rev().map(|member| member * scale);
                    if let Some(member) = members.into_iter().find(|member| *member < n) {
                        return member;
                    }
                    scale /= 10.0;
                }
            }
        }
    }

    /// A bound as a value: zero and whole powers of two are ints.
    fn bound(&self, n: f64) -> Value {
        match self {
            _ if n == 0.0 => Value::Int32(0),
            Granularity::PowersOfTwo => Value::number(n),
            Granularity::Series(_) => Value::Double(n),
        }
    }

    /// Runs of rows that begin and end at members of the series.
    pub(super) fn spans(&self, rows: &[(Value, Object)], buckets: usize) -> Vec<Span> {
        let number = |at: usize| {
            let row = rows.get(at);
            row.and_then(|(value, _)| Num::of(value))
                .map_or(0.0, Num::to_f64)
        };
        let size = ((rows.len() as f64 / buckets as f64).round() as usize).max(1);
        let mut spans: Vec<Span> = Vec::new();
        let (mut from, mut min) = (0, self.below(number(0)));
        while from < rows.len() {
            let mut to = match spans.len() + 1 >= buckets {
                true => rows.len(),
                false => (from + size).min(rows.len()),
            };
            let max = self.above(number(to - 1));
            // Zero has no member above it: all zeros go together.
            while to < rows.len() && (number(to) < max || number(to) == 0.0) {
                to += 1;
            }
            spans.push(Span {
                from,
                to,
                min: self.bound(min),
                max: self.bound(max),
            });
            (from, min) = (to, max);
        }
        spans
    }
}

/// Only numbers that are not negative can be rounded.
pub(super) fn check(value: &Value) -> Result<()> {
    let Some(number) = Num::of(value) else {
        let found = type_name(value);
        let message = format!(
            "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a value with type: {found}"
        );
        return Err(MqlError::new(40258, message));
    };
    let n = number.to_f64();
    if n.is_nan() {
        return Err(MqlError::new(
            40259,
            "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a NaN",
        ));
    }
    match n < 0.0 {
        true => Err(MqlError::new(
            40260,
            "$bucketAuto can specify a 'granularity' with non-negative numbers only, but found a negative number",
        )),
        false => Ok(()),
    }
}
