//! Whatever index a query is read from, its rows are those of a scan of everything that lives: the same, in the same order,
//! in pages of any size, after writes, deletes, changes of the TTL and moves of the clock, in memory and on disk.

mod grammar;

use crate::support::{ALWAYS, Bench, object, value};
use grammar::{Asked, Order};
use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::{Paging, Selection, feed};
use lapsedb_service::items::query::{Metrics, Request, Tuning, query_tuned};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::{PartitionKey, Place, collections, resource};
use lapsedb_sql::Params;
use lapsedb_value::{Object, Value, json};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Queries that are asked between two changes.
const QUERIES_A_STEP: usize = 5;
/// Stories of a usual run; each asks up to this many times six times five queries.
const STORIES: u32 = 80;

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8, String),
    Delete(u8, u8),
    Default(Option<i64>),
    Wait(u64),
}

/// A query, the size of its pages, and the partition it is asked of.
type Ask = (Asked, usize, Option<u8>);

#[derive(Clone, Debug)]
struct Story {
    first: Vec<(u8, u8, String)>,
    steps: Vec<(Step, Vec<Ask>)>,
    /// Whether few entries count as many, so that every way of reading is taken.
    eager: u8,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u8..3, 0_u8..9, grammar::document()).prop_map(|(p, i, d)| Step::Put(p, i, d)),
        2 => (0_u8..3, 0_u8..9).prop_map(|(p, i)| Step::Delete(p, i)),
        1 => prop_oneof![Just(None), Just(Some(-1)), Just(Some(5)), Just(Some(100))].prop_map(Step::Default),
        2 => prop_oneof![Just(500), Just(1000), Just(3000), Just(7000)].prop_map(Step::Wait),
    ]
}

fn story() -> impl Strategy<Value = Story> {
    let asked = || {
        (
            grammar::query(),
            1_usize..9,
            prop::option::weighted(0.2, 0_u8..3),
        )
    };
    let asks = prop::collection::vec(asked(), QUERIES_A_STEP);
    (
        prop::collection::vec((0_u8..3, 0_u8..9, grammar::document()), 0..27),
        prop::collection::vec((step(), asks), 1..7),
        0_u8..3,
    )
        .prop_map(|(first, steps, eager)| Story {
            first,
            steps,
            eager,
        })
}

fn tuning(eager: u8) -> Tuning {
    let usual = Tuning::default();
    match eager {
        0 => usual,
        1 => Tuning {
            probes: [1, 2, 3],
            sorted_set_max: 2,
            partition_set_max: 2,
            gathered_max: 2,
            gathered_unindexed_max: 3,
            intersect_min: 0,
            streams_max: 2,
            ..usual
        },
        _ => Tuning {
            probes: [0, 0, 0],
            sorted_set_max: 0,
            partition_set_max: 0,
            gathered_max: 0,
            gathered_unindexed_max: 0,
            intersect_min: 0,
            streams_max: 100,
            shapes_max: 1,
        },
    }
}

const POLICY: &str = r#","indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/hidden/*"}],
    "compositeIndexes":[[{"path":"/s","order":"ascending"},{"path":"/n","order":"descending"}],
        [{"path":"/n","order":"descending"},{"path":"/s","order":"ascending"}]]}"#;

fn definition(ttl: Option<i64>) -> Value {
    let ttl = ttl.map_or_else(String::new, |ttl| format!(",\"defaultTtl\":{ttl}"));
    let key = "{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}";
    value(&format!(
        "{{\"id\":\"c\",\"partitionKey\":{key}{ttl}{POLICY}}}"
    ))
}

fn partition(p: u8) -> PartitionKey {
    PartitionKey::parse(&format!("[\"p{p}\"]")).unwrap()
}

async fn write(bench: &Bench, p: u8, action: Action) {
    let op = ItemOp {
        action,
        partition: Some(partition(p)),
        if_match: None,
        if_none_match: None,
        minimal: false,
    };
    // Deleting what is not there fails, and that is all right.
    let _ = items::run(&bench.ctx, ("db", "c"), None, &[op], Mode::Each)
        .await
        .unwrap();
}

async fn put(bench: &Bench, p: u8, i: u8, document: &str) {
    let body = format!("{{\"id\":\"i{i}\",\"pk\":\"p{p}\"{document}}}");
    write(
        bench,
        p,
        Action::Upsert(Document::new(object(&body)).unwrap()),
    )
    .await;
}

/// Everything that is alive, as queries see it, in the order of creation.
async fn living(bench: &Bench) -> Vec<Value> {
    let paging = Paging {
        items_max: Some(1000),
        resume: None,
    };
    let page = feed(
        &bench.ctx,
        ("db", "c"),
        None,
        &Selection::default(),
        &paging,
    )
    .await
    .unwrap();
    let collection = &page.scope.collection;
    let items = page.items.iter();
    items
        .map(|(_, item)| resource::item_value(collection, item).unwrap())
        .collect()
}

async fn rows(
    bench: &Bench,
    text: &str,
    size: usize,
    p: Option<u8>,
    tuning: &Tuning,
) -> Vec<String> {
    let mut body = Object::new();
    body.push("query", text);
    let posted = Query::of_body(&Value::Object(body)).unwrap();
    let mut rows = Vec::new();
    let mut continuation: Option<String> = None;
    for _ in 0..1000 {
        let request = Request {
            selection: Selection {
                partition: p.map(partition),
                ..Selection::default()
            },
            items_max: Some(size),
            continuation: continuation.as_deref(),
            metrics: Metrics::default(),
        };
        let page = query_tuned(&bench.ctx, ("db", "c"), None, &posted, request, tuning)
            .await
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert!(page.rows.len() <= size, "{text}");
        rows.extend(page.rows.iter().map(json::to_string));
        match page.continuation {
            Some(token) => continuation = Some(token),
            None => return rows,
        }
    }
    panic!("{text} never ends");
}

fn naive(text: &str, documents: &[Value], now: i64) -> Vec<String> {
    let rows = lapsedb_sql::run(text, &Params::new(), documents.iter().cloned(), now);
    let rows = rows.unwrap_or_else(|error| panic!("{text}: {error:?}"));
    rows.iter().map(json::to_string).collect()
}

async fn check(
    bench: &Bench,
    documents: &[Value],
    (asked, size, p): &Ask,
    tuning: &Tuning,
) -> Result<(), TestCaseError> {
    let own = |document: &&Value| {
        p.is_none_or(|p| document.get("pk").as_str() == Some(format!("p{p}").as_str()))
    };
    let documents: Vec<Value> = documents.iter().filter(own).cloned().collect();
    let now = i64::try_from(bench.service.clock().now().0).unwrap();
    let mut planned = rows(bench, &asked.text, *size, *p, tuning).await;
    let mut expected = naive(&asked.text, &documents, now);
    match asked.order {
        Order::Fixed => {}
        Order::Free => {
            planned.sort_unstable();
            expected.sort_unstable();
        }
        Order::Window => {
            prop_assert_eq!(planned.len(), expected.len(), "{}", asked.text);
            let mut all = naive(&asked.all, &documents, now);
            for row in planned {
                let at = all.iter().position(|other| *other == row);
                let at = at.ok_or_else(|| TestCaseError::fail(format!("{}: {row}", asked.text)))?;
                all.swap_remove(at);
            }
            return Ok(());
        }
    }
    prop_assert_eq!(planned, expected, "{} by {} of {:?}", asked.text, size, p);
    Ok(())
}

async fn tell(place: Place, story: &Story) -> Result<(), TestCaseError> {
    let bench = Bench::at(place, false).await;
    bench.database("db").await;
    collections::create(&bench.ctx, "db", &definition(Some(20)), None)
        .await
        .unwrap();
    let tuning = tuning(story.eager);
    for (p, i, document) in &story.first {
        put(&bench, *p, *i, document).await;
    }
    for (step, asks) in &story.steps {
        match step {
            Step::Put(p, i, document) => put(&bench, *p, *i, document).await,
            Step::Delete(p, i) => {
                write(
                    &bench,
                    *p,
                    Action::Delete {
                        id: format!("i{i}"),
                    },
                )
                .await
            }
            Step::Default(ttl) => {
                collections::replace(&bench.ctx, ("db", "c"), &definition(*ttl), &ALWAYS)
                    .await
                    .unwrap();
            }
            Step::Wait(ms) => {
                bench.service.clock().advance(*ms).unwrap();
            }
        }
        let documents = living(&bench).await;
        for asked in asks {
            check(&bench, &documents, asked, &tuning).await?;
        }
    }
    Ok(())
}

type NewPlace = fn() -> (Place, Option<tempfile::TempDir>);

/// Without optimisation a grammar needs more stack than a test has.
const STACK_BYTES: usize = 128 << 20;

fn run(stories: u32, place: NewPlace) {
    let _limit = lapsedb_testkit::TimeLimit::start();
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let told = thread.spawn(move || tell_all(stories, place)).unwrap();
    told.join().unwrap();
}

fn tell_all(stories: u32, place: NewPlace) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let config = Config {
        cases: stories,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let told = runner.run(&story(), |story| {
        let (place, _folder) = place();
        runtime.block_on(tell(place, &story))
    });
    told.unwrap_or_else(|error| panic!("{error}"));
}

/// More stories by `PROPTEST_CASES`.
fn stories(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(usual)
}

#[test]
fn in_memory() {
    run(stories(STORIES), || (Place::Memory, None));
}

#[test]
fn on_disk() {
    run(stories(STORIES) / 8, || {
        let folder = tempfile::tempdir().unwrap();
        (Place::Disk(folder.path().to_path_buf()), Some(folder))
    });
}
