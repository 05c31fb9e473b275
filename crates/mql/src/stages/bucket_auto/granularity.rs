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

/// The series by name, each within one power of ten and without fractions: a member is one of these times a power of ten, to
/// the last bit as with MongoDB. R80 has only the members that R40 has not.
const SERIES: &[(&str, &[f64])] = &[
    ("1-2-5", &[10.0, 20.0, 50.0]),
    ("R5", &[10.0, 16.0, 25.0, 40.0, 63.0]),
    (
        "R10",
        &[
            100.0, 125.0, 160.0, 200.0, 250.0, 315.0, 400.0, 500.0, 630.0, 800.0,
        ],
    ),
    (
        "R20",
        &[
            100.0, 112.0, 125.0, 140.0, 160.0, 180.0, 200.0, 224.0, 250.0, 280.0, 315.0, 355.0,
            400.0, 450.0, 500.0, 560.0, 630.0, 710.0, 800.0, 900.0,
        ],
    ),
    (
        "R40",
        &[
            100.0, 106.0, 112.0, 118.0, 125.0, 132.0, 140.0, 150.0, 160.0, 170.0, 180.0, 190.0,
            200.0, 212.0, 224.0, 236.0, 250.0, 265.0, 280.0, 300.0, 315.0, 335.0, 355.0, 375.0,
            400.0, 425.0, 450.0, 475.0, 500.0, 530.0, 560.0, 600.0, 630.0, 670.0, 710.0, 750.0,
            800.0, 850.0, 900.0, 950.0,
        ],
    ),
    (
        "R80",
        &[
            103.0, 109.0, 115.0, 122.0, 128.0, 136.0, 145.0, 155.0, 165.0, 175.0, 185.0, 195.0,
            206.0, 218.0, 230.0, 243.0, 258.0, 272.0, 290.0, 307.0, 325.0, 345.0, 365.0, 387.0,
            412.0, 437.0, 462.0, 487.0, 515.0, 545.0, 580.0, 615.0, 650.0, 690.0, 730.0, 775.0,
            825.0, 875.0, 925.0, 975.0,
        ],
    ),
    ("E6", &[10.0, 15.0, 22.0, 33.0, 47.0, 68.0]),
    (
        "E12",
        &[
            10.0, 12.0, 15.0, 18.0, 22.0, 27.0, 33.0, 39.0, 47.0, 56.0, 68.0, 82.0,
        ],
    ),
    (
        "E24",
        &[
            10.0, 11.0, 12.0, 13.0, 15.0, 16.0, 18.0, 20.0, 22.0, 24.0, 27.0, 30.0, 33.0, 36.0,
            39.0, 43.0, 47.0, 51.0, 56.0, 62.0, 68.0, 75.0, 82.0, 91.0,
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
        match (exact * 100.0).round() {
            919.0 => 920.0,
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
            _ if n == 0.0 || n.is_infinite() => n,
            Granularity::PowersOfTwo => {
                let mut power = n.log2().floor().exp2();
                while power <= n {
                    power *= 2.0;
                }
                power
            }
            Granularity::Series(numbers) => {
                let (first, last) = ends(numbers);
                let mut scale = 1.0;
                while n >= last * scale {
                    scale *= 10.0;
                }
                while n < first * scale {
                    let least = first * scale;
                    scale /= 10.0;
                    if n >= last * scale {
                        return least;
                    }
                }
                let members = numbers.iter().map(|member| member * scale);
                members
                    .into_iter()
                    .find(|member| *member > n)
                    .unwrap_or(last * scale)
            }
        }
    }

    /// The greatest member that is less.
    fn below(&self, n: f64) -> f64 {
        match self {
            _ if n == 0.0 || n.is_infinite() => n,
            Granularity::PowersOfTwo => {
                let mut power = n.log2().ceil().exp2();
                while power >= n {
                    power /= 2.0;
                }
                power
            }
            Granularity::Series(numbers) => {
                let (first, last) = ends(numbers);
                let mut scale = 1.0;
                while n <= first * scale {
                    scale /= 10.0;
                }
                if scale == 0.0 {
                    // Nothing is below the least numbers that a double holds.
                    return 0.0;
                }
                while n > last * scale {
                    let greatest = last * scale;
                    scale *= 10.0;
                    if n <= first * scale {
                        return greatest;
                    }
                }
                let members = numbers.iter().rev().map(|member| member * scale);
                members
                    .into_iter()
                    .find(|member| *member < n)
                    .unwrap_or(first * scale)
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
            let mut max = self.above(number(to - 1));
            while to < rows.len() && number(to) < max {
                to += 1;
            }
            // Zero has no member above it: it ends below what comes next.
            if max == 0.0 && to < rows.len() {
                max = self.below(number(to));
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

fn ends(numbers: &[f64]) -> (f64, f64) {
    let first = numbers.first().copied().unwrap_or(1.0);
    (first, numbers.last().copied().unwrap_or(first))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_neighbours() {
        for name in ["1-2-5", "R5", "R80", "E6", "E192", "POWERSOF2"] {
            let series = Granularity::parse(&Value::from(name)).unwrap();
            for n in [1e-300, 0.003, 0.99, 1.0, 9.99, 10.0, 123.0, 1e300] {
                let (below, above) = (series.below(n), series.above(n));
                assert!(below < n && n < above, "{name}: {below} {n} {above}");
            }
            assert_eq!(series.above(f64::INFINITY), f64::INFINITY, "{name}");
            assert_eq!(series.below(f64::INFINITY), f64::INFINITY, "{name}");
            assert!(series.below(5e-324) < 5e-324, "{name}");
            assert!(series.above(f64::MAX) > f64::MAX, "{name}");
        }
    }
}
