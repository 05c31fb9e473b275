//! A statement of a transaction or of a snapshot read judges every collection that it reads as it judges its own: what has
//! expired is not seen, and what was dropped or expires otherwise now is not read from the older state at all.

use lapsedb_service::documents::{self, Aggregate, Find, IndexChange, Work};
use lapsedb_service::sessions::{self, Asked, ReadAt};
use lapsedb_value::Value;

use crate::support::mongo::{Client, SNAPSHOT_UNAVAILABLE, collection, read};
use crate::support::{Bench, object, value};

/// Ways to read the collection `b`, or the view `vb` over it, beside `a`; each shows the texts of what it finds there.
const WAYS: [(&str, &str); 9] = [
    (
        "a",
        r#"[{"$lookup":{"from":"b","localField":"k","foreignField":"k","as":"x"}}]"#,
    ),
    (
        "a",
        r#"[{"$lookup":{"from":"b","pipeline":[{"$match":{"k":1}}],"as":"x"}}]"#,
    ),
    (
        "a",
        r#"[{"$lookup":{"from":"b","let":{"k":"$k"},"pipeline":[{"$match":{"$expr":{"$eq":["$k","$$k"]}}}],"as":"x"}}]"#,
    ),
    ("a", r#"[{"$unionWith":"b"}]"#),
    (
        "a",
        r#"[{"$graphLookup":{"from":"b","startWith":"$k","connectFromField":"k","connectToField":"k","as":"x"}}]"#,
    ),
    ("a", r#"[{"$facet":{"f":[{"$unionWith":"b"}]}}]"#),
    (
        "a",
        r#"[{"$lookup":{"from":"vb","localField":"k","foreignField":"k","as":"x"}}]"#,
    ),
    (
        "a",
        r#"[{"$unionWith":{"coll":"a","pipeline":[{"$unionWith":"vb"}]}}]"#,
    ),
    ("vb", "[]"),
];

/// What happens to `b` after the state that is read was fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Nothing,
    Expiry,
    ShorterDefault,
    Drop,
}

const EVENTS: [Event; 4] = [
    Event::Nothing,
    Event::Expiry,
    Event::ShorterDefault,
    Event::Drop,
];

impl Event {
    async fn happen(self, bench: &Bench) {
        let mut work = Work::new(bench.ctx.clone());
        bench.service.clock().advance(2000).unwrap();
        match self {
            Event::Nothing => {}
            Event::Expiry => {
                bench.service.clock().advance(3000).unwrap();
            }
            Event::ShorterDefault => {
                let change = IndexChange {
                    name: Some("t".to_owned()),
                    key: None,
                    expire_after: Some(Value::Int32(1)),
                    hidden: None,
                };
                documents::change_index(&mut work, &collection("b"), &change)
                    .await
                    .unwrap();
            }
            Event::Drop => {
                documents::drop_collection(&mut work, &collection("b"))
                    .await
                    .unwrap();
            }
        }
    }
}

async fn filled() -> Bench {
    let bench = Bench::new().await;
    let mut client = Client::new(&bench, 1);
    client
        .indexes(
            "b",
            &[r#"{"key":{"_ts":1},"name":"t","expireAfterSeconds":5}"#],
        )
        .await;
    client
        .insert("a", object(r#"{"_id":1,"k":1}"#))
        .await
        .unwrap();
    client
        .insert("b", object(r#"{"_id":2,"k":1,"from":"b"}"#))
        .await
        .unwrap();
    let mut work = Work::new(bench.ctx.clone());
    let view = object(r#"{"viewOn":"b","pipeline":[{"$match":{"k":1}}]}"#);
    documents::create(&mut work, &collection("vb"), &view)
        .await
        .unwrap();
    bench
}

fn check(event: Event, way: &str, found: Result<Vec<String>, i32>) {
    let seen = found.map(|texts| texts.iter().any(|text| text.contains(r#""from":"b""#)));
    let expected = match event {
        Event::Nothing => Ok(true),
        Event::Expiry => Ok(false),
        Event::ShorterDefault | Event::Drop => Err(SNAPSHOT_UNAVAILABLE),
    };
    assert_eq!(seen, expected, "{event:?} {way}");
}

#[test]
fn in_a_transaction() {
    lapsedb_testkit::run(async {
        for event in EVENTS {
            for (name, way) in WAYS {
                let bench = filled().await;
                let mut client = Client::new(&bench, 1);
                client.start();
                client.find("a", "{}").await.unwrap();
                event.happen(&bench).await;
                let batch = client.aggregate(name, way, None).await;
                check(event, way, batch.map(|batch| texts(&batch)));
            }
        }
    });
}

fn texts(batch: &lapsedb_service::cursors::Batch) -> Vec<String> {
    let shown = |document| Value::Object(document).to_string();
    read(batch).into_iter().map(shown).collect()
}

#[test]
fn in_a_snapshot_read() {
    lapsedb_testkit::run(async {
        for event in EVENTS {
            for (name, way) in WAYS {
                let bench = filled().await;
                let asked = |read_at| Asked {
                    read_at: Some(read_at),
                    ..Asked::default()
                };
                let begin = |read_at| {
                    let (ctx, asked) = (bench.ctx.clone(), asked(read_at));
                    async move { sessions::begin(ctx, &asked).await.unwrap() }
                };
                let mut work = begin(ReadAt::Newest).await;
                documents::find(&mut work, &collection("a"), &Find::default())
                    .await
                    .unwrap();
                let stamp = work.read_stamp().unwrap();
                event.happen(&bench).await;
                let mut work = begin(ReadAt::Time(stamp)).await;
                let aggregate = Aggregate {
                    pipeline: value(way).as_array().unwrap().to_vec(),
                    ..Aggregate::default()
                };
                let batch = documents::aggregate(&mut work, &collection(name), &aggregate).await;
                let found = batch.map(|batch| texts(&batch));
                check(event, way, found.map_err(|fault| fault.code().unwrap()));
            }
        }
    });
}
