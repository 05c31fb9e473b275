//! Counting with dates ends in a date or in a refusal, also where there are no more dates.

use crate::common::value;
use lapsedb_mql::Result;
use lapsedb_mql::filter::Options;
use lapsedb_mql::stages::{NoForeign, Pipeline, Runner};
use lapsedb_value::{Object, Value};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const DAY: i64 = 86_400_000;
const DATES: [i64; 15] = [
    i64::MIN,
    i64::MIN + 1,
    i64::MIN + DAY,
    -62_135_596_800_001,
    -377_705_116_800_000,
    -1,
    0,
    1,
    951_782_400_000,
    253_402_300_799_999,
    253_402_300_800_000,
    i64::MAX - 3 * DAY,
    i64::MAX - DAY,
    i64::MAX - 1,
    i64::MAX,
];
const AMOUNTS: [i64; 12] = [
    i64::MIN,
    i64::MIN + 1,
    i64::MIN / 12,
    -3_600_000_001,
    -1,
    0,
    1,
    3_600_000_000,
    100_000_000_000,
    i64::MAX / DAY,
    i64::MAX - 1,
    i64::MAX,
];
const UNITS: [&str; 9] = [
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
];
const ZONES: [&str; 7] = [
    "UTC",
    "+99:99",
    "-99:99",
    "Europe/Berlin",
    "America/New_York",
    "Pacific/Apia",
    "Pacific/Kiritimati",
];

/// What an expression makes of a document.
struct Asked(Pipeline);

impl Asked {
    fn new(expression: &str) -> Asked {
        let stages = value(&format!(r#"[{{"$set":{{"r":{expression}}}}}]"#));
        let stages = stages.as_array().unwrap();
        Asked(Pipeline::parse_update(stages, &Options::default()).unwrap())
    }

    fn of(&self, members: &[(&str, Value)]) -> Result<Value> {
        let members = members.iter().cloned();
        let document = members.map(|(name, value)| (name.into(), value)).collect();
        let made = self.0.apply(document)?;
        Ok(made.get("r").cloned().unwrap_or_default())
    }
}

#[test]
fn moving_a_date_ends_in_a_date_or_a_refusal() {
    for operator in ["$dateAdd", "$dateSubtract"] {
        let moved = Asked::new(&format!(
            r#"{{"{operator}":{{"startDate":"$d","unit":"$u","amount":"$n","timezone":"$z"}}}}"#
        ));
        for date in DATES {
            for (unit, zone) in UNITS
                .iter()
                .flat_map(|unit| ZONES.map(|zone| (*unit, zone)))
            {
                for amount in AMOUNTS {
                    let outcome = moved.of(&[
                        ("d", Value::Date(date)),
                        ("u", unit.into()),
                        ("n", Value::Int64(amount)),
                        ("z", zone.into()),
                    ]);
                    if let Ok(made) = &outcome {
                        assert!(matches!(made, Value::Date(_)), "{made}");
                    }
                    if amount == 0 && zone == "UTC" {
                        let same = matches!(outcome, Ok(Value::Date(same)) if same == date);
                        assert!(same, "{operator} {date} {unit}: {outcome:?}");
                    }
                }
            }
        }
    }
    let months = Asked::new(r#"{"$dateAdd":{"startDate":"$d","unit":"month","amount":"$n"}}"#);
    let refused = months.of(&[("d", Value::Date(0)), ("n", Value::Int64(i64::MIN))]);
    assert_eq!(refused.unwrap_err().code, 5_976_500);
}

#[test]
fn counting_between_dates_ends_in_a_number_or_a_refusal() {
    let between = Asked::new(
        r#"{"$dateDiff":{"startDate":"$a","endDate":"$b","unit":"$u","timezone":"$z","startOfWeek":"monday"}}"#,
    );
    let subtracted = Asked::new(r#"{"$subtract":["$a","$b"]}"#);
    for (a, b) in DATES.iter().flat_map(|a| DATES.map(|b| (*a, b))) {
        let dates = [("a", Value::Date(a)), ("b", Value::Date(b))];
        let _ = subtracted.of(&dates);
        for (unit, zone) in UNITS
            .iter()
            .flat_map(|unit| ZONES.map(|zone| (*unit, zone)))
        {
            let more = [("u", Value::from(unit)), ("z", Value::from(zone))];
            let outcome = between.of(&[dates.clone(), more].concat());
            match outcome {
                Ok(made) => assert!(matches!(made, Value::Int64(_)), "{made}"),
                Err(refused) => assert_eq!(refused.code, 5_166_308),
            }
        }
    }
}

#[test]
fn cutting_a_date_off_ends_in_a_date_or_a_refusal() {
    let cut =
        Asked::new(r#"{"$dateTrunc":{"date":"$d","unit":"$u","binSize":"$n","timezone":"$z"}}"#);
    for date in DATES {
        for (unit, zone) in UNITS
            .iter()
            .flat_map(|unit| ZONES.map(|zone| (*unit, zone)))
        {
            for size in AMOUNTS {
                let _ = cut.of(&[
                    ("d", Value::Date(date)),
                    ("u", unit.into()),
                    ("n", Value::Int64(size)),
                    ("z", zone.into()),
                ]);
            }
        }
    }
}

#[test]
fn every_date_has_its_parts_and_its_text() {
    let zoned = [
        "$year",
        "$month",
        "$week",
        "$isoWeek",
        "$isoWeekYear",
        "$isoDayOfWeek",
        "$dayOfYear",
        "$dayOfMonth",
        "$dayOfWeek",
        "$hour",
        "$minute",
        "$second",
        "$millisecond",
        "$dateToParts",
        "$dateToString",
    ];
    let mut all: Vec<_> = zoned
        .iter()
        .map(|name| Asked::new(&format!(r#"{{"{name}":{{"date":"$d","timezone":"$z"}}}}"#)))
        .collect();
    all.push(Asked::new(
        r#"{"$dateToParts":{"date":"$d","timezone":"$z","iso8601":true}}"#,
    ));
    let format = "%G-%V-%u %j %U %w %Z %z %Y %m %d %H %M %S %L";
    all.push(Asked::new(&format!(
        r#"{{"$dateToString":{{"date":"$d","timezone":"$z","format":"{format}"}}}}"#
    )));
    for name in ["$toString", "$toLong", "$toDouble", "$toDecimal"] {
        all.push(Asked::new(&format!(r#"{{"{name}":"$d"}}"#)));
    }
    for (date, zone) in DATES
        .iter()
        .flat_map(|date| ZONES.map(|zone| (*date, zone)))
    {
        for asked in &all {
            // A year before 0 or beyond 9999 has no text.
            let _ = asked.of(&[("d", Value::Date(date)), ("z", zone.into())]);
        }
    }
}

#[test]
fn dates_from_numbers_and_texts_are_dates_or_refused() {
    let parts = [
        "year",
        "month",
        "day",
        "hour",
        "minute",
        "second",
        "millisecond",
    ];
    let iso = [
        "isoWeekYear",
        "isoWeek",
        "isoDayOfWeek",
        "hour",
        "second",
        "millisecond",
    ];
    for (names, year) in [(&parts[..], "year"), (&iso[..], "isoWeekYear")] {
        for name in names {
            let first = if *name == year {
                ""
            } else {
                &format!(r#""{year}":9999,"#)
            };
            let made = Asked::new(&format!(
                r#"{{"$dateFromParts":{{{first}"{name}":"$n","timezone":"$z"}}}}"#
            ));
            for (amount, zone) in AMOUNTS
                .iter()
                .chain(&[-32_768, 32_767, 9999])
                .flat_map(|amount| ZONES.map(|zone| (*amount, zone)))
            {
                let _ = made.of(&[("n", Value::Int64(amount)), ("z", zone.into())]);
            }
        }
    }
    let read = Asked::new(r#"{"$dateFromString":{"dateString":"$t","format":"%Y-%m-%d %Z"}}"#);
    for text in [
        "2020-01-01 9223372036854775807",
        "2020-01-01 -9223372036854775808",
        "0000-01-01 +1",
        "9999-12-31 -5999",
    ] {
        let _ = read.of(&[("t", text.into())]);
    }
    for (amount, date) in AMOUNTS.iter().flat_map(|n| DATES.map(|date| (*n, date))) {
        for name in ["$add", "$subtract"] {
            for kind in [Value::Int64(amount), Value::Double(amount as f64)] {
                let made = Asked::new(&format!(r#"{{"{name}":["$d","$n"]}}"#));
                let _ = made.of(&[("d", Value::Date(date)), ("n", kind.clone())]);
                let _ = Asked::new(r#"{"$toDate":"$n"}"#).of(&[("n", kind)]);
            }
        }
    }
}

/// Nothing here waits, so one look at the future suffices.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("the future waits"),
    }
}

fn run(stages: &str, documents: Vec<Object>) -> Result<()> {
    let stages = value(stages);
    let pipeline = Pipeline::parse(stages.as_array().unwrap(), &Options::default())?;
    let mut runner = Runner::new(&pipeline);
    now(runner.push(documents, &NoForeign))?;
    now(runner.finish(&NoForeign))
}

#[test]
fn stages_that_move_dates_end_or_are_refused() {
    let documents = |dates: &[i64]| -> Vec<Object> {
        let dates = dates.iter().enumerate();
        let document = |(at, date): (usize, &i64)| {
            let mut document = Object::new();
            document.push("v", i32::try_from(at).unwrap());
            document.push("d", Value::Date(*date));
            document
        };
        dates.map(document).collect()
    };
    for unit in UNITS {
        for amount in AMOUNTS {
            let window = format!(
                r#"[{{"$setWindowFields":{{"sortBy":{{"d":1}},"output":{{"n":{{"$sum":1,"window":{{"range":[{},{}],"unit":"{unit}"}}}}}}}}}}]"#,
                amount.min(0),
                amount.max(0)
            );
            let _ = run(&window, documents(&DATES));
        }
        for operator in ["$derivative", "$integral"] {
            let window = format!(
                r#"[{{"$setWindowFields":{{"sortBy":{{"d":1}},"output":{{"n":{{"{operator}":{{"input":"$v","unit":"{unit}"}},"window":{{"documents":["unbounded","unbounded"]}}}}}}}}}}]"#
            );
            let _ = run(&window, documents(&DATES));
        }
        for date in DATES {
            let far = i64::MAX / DAY;
            let densify = format!(
                r#"[{{"$densify":{{"field":"d","range":{{"step":{far},"unit":"{unit}","bounds":"full"}}}}}}]"#
            );
            let _ = run(
                &densify,
                documents(&[date, date.saturating_add(1), i64::MAX]),
            );
        }
    }
}
