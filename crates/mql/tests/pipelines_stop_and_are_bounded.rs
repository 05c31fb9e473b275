//! What the service relies on: a pipeline says when it has enough, what it begins and ends with, and holds no more than its limit.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::common::{object, text, value};
use lapsedb_mql::Result;
use lapsedb_mql::filter::Options;
use lapsedb_mql::stages::{
    Flow, NoForeign, Pipeline, Runner, STAGE_BYTES_MAX, Source, WhenMatched, WhenNotMatched,
};
use lapsedb_value::{Object, Value};

fn pipeline(text: &str) -> Result<Pipeline> {
    Pipeline::parse(value(text).as_array().unwrap(), &Options::default())
}

/// Nothing here waits, so one look at the future suffices.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("the future waits"),
    }
}

fn code(text: &str) -> i32 {
    pipeline(text).unwrap_err().code
}

#[test]
fn a_limit_stops_the_source_as_soon_as_it_is_reached() {
    let pipeline = pipeline(r#"[{"$match":{"a":1}},{"$limit":2},{"$project":{"_id":0}}]"#).unwrap();
    let mut runner = Runner::new(&pipeline);
    let mut flows = Vec::new();
    for a in [1, 0, 1, 1] {
        let document = object(&format!(r#"{{"_id":1,"a":{a}}}"#));
        flows.push(now(runner.push(vec![document], &NoForeign)).unwrap());
    }
    assert_eq!(flows, [Flow::More, Flow::More, Flow::Enough, Flow::Enough]);
    now(runner.finish(&NoForeign)).unwrap();
    assert_eq!(runner.ready(), 2);
    assert_eq!(text(&runner.take().unwrap()), r#"{"a":1}"#);
}

#[test]
fn a_group_before_a_limit_still_sees_everything() {
    let pipeline = pipeline(
        r#"[{"$group":{"_id":"$g","n":{"$sum":1}}},{"$sort":{"n":-1}},{"$limit":1},{"$count":"c"}]"#,
    )
    .unwrap();
    let mut runner = Runner::new(&pipeline);
    for g in [1, 2, 2, 3] {
        let document = object(&format!(r#"{{"g":{g}}}"#));
        assert_eq!(now(runner.push(vec![document], &NoForeign)), Ok(Flow::More));
    }
    now(runner.finish(&NoForeign)).unwrap();
    assert_eq!(text(&runner.take().unwrap()), r#"{"c":1}"#);
    assert!(runner.take().is_none());
}

#[test]
fn a_stage_that_would_hold_too_much_is_refused() {
    for stage in [
        r#"{"$group":{"_id":null,"all":{"$push":"$s"}}}"#,
        r#"{"$sort":{"s":1}}"#,
        r#"{"$bucketAuto":{"groupBy":"$s","buckets":2}}"#,
        r#"{"$setWindowFields":{"output":{"n":{"$count":{}}}}}"#,
        r#"{"$facet":{"all":[]}}"#,
    ] {
        let pipeline = pipeline(&format!("[{stage}]")).unwrap();
        let mut runner = Runner::new(&pipeline);
        let mut document = Object::new();
        document.push("s", "x".repeat(4 << 20));
        let pushes = STAGE_BYTES_MAX / (4 << 20) + 1;
        let outcome = (0..pushes)
            .map(|_| now(runner.push(vec![document.clone()], &NoForeign)))
            .find(Result::is_err);
        assert_eq!(outcome.unwrap().unwrap_err().code, 292, "{stage}");
    }
}

#[test]
fn a_sort_with_a_limit_holds_only_what_is_asked_for() {
    let pipeline = pipeline(r#"[{"$sort":{"n":1}},{"$skip":1},{"$limit":2},{"$project":{"n":1}}]"#);
    let mut runner = Runner::new(&pipeline.unwrap());
    for n in 0..200 {
        let mut document = object(&format!(r#"{{"n":{}}}"#, (n * 7) % 200));
        document.push("s", "x".repeat(1 << 20));
        now(runner.push(vec![document], &NoForeign)).unwrap();
    }
    now(runner.finish(&NoForeign)).unwrap();
    let found: Vec<String> = std::iter::from_fn(|| runner.take())
        .map(|row| text(&row))
        .collect();
    assert_eq!(found, [r#"{"n":1}"#, r#"{"n":2}"#]);
}

#[test]
fn the_service_learns_what_a_pipeline_begins_with() {
    let mut pipeline = pipeline(
        r#"[{"$match":{"a":1}},{"$sort":{"b":-1}},{"$skip":3},{"$limit":4},{"$group":{"_id":1}}]"#,
    )
    .unwrap();
    let leading = pipeline.leading();
    assert!(leading.filter.is_some_and(|filter| !filter.is_everything()));
    let fields: Vec<_> = leading.sort.unwrap().fields().collect();
    assert_eq!(fields, [("b", true)]);
    assert_eq!(leading.limit, Some(7));
    pipeline.assume_sorted();
    assert!(pipeline.leading().sort.is_none());
    assert!(pipeline.leading().filter.is_some());
}

#[test]
fn sources_and_sinks_are_told_apart_from_the_stages_that_run() {
    let stats = pipeline(r#"[{"$collStats":{"count":{}}},{"$limit":1}]"#).unwrap();
    assert!(matches!(stats.source(), Some(Source::CollStats(_))));
    let out = pipeline(r#"[{"$match":{}},{"$out":"copy"}]"#).unwrap();
    assert_eq!(out.out().map(|out| out.collection.as_str()), Some("copy"));
    let merge = pipeline(
        r#"[{"$merge":{"into":{"db":"d","coll":"c"},"on":["a","b"],"whenMatched":[{"$set":{"x":"$$new.x"}}],"whenNotMatched":"discard"}}]"#,
    )
    .unwrap();
    let merge = merge.merge().unwrap();
    assert_eq!(merge.database.as_deref(), Some("d"));
    assert_eq!(merge.on, ["a", "b"]);
    assert!(
        matches!(&merge.when_matched, WhenMatched::Pipeline { stages, .. } if stages.len() == 1)
    );
    assert_eq!(merge.when_not_matched, WhenNotMatched::Discard);
}

#[test]
fn an_update_is_a_pipeline_of_few_stages() {
    let stages = value(
        r#"[{"$set":{"n":{"$add":["$n",1]}}},{"$unset":"x"},{"$replaceWith":{"$mergeObjects":["$$ROOT",{"y":1}]}}]"#,
    );
    let update = Pipeline::parse_update(stages.as_array().unwrap(), &Options::default()).unwrap();
    let updated = update.apply(object(r#"{"_id":1,"n":4,"x":0}"#)).unwrap();
    assert_eq!(text(&updated), r#"{"_id":1,"n":5,"y":1}"#);
    let stages = [value(r#"{"$group":{"_id":1}}"#)];
    let refused = Pipeline::parse_update(&stages, &Options::default());
    assert_eq!(refused.unwrap_err().code, 72);
}

#[test]
fn pipelines_inside_pipelines_have_a_limit() {
    let mut text = r#"{"$match":{}}"#.to_owned();
    for _ in 0..25 {
        text = format!(r#"{{"$unionWith":{{"coll":"c","pipeline":[{text}]}}}}"#);
    }
    assert_eq!(code(&format!("[{text}]")), 232);
    let many = Value::Array(vec![value(r#"{"$match":{}}"#); 1001]).to_string();
    assert_eq!(code(&many), 7749501);
}

#[test]
fn the_second_tier_of_accumulators_that_came_with_7_0_is_exact() {
    let pipeline = pipeline(
        r#"[{"$group":{"_id":null,"m":{"$median":{"input":"$n","method":"approximate"}},"p":{"$percentile":{"input":"$n","p":[0.25,1],"method":"approximate"}}}},{"$project":{"_id":0}}]"#,
    )
    .unwrap();
    let mut runner = Runner::new(&pipeline);
    let documents = (1..=5)
        .map(|n| object(&format!(r#"{{"n":{n}}}"#)))
        .collect();
    now(runner.push(documents, &NoForeign)).unwrap();
    now(runner.finish(&NoForeign)).unwrap();
    assert_eq!(text(&runner.take().unwrap()), r#"{"m":3,"p":[2,5]}"#);
}

#[test]
fn a_switch_that_can_take_no_branch_is_refused_when_it_is_read() {
    let switch = |branches: &str| format!(r#"[{{"$project":{{"r":{{"$switch":{branches}}}}}}}]"#);
    assert_eq!(code(&switch(r#"{"branches":[]}"#)), 40_068);
    assert_eq!(code(&switch(r#"{"default":1}"#)), 40_068);
    for never in [
        "false",
        "0",
        "null",
        r#"{"$eq":[1,2]}"#,
        r#"{"$literal":0}"#,
    ] {
        let branches = format!(r#""branches":[{{"case":{never},"then":1}}]"#);
        assert_eq!(code(&switch(&format!("{{{branches}}}"))), 40_069, "{never}");
        assert!(pipeline(&switch(&format!(r#"{{{branches},"default":1}}"#))).is_ok());
    }
    // Whether a case that reads the document is true is known only then.
    let reads = r#"{"branches":[{"case":false,"then":1},{"case":"$a","then":2}]}"#;
    assert!(pipeline(&switch(reads)).is_ok());
}
