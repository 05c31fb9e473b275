//! Readers of feeds cost what they read: one that has caught up reads nothing, one that waits is woken, and a small part of a
//! large collection is not looked for in the whole log.

use std::sync::Arc;
use std::time::Duration;

use lapsedb_record::{Policy, Secs, Setting};
use lapsedb_store::catalog::{CollectionBody, FIRST_INDEX_GENERATION, database_body};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{
    ChangeLimits, ChangesAfter, Collection, CollectionId, EventPage, EventPlace, Events, History,
    ItemKey, ItemRange, MetaChange, OpenOptions, Place, Source, Store, Txn, View,
};
use lapsedb_value::{Object, Value, json};

const LIMITS: ChangeLimits = ChangeLimits {
    items_max: 100,
    bytes_max: 1 << 20,
    entries_max: 1024,
};

/// A store in memory with two collections whose versions are kept and whose items live for a minute.
async fn store() -> Store {
    let options = OpenOptions {
        place: Place::Memory,
        relaxed: false,
        virtual_clock: true,
        accept_clock: false,
    };
    let store = Store::open(options).await.unwrap();
    let view = store.view().await.unwrap();
    let mut change = MetaChange::default();
    let database = keys::meta_numbered(MetaKind::Database, 1);
    change.put(database, database_body(1, "d"));
    let text =
        br#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"indexingPolicy":
        {"indexingMode":"none","automatic":false},"changeFeedPolicy":{"retentionDuration":60}}"#;
    let limits = json::Limits {
        depth_max: 16,
        duplicates_refused: &[],
    };
    let document = json::parse(text, &limits).unwrap();
    let document = document.as_object().unwrap();
    for number in [2, 3] {
        let body = CollectionBody {
            cid: CollectionId(number),
            database: 1,
            id: &format!("c{number}"),
            document: document.clone(),
            index_generation: FIRST_INDEX_GENERATION,
            policy: Policy::new(Setting::OnWithDefault(Secs(60))),
            mongo: None,
            history: History::of_new(document),
            indexes: None,
        };
        let key = keys::meta_numbered(MetaKind::Collection, number);
        change.put(key, body.into_object());
    }
    change.next(4);
    store.change_catalog(&view, change).await.unwrap();
    store
}

async fn look(store: &Store, number: u32) -> (View, Arc<Collection>) {
    let view = store.view().await.unwrap();
    let collection = view.catalog().collection_numbered(CollectionId(number));
    let collection = Arc::clone(collection.unwrap());
    (view, collection)
}

/// Writes items of one partition in one commit.
async fn write(store: &Store, number: u32, partition: u32, ids: std::ops::Range<u32>) {
    let (view, collection) = look(store, number).await;
    let pk = PartitionKey::parse(&format!("[{partition}]")).unwrap();
    let mut txn = Txn::new(&view, &collection);
    for id in ids {
        let mut document = Object::new();
        document.push("id", Value::from(id.to_string()));
        document.push("pk", Value::from(i64::from(partition)));
        let key = ItemKey::new(&collection, &pk, &id.to_string());
        let put = txn.put(&key, &pk, Arc::new(document)).await.unwrap();
        assert!(put.is_ok());
    }
    txn.commit(store).await.unwrap();
}

async fn events(view: &View, collections: &[&Collection], after: EventPlace) -> EventPage {
    let range = ItemRange::Everything;
    let source = |collection| Source::Items(collection, &range);
    let sources: Vec<_> = collections.iter().copied().map(source).collect();
    match view.events(&sources, after, LIMITS).await.unwrap() {
        Events::Page(page) => page,
        Events::Forgotten => panic!("it is kept"),
    }
}

#[test]
fn who_has_caught_up_reads_nothing() {
    lapsedb_testkit::run(async {
        let store = store().await;
        for n in 0..50 {
            write(&store, 2, n % 5, n * 100..n * 100 + 100).await;
        }
        let (view, _) = look(&store, 2).await;
        let at = view.lsn();
        // Others are busy, so the store's log goes on.
        for n in 0..20 {
            write(&store, 3, 1, n * 10..n * 10 + 10).await;
        }
        let (view, collection) = look(&store, 2).await;
        let partition = PartitionKey::parse("[3]").unwrap();
        for range in [ItemRange::Everything, ItemRange::Partition(partition)] {
            let after = ChangesAfter {
                lsn: at,
                since: Secs(0),
            };
            let page = view
                .changes(&collection, &range, after, LIMITS)
                .await
                .unwrap();
            assert_eq!((page.items.len(), page.entries_read), (0, 0));
            assert!(page.caught_up && page.next == view.lsn());
            let source = Source::Items(&collection, &range);
            let place = EventPlace::end_of(at);
            assert!(view.caught_up(&[source], place).await.unwrap());
            assert!(
                !view
                    .caught_up(&[source], EventPlace::end_of(at - 1))
                    .await
                    .unwrap()
            );
        }
        let page = events(&view, &[&collection], EventPlace::end_of(at)).await;
        assert_eq!((page.events.len(), page.entries_read), (0, 0));
        assert!(!view.expiries_due(&collection).await.unwrap());
    });
}

#[test]
fn a_small_part_of_a_large_log_is_found_by_its_keys() {
    lapsedb_testkit::run(async {
        let store = store().await;
        for n in 0..100 {
            write(&store, 2, 1, n * 100..n * 100 + 100).await;
        }
        write(&store, 2, 2, 0..30).await;
        let (view, collection) = look(&store, 2).await;
        let small = ItemRange::Partition(PartitionKey::parse("[2]").unwrap());
        let after = ChangesAfter::default();
        let page = view
            .changes_by_key(&collection, &small, after, LIMITS)
            .await;
        let page = page.unwrap().expect("it is small");
        assert_eq!((page.items.len(), page.entries_read), (30, 30));
        assert!(page.caught_up);
        let large = ItemRange::Partition(PartitionKey::parse("[1]").unwrap());
        let page = view
            .changes_by_key(&collection, &large, after, LIMITS)
            .await;
        assert!(page.unwrap().is_none(), "it is not tried on many items");
    });
}

#[test]
fn events_of_two_collections_come_in_the_order_of_commits() {
    lapsedb_testkit::run(async {
        let store = store().await;
        let begin = EventPlace::end_of(store.view().await.unwrap().lsn());
        for n in 0..6 {
            write(&store, 2 + n % 2, 1, n..n + 2).await;
        }
        store.clock().advance(61_000).unwrap();
        for number in [2, 3] {
            let told = store.tell_expiries(CollectionId(number), u64::MAX).await;
            assert!(told.unwrap() > 0);
        }
        let (view, first) = look(&store, 2).await;
        let (_, second) = look(&store, 3).await;
        let page = events(&view, &[&first, &second], begin).await;
        let places: Vec<_> = page.events.iter().map(|event| event.place).collect();
        assert!(places.is_sorted(), "{places:?}");
        let lsns: std::collections::BTreeSet<_> = places.iter().map(|place| place.lsn).collect();
        assert_eq!(lsns.len(), 8, "six writes and two tellings");
        let one = events(&view, &[&first], begin).await;
        let other = events(&view, &[&second], begin).await;
        assert_eq!(page.events.len(), one.events.len() + other.events.len());
        // A reader may also stand within a commit.
        let within = events(&view, &[&first, &second], places[0]).await;
        assert_eq!(within.events.len(), page.events.len() - 1);
    });
}

#[test]
fn who_waits_is_woken_by_a_commit_and_by_an_expiry_only_of_its_collection() {
    lapsedb_testkit::run(async {
        let store = store().await;
        let mut listener = store.listen(CollectionId(2));
        let woken = async |listener: &mut lapsedb_store::Listener| {
            let wait = tokio::time::timeout(Duration::ZERO, listener.changed());
            wait.await.is_ok()
        };
        assert!(!woken(&mut listener).await, "nothing has happened");
        write(&store, 3, 1, 0..1).await;
        assert!(!woken(&mut listener).await, "that was another collection");
        write(&store, 2, 1, 0..1).await;
        assert!(woken(&mut listener).await);
        assert!(!woken(&mut listener).await, "once");
        store.clock().advance(60_000).unwrap();
        assert_eq!(store.tell_expiries(CollectionId(2), 10).await.unwrap(), 1);
        assert!(woken(&mut listener).await);
    });
}
