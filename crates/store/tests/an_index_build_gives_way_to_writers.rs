//! An index is built while others write the very same items. In the end the index is exactly that of the items: no entry
//! is missing, and none of a value that an item no longer has is left.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lapsedb_record::{Policy, Setting};
use lapsedb_store::catalog::{CollectionBody, FIRST_INDEX_GENERATION, database_body};
use lapsedb_store::index::composite::{composite_bytes, composite_id};
use lapsedb_store::index::encode::{PathId, value_bytes};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{
    Collection, CollectionId, History, ItemKey, ItemRange, MetaChange, OpenOptions, Place,
    ScanLimits, Span, Store, StoreError, Txn, View,
};
use lapsedb_value::{Object, Value, bson, json};

const CID: CollectionId = CollectionId(2);
const ITEMS: u64 = 600;
const POLICY_CHANGES: u32 = 12;

fn definition() -> Object {
    let text = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
        "indexingPolicy":{"includedPaths":[{"path":"/n/?"}],"excludedPaths":[{"path":"/*"}],
        "compositeIndexes":[[{"path":"/n"},{"path":"/id"}]]}}"#;
    let value = json::parse(text.as_bytes(), &json::Limits::default()).unwrap();
    value.as_object().unwrap().clone()
}

async fn set_generation(store: &Store, index_generation: u32) {
    let view = store.view().await.unwrap();
    let body = CollectionBody {
        cid: CID,
        database: 1,
        id: "c",
        document: definition(),
        index_generation,
        policy: Policy::new(Setting::Off),
        mongo: None,
        history: History::default(),
        indexes: None,
    };
    let mut change = MetaChange::default();
    change.put(
        keys::meta_numbered(MetaKind::Database, 1),
        database_body(1, "d"),
    );
    change.put(
        keys::meta_numbered(MetaKind::Collection, CID.0),
        body.into_object(),
    );
    store.change_catalog(&view, change).await.unwrap();
}

async fn look(store: &Store) -> (View, Arc<Collection>) {
    let view = store.view().await.unwrap();
    let collection = Arc::clone(view.catalog().collection_numbered(CID).unwrap());
    (view, collection)
}

/// Writes or deletes an item; whoever was faster goes first.
async fn write(store: &Store, number: u64) {
    let partition = PartitionKey::parse("[\"p\"]").unwrap();
    let id = format!("i{}", number * 7 % ITEMS);
    loop {
        let (view, collection) = look(store).await;
        let key = ItemKey::new(&collection, &partition, &id);
        let mut txn = Txn::new(&view, &collection);
        if number.is_multiple_of(11) {
            if txn.get(&key, &partition).await.unwrap().is_none() {
                return;
            }
            txn.delete(&key, &partition).await.unwrap();
        } else {
            let mut document = Object::new();
            document.push("id", Value::from(id.as_str()));
            document.push("pk", Value::from("p"));
            document.push("n", Value::number((number % 13) as f64));
            let put = txn.put(&key, &partition, Arc::new(document)).await;
            assert!(put.unwrap().is_ok());
        }
        match txn.commit(store).await {
            Ok(_) => return,
            Err(StoreError::Retry) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Compares, in one view, the entries of an index with those that the items should have.
async fn check(store: &Store) {
    let (view, collection) = look(store).await;
    assert!(collection.index_is_whole());
    let limits = ScanLimits {
        items_max: usize::MAX,
        bytes_max: usize::MAX,
    };
    let range = ItemRange::Everything;
    let items = view.scan(&collection, &range, None, limits).await.unwrap();
    let by_n = PathId::ROOT.member("n");
    let composite = &collection.index.composites[0];
    let mut expected = BTreeSet::new();
    for (_, item) in &items.items {
        let document = bson::read_document(item.body()).unwrap();
        let ordinal = item.header().ordinal.to_be_bytes();
        let value = value_bytes(document.get("n").unwrap());
        let both = composite_bytes(composite, &document);
        for (path, bytes) in [(by_n, value), (composite_id(composite), both)] {
            let stem = keys::index_stem(&collection, path.0, &bytes);
            expected.insert([stem.as_slice(), &ordinal].concat());
        }
    }
    let spans = [by_n, composite_id(composite)].map(|path| Span::of_prefix(&collection, path, &[]));
    let found = view.scan_index(&collection, &spans, None, limits).await;
    let found: BTreeSet<_> = found.unwrap().places.into_iter().map(Vec::from).collect();
    assert!(found.len() as u64 > ITEMS);
    assert_eq!(found, expected);
}

fn options(place: Place) -> OpenOptions {
    OpenOptions {
        place,
        relaxed: true,
        virtual_clock: true,
        accept_clock: false,
    }
}

#[test]
fn entries_are_those_of_the_items_whoever_wrote_when() {
    lapsedb_testkit::run_on_threads(4, async {
        let folder = tempfile::TempDir::new().unwrap();
        for place in [Place::Memory, Place::Disk(folder.path().to_path_buf())] {
            let store = Arc::new(Store::open(options(place)).await.unwrap());
            set_generation(&store, FIRST_INDEX_GENERATION).await;
            let (next, stop) = (
                Arc::new(AtomicU64::new(0)),
                Arc::new(AtomicBool::new(false)),
            );
            for number in 0..ITEMS {
                write(&store, number).await;
            }
            let writers: Vec<_> = (0..3)
                .map(|_| {
                    let (store, next, stop) =
                        (Arc::clone(&store), Arc::clone(&next), Arc::clone(&stop));
                    tokio::spawn(async move {
                        while !stop.load(Ordering::Relaxed) {
                            write(&store, next.fetch_add(1, Ordering::Relaxed)).await;
                        }
                    })
                })
                .collect();
            for changes in 1..=POLICY_CHANGES {
                set_generation(&store, FIRST_INDEX_GENERATION + changes).await;
                while !store.build_index(CID, 100).await.unwrap() {}
                check(&store).await;
            }
            stop.store(true, Ordering::Relaxed);
            for writer in writers {
                writer.await.unwrap();
            }
            check(&store).await;
        }
    });
}

/// Writes the record of the collection as a change of any other setting does.
async fn change_setting(store: &Store) {
    let (view, collection) = look(store).await;
    let mut change = MetaChange::default();
    change.put(
        keys::meta_numbered(MetaKind::Collection, CID.0),
        collection.body().into_object(),
    );
    store.change_catalog(&view, change).await.unwrap();
}

#[test]
fn the_index_of_an_older_program_is_built_anew_and_not_asked_before() {
    lapsedb_testkit::run_on_threads(1, async {
        for older in [1, 1 << 16, (1 << 16) + 3, FIRST_INDEX_GENERATION - 2] {
            let store = Store::open(options(Place::Memory)).await.unwrap();
            set_generation(&store, older).await;
            for number in 0..ITEMS {
                write(&store, number).await;
            }
            for _ in 0..2 {
                let (_, collection) = look(&store).await;
                assert!(!collection.index_is_whole(), "{older}");
                assert!(collection.index_generation > FIRST_INDEX_GENERATION);
                change_setting(&store).await;
            }
            while !store.build_index(CID, 100).await.unwrap() {}
            check(&store).await;
            change_setting(&store).await;
            check(&store).await;
        }
    });
}
