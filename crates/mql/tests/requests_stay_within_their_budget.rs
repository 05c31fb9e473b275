//! Nothing that a request computes holds more bytes or takes more steps than its budget has, whatever operator, accumulator or
//! stage makes them. The tables name every one there is: a new one without a row fails.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use crate::common::{object, value};
use lapsedb_mql::error::{EXCEEDED_MEMORY_LIMIT, INTERRUPTED, MAX_TIME_MS_EXPIRED};
use lapsedb_mql::expressions::{Env, operator_names};
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_mql::pattern::MATCH_LIMIT_EXCEEDED;
use lapsedb_mql::stages::{Foreign, Pipeline, Runner, Wait, stage_names};
use lapsedb_mql::{MqlError, Result, accumulator_names};
use lapsedb_testkit::peak;
use lapsedb_value::budget::{Held, PROBE_STEPS, Stop, object_bytes};
use lapsedb_value::{Budget, Object, Value};

/// Bytes of the budget of each case.
const BYTES_MAX: usize = 1 << 20;

/// Bytes that may be allocated beside what is counted: room that lists have left, and what is being made.
const ALLOCATED_MAX: usize = 6 * BYTES_MAX;

/// Length of the text in each document: a quarter of the budget, so that few copies are too many.
const TEXT_BYTES: usize = BYTES_MAX / 4;

/// Documents of a collection.
const DOCUMENTS: i32 = 32;

/// A value that an expression turns into one twice as large, over and over.
const DOUBLING: &[(&str, &str, &str)] = &[
    (
        "$arrayToObject",
        "1",
        r#"{"$arrayToObject":[[["a","$$value"],["b","$$value"]]]}"#,
    ),
    ("$concat", r#""x""#, r#"{"$concat":["$$value","$$value"]}"#),
    (
        "$concatArrays",
        "[1]",
        r#"{"$concatArrays":["$$value","$$value"]}"#,
    ),
    (
        "$let",
        "1",
        r#"{"$let":{"vars":{"a":["$$value","$$value"]},"in":"$$a"}}"#,
    ),
    ("$map", "1", r#"{"$map":{"input":[1,2],"in":"$$value"}}"#),
    (
        "$mergeObjects",
        "{}",
        r#"{"$mergeObjects":[{"a":"$$value"},{"b":"$$value"}]}"#,
    ),
    (
        "$objectToArray",
        "1",
        r#"{"$objectToArray":{"a":"$$value","b":"$$value"}}"#,
    ),
    (
        "$reduce",
        "1",
        r#"{"$reduce":{"input":[1],"initialValue":"$$value","in":["$$value","$$value"]}}"#,
    ),
    (
        "$replaceAll",
        r#""xx""#,
        r#"{"$replaceAll":{"input":"$$value","find":"x","replacement":"xx"}}"#,
    ),
    (
        "$replaceOne",
        r#""x""#,
        r#"{"$replaceOne":{"input":"$$value","find":"x","replacement":{"$concat":["x","$$value"]}}}"#,
    ),
    (
        "$setField",
        "1",
        r#"{"$setField":{"field":"a","value":"$$value","input":{"b":"$$value"}}}"#,
    ),
    (
        "$setUnion",
        "[1]",
        r#"{"$setUnion":["$$value",{"$map":{"input":"$$value","as":"e","in":["$$e",{"$size":"$$value"}]}}]}"#,
    ),
    (
        "$zip",
        "[1]",
        r#"{"$zip":{"inputs":["$$value","$$value"]}}"#,
    ),
];

/// Expressions over one document that would make much more than it holds.
const AT_ONCE: &[(&str, &str)] = &[
    ("$range", r#"{"$range":[0,{"$add":["$n",3000000]}]}"#),
    (
        "$regexFind",
        r#"{"$regexFind":{"input":"$text","regex":"((((((((.*))))))))"}}"#,
    ),
    (
        "$regexFindAll",
        r#"{"$regexFindAll":{"input":"$text","regex":"x"}}"#,
    ),
    (
        "$replaceAll",
        r#"{"$replaceAll":{"input":"$text","find":"x","replacement":"$text"}}"#,
    ),
    ("$split", r#"{"$split":["$text","x"]}"#),
    (
        "$zip",
        r#"{"$zip":{"inputs":[{"$range":[0,{"$add":["$n",1000]}]},[1]],"useLongestLength":true,"defaults":[1,"$text"]}}"#,
    ),
];

/// Operators whose value is at most a few times as large as what they are given.
const NOT_LARGER: &[&str] = &[
    "$abs",
    "$acos",
    "$acosh",
    "$add",
    "$allElementsTrue",
    "$and",
    "$anyElementTrue",
    "$arrayElemAt",
    "$asin",
    "$asinh",
    "$atan",
    "$atan2",
    "$atanh",
    "$avg",
    "$binarySize",
    "$bitAnd",
    "$bitNot",
    "$bitOr",
    "$bitXor",
    "$bsonSize",
    "$ceil",
    "$cmp",
    "$cond",
    "$const",
    "$convert",
    "$cos",
    "$cosh",
    "$dateAdd",
    "$dateDiff",
    "$dateFromParts",
    "$dateFromString",
    "$dateSubtract",
    "$dateToParts",
    "$dateToString",
    "$dateTrunc",
    "$dayOfMonth",
    "$dayOfWeek",
    "$dayOfYear",
    "$degreesToRadians",
    "$divide",
    "$eq",
    "$exp",
    "$filter",
    "$first",
    "$firstN",
    "$floor",
    "$getField",
    "$gt",
    "$gte",
    "$hour",
    "$ifNull",
    "$in",
    "$indexOfArray",
    "$indexOfBytes",
    "$indexOfCP",
    "$isArray",
    "$isNumber",
    "$isoDayOfWeek",
    "$isoWeek",
    "$isoWeekYear",
    "$last",
    "$lastN",
    "$literal",
    "$ln",
    "$log",
    "$log10",
    "$lt",
    "$lte",
    "$ltrim",
    "$max",
    "$maxN",
    "$median",
    "$meta",
    "$millisecond",
    "$min",
    "$minN",
    "$minute",
    "$mod",
    "$month",
    "$multiply",
    "$ne",
    "$not",
    "$or",
    "$percentile",
    "$pow",
    "$radiansToDegrees",
    "$rand",
    "$regexMatch",
    "$reverseArray",
    "$round",
    "$rtrim",
    "$second",
    "$setDifference",
    "$setEquals",
    "$setIntersection",
    "$setIsSubset",
    "$sin",
    "$sinh",
    "$size",
    "$slice",
    "$sortArray",
    "$sqrt",
    "$stdDevPop",
    "$stdDevSamp",
    "$strLenBytes",
    "$strLenCP",
    "$strcasecmp",
    "$substr",
    "$substrBytes",
    "$substrCP",
    "$subtract",
    "$sum",
    "$switch",
    "$tan",
    "$tanh",
    "$toBool",
    "$toDate",
    "$toDecimal",
    "$toDouble",
    "$toHashedIndexKey",
    "$toInt",
    "$toLong",
    "$toLower",
    "$toObjectId",
    "$toString",
    "$toUUID",
    "$toUpper",
    "$trim",
    "$trunc",
    "$tsIncrement",
    "$tsSecond",
    "$type",
    "$unsetField",
    "$week",
    "$year",
];

/// Accumulators that keep what all documents bring.
const GATHERING: &[(&str, &str)] = &[
    ("$addToSet", r#"{"$addToSet":{"n":"$n","t":"$text"}}"#),
    (
        "$bottomN",
        r#"{"$bottomN":{"n":1000,"sortBy":{"n":1},"output":"$text"}}"#,
    ),
    ("$firstN", r#"{"$firstN":{"n":1000,"input":"$text"}}"#),
    ("$lastN", r#"{"$lastN":{"n":1000,"input":"$text"}}"#),
    ("$maxN", r#"{"$maxN":{"n":1000,"input":"$text"}}"#),
    (
        "$mergeObjects",
        r#"{"$mergeObjects":{"$arrayToObject":[[[{"$toString":"$n"},"$text"]]]}}"#,
    ),
    ("$minN", r#"{"$minN":{"n":1000,"input":"$text"}}"#),
    ("$push", r#"{"$push":"$text"}"#),
    (
        "$topN",
        r#"{"$topN":{"n":1000,"sortBy":{"n":1},"output":"$text"}}"#,
    ),
];

/// Accumulators that keep one value, or numbers.
const NOT_GATHERING: &[&str] = &[
    "$avg",
    "$bottom",
    "$count",
    "$first",
    "$last",
    "$max",
    "$median",
    "$min",
    "$percentile",
    "$stdDevPop",
    "$stdDevSamp",
    "$sum",
    "$top",
];

/// Stages that make more than they are given, or keep it.
const STAGES: &[(&str, &str)] = &[
    (
        "$addFields",
        r#"{"$addFields":{"a":{"$map":{"input":{"$range":[0,100]},"in":"$text"}}}}"#,
    ),
    (
        "$bucket",
        r#"{"$bucket":{"groupBy":"$n","boundaries":[0,1000],"output":{"all":{"$push":"$text"}}}}"#,
    ),
    (
        "$bucketAuto",
        r#"{"$bucketAuto":{"groupBy":"$n","buckets":1}}"#,
    ),
    (
        "$densify",
        r#"{"$project":{"n":1}},{"$densify":{"field":"n","range":{"step":0.001,"bounds":"full"}}}"#,
    ),
    (
        "$documents",
        r#"{"$documents":{"$map":{"input":{"$range":[0,100000]},"in":{"a":"$$this"}}}}"#,
    ),
    (
        "$facet",
        r#"{"$facet":{"a":[{"$match":{}}],"b":[{"$match":{}}]}}"#,
    ),
    (
        "$fill",
        r#"{"$fill":{"sortBy":{"n":1},"output":{"missing":{"method":"locf"}}}}"#,
    ),
    (
        "$geoNear",
        r#"{"$geoNear":{"near":[0,0],"key":"place","distanceField":"d"}}"#,
    ),
    (
        "$graphLookup",
        r#"{"$graphLookup":{"from":"c","startWith":"$n","connectFromField":"next","connectToField":"n","as":"a"}}"#,
    ),
    (
        "$group",
        r#"{"$group":{"_id":"$n","t":{"$first":"$text"}}}"#,
    ),
    (
        "$lookup",
        r#"{"$lookup":{"from":"c","pipeline":[],"as":"a"}}"#,
    ),
    (
        "$project",
        r#"{"$project":{"a":{"$map":{"input":{"$range":[0,100]},"in":"$text"}}}}"#,
    ),
    (
        "$replaceRoot",
        r#"{"$replaceRoot":{"newRoot":{"a":{"$map":{"input":{"$range":[0,100]},"in":"$text"}}}}}"#,
    ),
    (
        "$replaceWith",
        r#"{"$replaceWith":{"a":{"$map":{"input":{"$range":[0,100]},"in":"$text"}}}}"#,
    ),
    ("$sample", r#"{"$sample":{"size":1000}}"#),
    ("$set", r#"{"$set":{"list.a":"$text"}}"#),
    (
        "$setWindowFields",
        r#"{"$setWindowFields":{"sortBy":{"n":1},"output":{"a":{"$push":"$text","window":{"documents":["unbounded","current"]}}}}}"#,
    ),
    ("$sort", r#"{"$sort":{"n":1}}"#),
    (
        "$sortByCount",
        r#"{"$sortByCount":{"$concat":["$text",{"$toString":"$n"}]}}"#,
    ),
    ("$unionWith", r#"{"$unionWith":"c"}"#),
    ("$unwind", r#"{"$unwind":"$list"}"#),
];

/// Stages that hand on what they are given, or less, or that the service serves.
const NOT_MAKING: &[&str] = &[
    "$changeStream",
    "$collStats",
    "$count",
    "$currentOp",
    "$indexStats",
    "$limit",
    "$listLocalSessions",
    "$listSessions",
    "$match",
    "$merge",
    "$out",
    "$planCacheStats",
    "$redact",
    "$skip",
    "$unset",
];

/// A collection of its own size: each document names the next.
struct Others;

impl Foreign for Others {
    fn documents<'a>(
        &'a self,
        _: &'a str,
        filter: Option<&'a Filter>,
        held: &'a Held,
    ) -> Wait<'a, Vec<Object>> {
        let read = |n: i32| {
            let document = document(n);
            let fits = filter.map_or(Ok(true), |filter| filter.matches(&document))?;
            held.add(object_bytes(&document))?;
            Ok(fits.then_some(document))
        };
        let all: Result<Vec<Option<Object>>> = (0..DOCUMENTS).map(read).collect();
        let kept = all.map(|all| all.into_iter().flatten().collect());
        Box::pin(std::future::ready(kept))
    }
}

fn document(n: i32) -> Object {
    let mut document = object(&format!(
        r#"{{"_id":{n},"n":{n},"k":1,"next":{},"place":[0,{n}]}}"#,
        n + 1
    ));
    document.push("text", "x".repeat(TEXT_BYTES));
    document.push("list", Value::Array((0..100).map(Value::Int32).collect()));
    document
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("the future waits"),
    }
}

fn options(budget: Budget) -> Options {
    Options {
        env: Arc::new(Env::new(0, 1).within(Arc::new(budget))),
        ..Options::default()
    }
}

/// Runs stages over documents, one after the other, and drops what they make.
fn run(stages: &str, budget: Budget, documents: i32) -> Result<()> {
    let options = options(budget);
    let stages = value(stages);
    let pipeline = Pipeline::parse(stages.as_array().unwrap(), &options)?;
    let mut runner = Runner::new(&pipeline);
    for n in 0..documents {
        now(runner.push(vec![document(n)], &Others))?;
        while runner.take().is_some() {}
    }
    now(runner.finish(&Others))?;
    while runner.take().is_some() {}
    Ok(())
}

/// Runs stages that must end with the error of the budget, with bounded memory.
fn runs_out(name: &str, stages: &str) {
    let (bytes, outcome) = peak(|| run(stages, Budget::new(BYTES_MAX), DOCUMENTS));
    let codes = outcome.map_err(|error: MqlError| error.code);
    assert_eq!(codes, Err(EXCEEDED_MEMORY_LIMIT), "{name}: {stages}");
    assert!(bytes < ALLOCATED_MAX, "{name} allocated {bytes} bytes");
}

/// Every name is in one of the tables, and nothing else is.
fn all_are_named<'a>(
    names: impl Iterator<Item = &'a str>,
    rows: impl Iterator<Item = &'a str>,
    others: &[&'a str],
) {
    let rows: BTreeSet<&str> = rows.collect();
    let others: BTreeSet<&str> = others.iter().copied().collect();
    assert_eq!(rows.intersection(&others).count(), 0);
    let known: BTreeSet<&str> = rows.union(&others).copied().collect();
    assert_eq!(known, names.collect());
}

#[test]
fn every_operator_that_can_make_more_than_it_is_given_runs_out_of_budget() {
    let doubling = DOUBLING.iter().map(|(name, ..)| *name);
    let at_once = AT_ONCE.iter().map(|(name, _)| *name);
    all_are_named(operator_names(), doubling.chain(at_once), NOT_LARGER);
    for (name, seed, body) in DOUBLING {
        let input = r#"{"$range":[0,64]}"#;
        let loops =
            format!(r#"{{"$reduce":{{"input":{input},"initialValue":{seed},"in":{body}}}}}"#);
        runs_out(name, &format!(r#"[{{"$project":{{"a":{loops}}}}}]"#));
    }
    for (name, body) in AT_ONCE {
        runs_out(name, &format!(r#"[{{"$project":{{"a":{body}}}}}]"#));
    }
}

#[test]
fn every_accumulator_that_keeps_what_it_is_given_runs_out_of_budget() {
    let gathering = GATHERING.iter().map(|(name, _)| *name);
    all_are_named(accumulator_names(), gathering, NOT_GATHERING);
    for (name, body) in GATHERING {
        runs_out(
            name,
            &format!(r#"[{{"$group":{{"_id":null,"a":{body}}}}}]"#),
        );
    }
    for name in NOT_GATHERING {
        let body = match *name {
            "$count" => r#"{"$count":{}}"#.to_owned(),
            "$bottom" | "$top" => {
                format!(r#"{{"{name}":{{"sortBy":{{"n":1}},"output":"$text"}}}}"#)
            }
            "$median" => r#"{"$median":{"input":"$n","method":"approximate"}}"#.to_owned(),
            "$percentile" => {
                r#"{"$percentile":{"input":"$n","p":[0.5],"method":"approximate"}}"#.to_owned()
            }
            name => format!(r#"{{"{name}":"$text"}}"#),
        };
        let stages = format!(r#"[{{"$group":{{"_id":null,"a":{body}}}}}]"#);
        let done = run(&stages, Budget::new(BYTES_MAX), 4 * DOCUMENTS);
        assert_eq!(done, Ok(()), "{name} keeps one value");
    }
}

#[test]
fn every_stage_that_makes_or_keeps_much_runs_out_of_budget() {
    let making = STAGES.iter().map(|(name, _)| *name);
    all_are_named(stage_names(), making, NOT_MAKING);
    for (name, stage) in STAGES {
        runs_out(name, &format!("[{stage}]"));
    }
}

#[test]
fn what_passes_through_is_not_held() {
    for stages in [
        r#"[{"$match":{"n":{"$gte":0}}},{"$addFields":{"a":{"$concat":["$text","$text"]}}},{"$unset":"a"}]"#,
        r#"[{"$unwind":"$list"},{"$group":{"_id":"$list","n":{"$sum":1}}}]"#,
        r#"[{"$group":{"_id":null,"l":{"$last":{"$substrBytes":["$text",0,"$n"]}},"m":{"$mergeObjects":{"a":"$n"}}}}]"#,
        r#"[{"$sort":{"n":1}},{"$limit":1}]"#,
        r#"[{"$set":{"a":{"$reduce":{"input":{"$range":[0,100]},"initialValue":"","in":{"$substrBytes":["$text",0,"$$this"]}}}}}]"#,
    ] {
        let budget = match stages.contains("$unwind") {
            true => Budget::new(128 * BYTES_MAX),
            false => Budget::new(2 * BYTES_MAX),
        };
        assert_eq!(run(stages, budget, 8 * DOCUMENTS), Ok(()), "{stages}");
    }
}

#[test]
fn constants_count_before_any_document_is_read() {
    let ranges = vec![r#"{"$range":[0,10000]}"#; 100].join(",");
    let stages = format!(r#"[{{"$project":{{"a":[{ranges}]}}}}]"#);
    let (bytes, outcome) = peak(|| run(&stages, Budget::new(BYTES_MAX), 0));
    assert_eq!(outcome.unwrap_err().code, EXCEEDED_MEMORY_LIMIT);
    assert!(bytes < ALLOCATED_MAX, "{bytes} bytes");
}

/// A loop within loops, whose end nobody would live to see.
const ENDLESS: &str = r#"[{"$project":{"a":{"$map":{"input":{"$range":[0,10000]},"as":"a","in":{"$size":{"$filter":{"input":
    {"$range":[0,10000]},"as":"b","cond":{"$gt":[{"$size":{"$range":[0,1000]}},{"$add":["$$a","$$b"]}]}}}}}}}}]"#;

#[test]
fn loops_within_loops_end_with_their_steps() {
    let outcome = run(ENDLESS, Budget::default().with_steps_max(200_000), 1);
    assert_eq!(outcome.unwrap_err().code, MAX_TIME_MS_EXPIRED);
}

#[test]
fn loops_within_loops_end_when_somebody_says_so() {
    for (stop, code) in [
        (Stop::Interrupted, INTERRUPTED),
        (Stop::Time, MAX_TIME_MS_EXPIRED),
    ] {
        let budget = Budget::default();
        let asked = AtomicBool::new(false);
        // The second look is the one that says no.
        budget.set_probe(Arc::new(move || {
            asked.swap(true, Ordering::Relaxed).then_some(stop)
        }));
        assert_eq!(run(ENDLESS, budget, 1).unwrap_err().code, code);
    }
}

#[test]
fn long_sorts_sets_and_searches_end_with_their_steps() {
    let sets = vec!["\"$$big\""; 1000].join(",");
    let bodies = [
        format!(r#"{{"$setUnion":[{sets}]}}"#),
        format!(r#"{{"$setEquals":[{sets}]}}"#),
        format!(r#"{{"$setIntersection":[{sets}]}}"#),
        format!(
            r#"{{"$mergeObjects":[{}]}}"#,
            vec!["\"$$object\""; 1000].join(",")
        ),
        r#"{"$sortArray":{"input":"$$big","sortBy":-1}}"#.to_owned(),
        r#"{"$maxN":{"n":100000,"input":"$$big"}}"#.to_owned(),
    ];
    for body in bodies {
        let pairs = r#"{"$map":{"input":{"$range":[0,20000]},"in":[{"$toString":"$$this"},1]}}"#;
        let stages = format!(
            r#"[{{"$project":{{"a":{{"$let":{{"vars":{{"big":{{"$range":[0,20000]}},"object":{{"$arrayToObject":{pairs}}}}},"in":{body}}}}}}}}}]"#
        );
        let steps = 100_000 + 8 * u64::from(PROBE_STEPS);
        let outcome = run(&stages, Budget::default().with_steps_max(steps), 1);
        assert_eq!(
            outcome.map_err(|error| error.code),
            Err(MAX_TIME_MS_EXPIRED),
            "{body:.40}"
        );
    }
}

#[test]
fn objects_are_put_together_in_linear_time() {
    let pairs = r#"{"$map":{"input":{"$range":[0,200000]},"in":[{"$concat":["name of ",{"$toString":"$$this"}]},1]}}"#;
    let stages = format!(
        r#"[{{"$project":{{"a":{{"$size":{{"$objectToArray":{{"$mergeObjects":[{{"$arrayToObject":{pairs}}},{{"b":1}}]}}}}}}}}}}]"#
    );
    assert_eq!(run(&stages, Budget::default(), 1), Ok(()));
}

#[test]
fn patterns_have_a_size_and_their_searches_count() {
    let matching = |pattern: &str, budget: Budget| {
        let stages = format!(r#"[{{"$match":{{"text":{{"$regex":"{pattern}"}}}}}}]"#);
        run(&stages, budget, 1).map_err(|error| error.code)
    };
    assert_eq!(matching("x+y", Budget::default()), Ok(()));
    assert_eq!(
        matching(&"x".repeat(32_765), Budget::default()),
        Err(51091),
        "too long"
    );
    assert_eq!(
        matching("(x{1000}){1000}", Budget::default()),
        Err(51091),
        "too large"
    );
    assert_eq!(
        matching("x", Budget::default().with_steps_max(1)),
        Err(MAX_TIME_MS_EXPIRED),
        "the search counts"
    );
    let branches: Vec<String> = (0..2000)
        .map(|n| format!(r#"{{"text":{{"$regex":"x{n}"}}}}"#))
        .collect();
    let stages = format!(r#"[{{"$match":{{"$or":[{}]}}}}]"#, branches.join(","));
    let (bytes, outcome) = peak(|| run(&stages, Budget::new(BYTES_MAX), 1));
    assert_eq!(
        outcome.unwrap_err().code,
        EXCEEDED_MEMORY_LIMIT,
        "compiled patterns count"
    );
    assert!(bytes < 2 * ALLOCATED_MAX, "{bytes} bytes");
}

#[test]
fn a_filter_takes_the_match_limit_for_no_match_and_an_expression_reports_it() {
    // The text is of one sign, so that what comes behind it fails in every one of 2^n ways.
    let hostile = "^(?:x|x)*(?=!)";
    let filter = format!(r#"[{{"$match":{{"text":{{"$regex":"{hostile}"}}}}}}]"#);
    assert_eq!(run(&filter, Budget::default(), 1), Ok(()));
    for operator in ["$regexMatch", "$regexFind", "$regexFindAll"] {
        let stages = format!(
            r#"[{{"$project":{{"a":{{"{operator}":{{"input":"$text","regex":"{hostile}"}}}}}}}}]"#
        );
        let refused = run(&stages, Budget::default(), 1).unwrap_err();
        assert_eq!(refused.code, MATCH_LIMIT_EXCEEDED, "{operator}");
    }
}
