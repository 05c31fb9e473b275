//! The facts under `spec/sql/corpus` and `spec/sql/plans.jsonl` hold here: what the service's own engine accepts is accepted,
//! what it refuses is refused with its code, its words and its place, and a constant expression has its value.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lapsedb_sql::{Env, Executor, PartitionFilter, SqlError, bind_with, parse};
use lapsedb_value::order::deep_equal;
use lapsedb_value::{Value, json};

use crate::corpus::{self, Exceptions, Fact, Plan, Refusal, Verdict};

/// Differences that are printed in full.
const SHOWN_MAX: usize = 200;

/// How many answers of each category agree, and which do not.
struct Report {
    exceptions: Exceptions,
    counts: BTreeMap<&'static str, Count>,
    differences: Vec<String>,
}

#[derive(Default)]
struct Count {
    all: usize,
    agreed: usize,
    excused: usize,
}

impl Report {
    fn new(categories: &[&'static str]) -> Report {
        Report {
            exceptions: Exceptions::of(categories),
            counts: categories
                .iter()
                .map(|category| (*category, Count::default()))
                .collect(),
            differences: Vec::new(),
        }
    }

    fn note(
        &mut self,
        category: &'static str,
        query: &str,
        agrees: bool,
        detail: impl FnOnce() -> String,
    ) {
        let count = self.counts.entry(category).or_default();
        count.all += 1;
        if agrees {
            count.agreed += 1;
        } else if self.exceptions.excuse(category, query) {
            count.excused += 1;
        } else {
            self.differences
                .push(format!("[{category}] {query}\n    {}", detail()));
        }
    }

    /// Prints the counts; fails on what differs and on exceptions that nothing needs.
    fn finish(self) {
        let mut text = String::new();
        for (category, count) in &self.counts {
            let Count {
                all,
                agreed,
                excused,
            } = count;
            let differ = all - agreed - excused;
            writeln!(
                text,
                "{category}: {agreed} of {all} agree, {excused} are exceptions, {differ} differ"
            )
            .unwrap();
        }
        println!("{text}");
        let mut wrong = self.exceptions.idle();
        let more = self.differences.len().saturating_sub(SHOWN_MAX);
        wrong.extend(self.differences.into_iter().take(SHOWN_MAX));
        if more > 0 {
            wrong.push(format!("and {more} more"));
        }
        assert!(wrong.is_empty(), "{text}{}", wrong.join("\n"));
    }
}

/// The rows, where no document is needed for them. The engine's verdict is that on the query's plan.
fn planned(fact: &Fact) -> Result<Option<Vec<Value>>, SqlError> {
    let params = fact.question.params()?;
    let schema = corpus::schema(fact.has_vectors);
    let bound = bind_with(&parse(&fact.question.text)?, &params, &schema)?;
    bound.check_plan()?;
    if bound.reads_documents() || bound.check_runs().is_err() {
        return Ok(None);
    }
    let mut executor = Executor::new(&bound, Env::new(0));
    let mut rows = executor.take_rows();
    rows.append(&mut executor.finish()?);
    Ok(Some(rows))
}

#[test]
fn queries_are_accepted_refused_and_evaluated_as_by_the_service() {
    let categories = ["accepted", "refused", "code", "message", "place", "value"];
    let mut report = Report::new(&categories);
    for fact in corpus::facts() {
        let got = planned(&fact);
        judge(&mut report, &fact, &got);
    }
    report.finish();
}

fn judge(report: &mut Report, fact: &Fact, got: &Result<Option<Vec<Value>>, SqlError>) {
    let query = fact.question.text.as_str();
    let detail = |wanted: &str| format!("{}: wanted {wanted}, got {}", fact.subject, shown(got));
    match (&fact.verdict, got) {
        (Verdict::Refused(wanted), Err(error)) => {
            report.note("refused", query, true, String::new);
            judge_refusal(report, fact, wanted, error);
        }
        (Verdict::Refused(wanted), Ok(_)) => {
            let Refusal { code, message, .. } = wanted;
            report.note("refused", query, false, || {
                detail(&format!("{code} {message}"))
            });
        }
        (Verdict::Accepted, _) => {
            report.note("accepted", query, got.is_ok(), || detail("rows"));
        }
        (Verdict::Row(wanted), Ok(rows)) => {
            report.note("accepted", query, true, String::new);
            let only = rows.as_deref().unwrap_or_default();
            let same = only.len() == 1 && deep_equal(&only[0], wanted);
            report.note("value", query, same, || detail(&json::to_string(wanted)));
        }
        (Verdict::Undefined, Ok(rows)) => {
            report.note("accepted", query, true, String::new);
            let none = rows.as_ref().is_some_and(Vec::is_empty);
            report.note("value", query, none, || detail("undefined"));
        }
        (Verdict::Row(_) | Verdict::Undefined, Err(_)) => {
            report.note("accepted", query, false, || detail("a value"));
        }
    }
}

/// The words are compared where the code is right, and so is the place.
fn judge_refusal(report: &mut Report, fact: &Fact, wanted: &Refusal, error: &SqlError) {
    let query = fact.question.text.as_str();
    let Refusal {
        code,
        message,
        place,
    } = wanted;
    let detail = || {
        let (start, end) = (error.start, error.end);
        let subject = &fact.subject;
        format!("{subject}: wanted {code} {message} {place:?}, got {error} ({start}, {end})")
    };
    report.note("code", query, error.code == code, detail);
    if error.code != code {
        return;
    }
    report.note("message", query, error.message == *message, detail);
    if let Some(place) = place {
        report.note("place", query, (error.start, error.end) == *place, detail);
    }
}

fn shown(got: &Result<Option<Vec<Value>>, SqlError>) -> String {
    match got {
        Ok(Some(rows)) => json::to_string(&Value::Array(rows.clone())),
        Ok(None) => "rows that documents decide".to_owned(),
        Err(error) => format!("{error} ({}, {})", error.start, error.end),
    }
}

#[test]
fn filters_reach_the_partition_keys_that_the_service_plans_for() {
    let mut report = Report::new(&["points"]);
    for plan in corpus::plans() {
        let Plan { question, key, .. } = &plan;
        let schema = corpus::schema(plan.has_vectors);
        let got = parse(&question.text)
            .and_then(|query| bind_with(&query, &question.params()?, &schema))
            .map(|bound| bound.partition_filter(key));
        let same = match (&got, &plan.points) {
            (Err(_), _) => false,
            (Ok(PartitionFilter::Everything), wanted) => wanted.is_none(),
            (Ok(PartitionFilter::Nothing), wanted) => wanted.as_ref().is_some_and(Vec::is_empty),
            (Ok(PartitionFilter::Keys(keys)), wanted) => wanted
                .as_ref()
                .is_some_and(|wanted| same_keys(keys, wanted)),
        };
        report.note("points", &question.text, same, || {
            format!("wanted {:?}, got {got:?}", plan.points)
        });
    }
    report.finish();
}

/// Whether the keys are the same, in any order.
fn same_keys(keys: &[Vec<Value>], wanted: &[Vec<Value>]) -> bool {
    let equal = |a: &Vec<Value>, b: &Vec<Value>| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_key_value(a, b))
    };
    keys.len() == wanted.len()
        && wanted
            .iter()
            .all(|one| keys.iter().any(|key| equal(key, one)))
}

/// Numbers in keys are doubles; the service's text for the key of documents without a value is an empty object.
fn same_key_value(key: &Value, wanted: &Value) -> bool {
    match (key, wanted) {
        (Value::Undefined, Value::Object(object)) => object.is_empty(),
        (key, wanted) => match (key.as_f64(), wanted.as_f64()) {
            (Some(key), Some(wanted)) => key.total_cmp(&wanted).is_eq(),
            _ => deep_equal(key, wanted),
        },
    }
}

#[test]
fn the_texts_that_plans_send_to_partitions_are_understood() {
    let mut report = Report::new(&["rewritten"]);
    for plan in corpus::plans() {
        let schema = corpus::schema(plan.has_vectors);
        for text in &plan.rewritten {
            let text = corpus::filled(text);
            let got = plan
                .question
                .params()
                .and_then(|params| bind_with(&parse(&text)?, &params, &schema)?.check_runs());
            report.note("rewritten", &text, got.is_ok(), || format!("{got:?}"));
        }
    }
    report.finish();
}
