//! What a page of a query took, in the words of the wire: two headers, sent to who asks for them.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lapsedb_service::Result;
use lapsedb_service::items::query::{CompositePath, IndexMetrics, Metrics, PathOrder, QueryPage};
use lapsedb_value::path::{Path, Segment};
use lapsedb_value::{Object, Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::headers;

/// Bytes of a header that names indexes at most: clients refuse answers with larger heads.
const INDEX_HEADER_BYTES_MAX: usize = 8 * 1024;

/// How the indexes are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// JSON in Base64, as Python, Java and older .NET clients read it.
    Base64,
    /// JSON in percent-encoding, as newer .NET clients read it.
    Percent,
}

/// What a request wants to hear of its query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    indexes: Option<Form>,
    times: bool,
}

impl Wanted {
    /// What a request wants to hear.
    ///
    /// # Errors
    /// When a header is malformed.
    pub(crate) fn of(call: &Call<'_>) -> Result<Wanted> {
        let newer = call.flag(&headers::POPULATE_INDEX_METRICS_V2)?;
        let older = call.flag(&headers::POPULATE_INDEX_METRICS)?;
        let indexes = match (newer, older) {
            (true, _) => Some(Form::Percent),
            (false, true) => Some(Form::Base64),
            (false, false) => None,
        };
        let times = call.flag(&headers::POPULATE_QUERY_METRICS)?;
        Ok(Wanted { indexes, times })
    }

    /// The same as the service is asked.
    pub(crate) const fn metrics(self) -> Metrics {
        Metrics {
            index_metrics: self.indexes.is_some(),
            times: self.times,
        }
    }

    /// Sets the headers that are wanted; `write` is how long it took to write the page's text.
    pub(crate) fn set(self, answer: &mut Answer, page: &QueryPage, write: Duration) {
        if self.times {
            answer.set(headers::QUERY_METRICS, &query_text(page, write));
        }
        let text = match (&page.index_metrics, self.indexes) {
            (Some(metrics), Some(Form::Base64)) => {
                STANDARD.encode(json::to_string(&older(metrics)))
            }
            (Some(metrics), Some(Form::Percent)) => {
                percent_encode(&json::to_string(&newer(metrics)))
            }
            (None, _) | (_, None) => return,
        };
        if text.len() <= INDEX_HEADER_BYTES_MAX {
            answer.set(headers::INDEX_UTILIZATION, &text);
        }
    }
}

/// `name=value` joined by semicolons. Times of functions are part of the execution's.
fn query_text(page: &QueryPage, write: Duration) -> String {
    // As many digits as an item takes that lies in memory.
    let ms = |time: Duration| format!("{:.4}", time.as_secs_f64() * 1000.0);
    let times = &page.times;
    let parts = &times.parts;
    let before = times.compile + times.judge + parts.optimize + parts.plan;
    let running = times.total.saturating_sub(before);
    let work = &page.work;
    let members = [
        ("totalExecutionTimeInMs", ms(times.total + write)),
        ("queryCompileTimeInMs", ms(times.compile)),
        ("queryLogicalPlanBuildTimeInMs", ms(times.judge)),
        ("queryPhysicalPlanBuildTimeInMs", ms(parts.plan)),
        ("queryOptimizationTimeInMs", ms(parts.optimize)),
        ("VMExecutionTimeInMs", ms(running)),
        ("indexLookupTimeInMs", ms(parts.entries)),
        ("documentLoadTimeInMs", ms(parts.items)),
        ("systemFunctionExecuteTimeInMs", "0.00".to_owned()),
        ("userFunctionExecuteTimeInMs", "0.00".to_owned()),
        ("retrievedDocumentCount", work.items_read.to_string()),
        ("retrievedDocumentSize", work.loaded_bytes.to_string()),
        ("outputDocumentCount", work.output_rows.to_string()),
        ("outputDocumentSize", work.returned_bytes.to_string()),
        ("writeOutputTimeInMs", ms(write)),
        ("indexUtilizationRatio", format!("{:.2}", page.index_ratio)),
    ];
    let members = members.map(|(name, value)| format!("{name}={value}"));
    members.join(";")
}

/// The older form: four lists, in which what a request says of partitions is served like a filter.
fn older(metrics: &IndexMetrics) -> Value {
    let single = |path: &Path| {
        object([
            ("FilterExpression", Value::from("")),
            ("IndexSpec", Value::from(format!("{}/?", plain(path)))),
            ("FilterPreciseSet", Value::Bool(true)),
            ("IndexPreciseSet", Value::Bool(true)),
            ("IndexImpactScore", Value::from("High")),
        ])
    };
    let composite = |paths: &Vec<CompositePath>| {
        object([
            ("IndexSpecs", specs(paths, plain)),
            ("IndexPreciseSet", Value::Bool(true)),
            ("IndexImpactScore", Value::from("High")),
        ])
    };
    let (used, potential) = (&metrics.utilized, &metrics.potential);
    let mut partition: Vec<Value> = metrics.partition.iter().map(single).collect();
    if partition.is_empty() {
        partition.push(single(&Path::new(vec![Segment::Member("_epk".into())])));
    }
    partition.extend(used.single.iter().map(single));
    object([
        ("UtilizedSingleIndexes", Value::Array(partition)),
        ("PotentialSingleIndexes", list(&potential.single, single)),
        ("UtilizedCompositeIndexes", list(&used.composite, composite)),
        (
            "PotentialCompositeIndexes",
            list(&potential.composite, composite),
        ),
    ])
}

/// The newer form: indexes that are used and indexes that could be, which say how much they would help.
fn newer(metrics: &IndexMetrics) -> Value {
    let spec = |path: &Path| ("IndexSpec", Value::from(format!("{}/?", quoted(path))));
    let score = || ("IndexImpactScore", Value::from("High"));
    let (used, potential) = (&metrics.utilized, &metrics.potential);
    object([
        (
            "UtilizedIndexes",
            object([
                (
                    "SingleIndexes",
                    list(&used.single, |path| object([spec(path)])),
                ),
                (
                    "CompositeIndexes",
                    list(&used.composite, |paths| {
                        object([("IndexSpecs", specs(paths, quoted))])
                    }),
                ),
            ]),
        ),
        (
            "PotentialIndexes",
            object([
                (
                    "SingleIndexes",
                    list(&potential.single, |path| object([spec(path), score()])),
                ),
                (
                    "CompositeIndexes",
                    list(&potential.composite, |paths| {
                        object([("IndexSpecs", specs(paths, quoted)), score()])
                    }),
                ),
            ]),
        ),
    ])
}

fn list<T>(things: &[T], value: impl Fn(&T) -> Value) -> Value {
    Value::Array(things.iter().map(value).collect())
}

fn object<const N: usize>(members: [(&'static str, Value); N]) -> Value {
    let mut object = Object::with_capacity(N);
    for (name, value) in members {
        object.push(name, value);
    }
    Value::Object(object)
}

/// The paths of a composite index, each with its direction.
fn specs(paths: &[CompositePath], text: fn(&Path) -> String) -> Value {
    list(paths, |part| {
        let direction = match part.order {
            PathOrder::Ascending => "ASC",
            PathOrder::Descending => "DESC",
        };
        Value::from(format!("{} {direction}", text(&part.path)))
    })
}

/// A path as the older form has it: names as they are.
fn plain(path: &Path) -> String {
    join(path, |name, text| text.push_str(name))
}

/// A path as policies have it: a name that is no word stands in quotes.
fn quoted(path: &Path) -> String {
    join(path, |name, text| {
        let is_word = !name.is_empty()
            && !name.starts_with(|sign: char| sign.is_ascii_digit())
            && name
                .chars()
                .all(|sign| sign.is_alphanumeric() || sign == '_');
        if is_word {
            text.push_str(name);
        } else {
            text.push_str(&json::to_string(&Value::from(name)));
        }
    })
}

fn join(path: &Path, push: impl Fn(&str, &mut String)) -> String {
    let mut text = String::new();
    for segment in path.segments() {
        text.push('/');
        match segment {
            Segment::Member(name) => push(name, &mut text),
            Segment::Elements => text.push_str("[]"),
        }
    }
    text
}

/// Percent-encodes all that is not a letter, a digit or one of `-._~`: clients decode `+` as a blank.
fn percent_encode(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 0xf)]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapsedb_service::items::query::Indexes;

    fn path(names: &[&str]) -> Path {
        let members = names.iter().map(|name| Segment::Member((*name).into()));
        Path::new(members.collect())
    }

    #[test]
    fn the_newer_form_is_that_of_the_sdks_baselines() {
        let metrics = IndexMetrics {
            partition: Vec::new(),
            utilized: Indexes {
                single: vec![path(&["n"]), path(&["a b", "1"])],
                composite: Vec::new(),
            },
            potential: Indexes {
                single: vec![path(&["x"])],
                composite: vec![vec![CompositePath {
                    path: path(&["id"]),
                    order: PathOrder::Ascending,
                }]],
            },
        };
        assert_eq!(
            json::to_string(&newer(&metrics)),
            concat!(
                r#"{"UtilizedIndexes":{"SingleIndexes":[{"IndexSpec":"/n/?"},{"IndexSpec":"/\"a b\"/\"1\"/?"}],"CompositeIndexes":[]},"#,
                r#""PotentialIndexes":{"SingleIndexes":[{"IndexSpec":"/x/?","IndexImpactScore":"High"}],"#,
                r#""CompositeIndexes":[{"IndexSpecs":["/id ASC"],"IndexImpactScore":"High"}]}}"#
            )
        );
    }

    #[test]
    fn everything_but_letters_and_digits_is_escaped() {
        assert_eq!(
            percent_encode("{\"a\": +ä}"),
            "%7B%22a%22%3A%20%2B%C3%A4%7D"
        );
    }
}
