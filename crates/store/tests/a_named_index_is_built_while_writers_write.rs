//! Writers create, change and delete documents while indexes are built over them. In the end every living document stands
//! in each index exactly as if it had been written after it, and ends by its date.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bench::{Bench, CID, date_index, index};
use lapsedb_store::index::scan::EntrySpan;
use lapsedb_store::{Built, IndexDefinition, ItemRange, Place, ScanLimits, StoreError, Txn};
use lapsedb_value::{Object, Value};
use tempfile::TempDir;

const DOCUMENTS: i32 = 600;
const WRITERS: i32 = 4;

fn document(id: i32, version: i32, now: i64) -> Object {
    let mut document = Object::new();
    document.push("_id", Value::Int32(id));
    let list = [id % 7, version % 5].map(Value::Int32);
    document.push("list", Value::Array(list.to_vec()));
    // Every writer has values of its own, so that the unique index never stands in the way.
    document.push("own", Value::Int32(id));
    let past = (id + version) % 2 == 0;
    document.push(
        "date",
        Value::Date(if past { now } else { now + 1_000_000 }),
    );
    document
}

/// Writes or deletes a document, again and again until it is done.
async fn write(bench: &Bench, id: i32, document: Option<Object>) {
    loop {
        let (view, collection) = bench.look().await;
        let (key, partition) = Bench::key(&collection, id);
        let mut txn = Txn::new(&view, &collection);
        match &document {
            Some(document) => {
                let document = Arc::new(document.clone());
                txn.put(&key, &partition, document).await.unwrap().unwrap();
            }
            None => txn.delete(&key, &partition).await.unwrap(),
        }
        match txn.commit(bench.store()).await {
            Ok(_) => return,
            Err(StoreError::Retry) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn writer(bench: Arc<Bench>, own: i32, now: i64, done: Arc<AtomicBool>) {
    let mut version = 1;
    while !done.load(Ordering::Relaxed) {
        for id in (own..DOCUMENTS + 40).step_by(usize::try_from(WRITERS).unwrap()) {
            version = version * 31 % 1009;
            let wanted = (version % 9 != 0).then(|| document(id, version, now));
            write(&bench, id, wanted).await;
            if done.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// The living documents, by id.
async fn living(bench: &Bench) -> BTreeMap<i64, Object> {
    let (view, collection) = bench.look().await;
    let limits = ScanLimits {
        items_max: 10_000,
        bytes_max: 1 << 26,
    };
    let everything = ItemRange::Everything;
    let page = view.scan(&collection, &everything, None, limits).await;
    let read = |body: &[u8]| lapsedb_value::bson::read_document(body).unwrap();
    let documents = page.unwrap().items.into_iter();
    documents
        .map(|(_, item)| {
            let document = read(item.body());
            (
                document.get("_id").and_then(Value::as_i64).unwrap(),
                document,
            )
        })
        .collect()
}

async fn entries(bench: &Bench, name: &str) -> usize {
    let (view, collection) = bench.look().await;
    let index = collection.indexes.named(name).unwrap();
    assert!(index.is_usable());
    let span = EntrySpan::named(&collection, index, &[], &[]);
    let page = view.entries(&collection, span, false, 100_000).await;
    page.unwrap().entries.len()
}

async fn story(place: Place) {
    let bench = Arc::new(Bench::new(place).await);
    let now = bench.now();
    for id in 0..DOCUMENTS {
        write(&bench, id, Some(document(id, 0, now))).await;
    }
    let done = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|own| tokio::spawn(writer(Arc::clone(&bench), own, now, Arc::clone(&done))))
        .collect();
    let unique = IndexDefinition {
        unique: true,
        ..index("own", r#"{"own":-1}"#)
    };
    for definition in [
        index("list", r#"{"list":1,"_id":1}"#),
        unique,
        date_index("date", "date", 50),
    ] {
        let number = loop {
            let (view, collection) = bench.look().await;
            let create = bench.store();
            match create
                .create_named_index(&view, &collection, definition.clone())
                .await
            {
                Ok(number) => break number,
                Err(StoreError::Retry) => {}
                Err(error) => panic!("{error}"),
            }
        };
        let built = bench.store().build_named_index(CID, number).await.unwrap();
        assert!(matches!(built, Built::Whole { .. }), "{built:?}");
    }
    done.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let documents = living(&bench).await;
    let different = |document: &Object| match document.get("list").and_then(Value::as_array) {
        Some([a, b]) if a.as_i64() == b.as_i64() => 1,
        _ => 2,
    };
    let expected: usize = documents.values().map(different).sum();
    assert_eq!(entries(&bench, "list").await, expected);
    assert_eq!(entries(&bench, "own").await, documents.len());
    bench.ids().await;
    // Whoever has an old date ends by the index, whether it or a writer gave it its mark.
    bench.advance(50_000);
    let kept: Vec<_> = documents
        .iter()
        .filter(|(_, document)| matches!(document.get("date"), Some(Value::Date(at)) if *at > now))
        .map(|(id, _)| *id)
        .collect();
    let mut ids = bench.ids().await;
    ids.sort_unstable();
    assert_eq!(ids, kept);
    assert_eq!(bench.purge().await, (documents.len() - kept.len()) as u64);
    bench.ids().await;
    assert_eq!(entries(&bench, "own").await, kept.len());
}

#[test]
fn in_memory() {
    lapsedb_testkit::run_on_threads(2, async {
        story(Place::Memory).await;
    });
}

#[test]
fn on_disk() {
    lapsedb_testkit::run_on_threads(2, async {
        let folder = TempDir::new().unwrap();
        story(Place::Disk(folder.path().to_path_buf())).await;
    });
}
