//! What purging leaves, on both engines, and who holds it back.

use lapsedb_kv::{Scan, Snapshot};
use lapsedb_record::{Policy, Setting};
use lapsedb_value::{Object, Value, json};
use tempfile::TempDir;

use super::*;
use crate::catalog::{CollectionBody, FIRST_INDEX_GENERATION, database_body};
use crate::partition_key::PartitionKey;
use crate::{History, ItemKey, MetaChange, OpenOptions, Place, Recount, Txn};

const CID: CollectionId = CollectionId(2);
/// Items with this number or a greater one have more than two kilobytes.
const LARGE: usize = 10_000;
const TEN: Setting = Setting::OnWithDefault(Secs(10));

/// A store with one collection, and the folder it lives in.
struct Home {
    store: Store,
    folder: Option<TempDir>,
}

fn options(place: Place) -> OpenOptions {
    OpenOptions {
        place,
        relaxed: true,
        virtual_clock: true,
        accept_clock: false,
    }
}

impl Home {
    async fn memory() -> Home {
        let store = Store::open(options(Place::Memory)).await.unwrap();
        Home::with(store, None).await
    }

    async fn disk() -> Home {
        let folder = TempDir::new().unwrap();
        let place = Place::Disk(folder.path().to_path_buf());
        let store = Store::open(options(place)).await.unwrap();
        Home::with(store, Some(folder)).await
    }

    async fn with(store: Store, folder: Option<TempDir>) -> Home {
        let home = Home { store, folder };
        home.define(Policy::new(TEN), History::default()).await;
        home
    }

    async fn define(&self, policy: Policy, history: History) {
        let text = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
            "indexingPolicy":{"includedPaths":[{"path":"/*"}]},
            "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/name"]}]}}"#;
        let document = json::parse(text.as_bytes(), &json::Limits::default()).unwrap();
        let body = CollectionBody {
            cid: CID,
            database: 1,
            id: "c",
            document: document.as_object().unwrap().clone(),
            index_generation: FIRST_INDEX_GENERATION,
            policy,
            mongo: None,
            history,
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
        let view = self.store.view().await.unwrap();
        self.store.change_catalog(&view, change).await.unwrap();
    }

    async fn reopened(self) -> Home {
        self.store.close().await.unwrap();
        drop(self.store);
        let place = Place::Disk(self.folder.as_ref().unwrap().path().to_path_buf());
        Home {
            store: Store::open(options(place)).await.unwrap(),
            folder: self.folder,
        }
    }

    async fn look(&self) -> (View, Arc<Collection>) {
        let view = self.store.view().await.unwrap();
        let collection = Arc::clone(view.catalog().collection_numbered(CID).unwrap());
        (view, collection)
    }

    /// Writes items with the ids of a range in one commit.
    async fn put(&self, ids: std::ops::Range<usize>, ttl: Option<i64>) {
        let (view, collection) = self.look().await;
        let mut txn = Txn::new(&view, &collection);
        for id in ids {
            let (key, partition, document) = item(&collection, id, ttl);
            let put = txn.put(&key, &partition, Arc::new(document)).await.unwrap();
            assert!(put.is_ok());
        }
        txn.commit(&self.store).await.unwrap();
    }

    async fn is_there(&self, id: usize) -> bool {
        let (view, collection) = self.look().await;
        let (key, ..) = item(&collection, id, None);
        view.get(&collection, &key).await.unwrap().is_some()
    }

    fn advance(&self, secs: u64) {
        self.store.clock().advance(secs * 1000).unwrap();
    }

    async fn purge(&self) -> u64 {
        let (view, collection) = self.look().await;
        drop(view);
        let purged = self.store.purge(&collection, Millis(0), u64::MAX);
        purged.await.unwrap().items
    }

    async fn sweep(&self) {
        while !self.store.sweep(CID).await.unwrap() {}
    }

    /// Keys of the collection in every space but the catalog's.
    async fn rows(&self) -> Vec<String> {
        let (view, _) = self.look().await;
        let mut rows = Vec::new();
        for space in Space::ALL {
            if space != Space::Meta {
                let scan = Scan::prefix(space, &keys::collection_prefix(CID));
                let page = view.snapshot.scan(scan).await.unwrap();
                let name = |key: &[u8]| format!("{} {key:02x?}", space.name());
                rows.extend(page.rows.iter().map(|(key, _)| name(key)));
            }
        }
        rows
    }

    async fn recount(&self) -> Recount {
        let (view, collection) = self.look().await;
        let counted = view.recount(&collection).await.unwrap();
        let usage = view.usage(&collection).await.unwrap();
        assert_eq!((usage.live, usage.expired), (counted.live, counted.expired));
        assert_eq!(counted.buckets_wrong, 0);
        counted
    }
}

fn item(collection: &Collection, id: usize, ttl: Option<i64>) -> (ItemKey, PartitionKey, Object) {
    let partition = PartitionKey::parse("[\"p\"]").unwrap();
    let key = ItemKey::new(collection, &partition, &format!("i{id}"));
    let mut document = Object::new();
    document.push("id", Value::from(format!("i{id}")));
    document.push("pk", Value::from("p"));
    document.push("name", Value::from(format!("n{id}")));
    if id >= LARGE {
        document.push("pad", Value::from("x".repeat(2000)));
    }
    if let Some(ttl) = ttl {
        document.push("ttl", Value::from(ttl));
    }
    (key, partition, document)
}

#[test]
fn nothing_of_a_purged_item_is_left_in_any_space() {
    lapsedb_testkit::run(async {
        for home in [Home::memory().await, Home::disk().await] {
            home.put(0..20, None).await;
            home.put(20..40, Some(5)).await;
            home.advance(3);
            let before = home.rows().await;
            home.put(40..42, Some(-1)).await;
            let staying: Vec<_> = home
                .rows()
                .await
                .into_iter()
                .filter(|row| !before.contains(row))
                .collect();
            home.advance(7);
            assert_eq!(home.purge().await, 40);
            assert_eq!(home.recount().await.expired.items, 0);
            home.sweep().await;
            assert_eq!(home.rows().await, staying);
            assert_eq!(home.purge().await, 0, "once is enough");
            assert_eq!(home.recount().await.live.items, 2);
        }
    });
}

#[test]
fn a_restart_forgets_neither_marks_nor_what_is_to_be_swept() {
    lapsedb_testkit::run(async {
        let home = Home::disk().await;
        home.put(0..5, None).await;
        home.put(5..6, Some(-1)).await;
        home.advance(10);
        assert_eq!(home.purge().await, 5);
        let home = home.reopened().await;
        assert_eq!(home.recount().await.expired.items, 0);
        assert_eq!(home.purge().await, 0);
        let dead = home.rows().await.len();
        // A dead id that was settled before is made anew, and an old one beside it.
        home.put(0..1, None).await;
        assert_eq!(home.recount().await.live.items, 2);
        let home = home.reopened().await;
        home.sweep().await;
        assert!(home.is_there(0).await && home.is_there(5).await);
        assert!(home.rows().await.len() < dead);
        assert_eq!(home.recount().await.live.items, 2);
        home.advance(10);
        assert_eq!(home.purge().await, 1);
        home.sweep().await;
        assert_eq!(home.recount().await.live.items, 1);
    });
}

#[test]
fn an_open_view_keeps_what_it_has_seen() {
    lapsedb_testkit::run(async {
        let home = Home::disk().await;
        home.put(0..3, None).await;
        home.advance(9);
        home.store.turn_views().await.unwrap();
        let (early, collection) = home.look().await;
        home.advance(100);
        assert_eq!(home.purge().await, 0, "somebody may still read them");
        home.sweep().await;
        let (key, ..) = item(&collection, 1, None);
        assert!(early.get(&collection, &key).await.unwrap().is_some());
        drop(early);
        assert_eq!(home.purge().await, 3);
    });
}

#[test]
fn a_view_of_older_settings_holds_back_what_newer_ones_have_killed() {
    lapsedb_testkit::run(async {
        let home = Home::disk().await;
        let (view, collection) = home.look().await;
        let off = collection.policy.changed(Setting::Off, view.now());
        drop(view);
        home.define(off, History::default()).await;
        home.put(0..3, None).await;
        home.advance(50);
        // The view is of the very second of the change, so that time alone does not tell them apart.
        home.store.turn_views().await.unwrap();
        let (early, collection) = home.look().await;
        let on = collection.policy.changed(TEN, early.now());
        home.define(on, History::default()).await;
        assert!(!home.is_there(1).await);
        assert_eq!(home.purge().await, 0, "for the open view they are alive");
        home.sweep().await;
        let (key, ..) = item(&collection, 1, None);
        assert!(early.get(&collection, &key).await.unwrap().is_some());
        drop(early);
        assert_eq!(home.purge().await, 3);
    });
}

#[test]
fn the_grace_is_kept_after_an_end_and_after_a_change_of_settings() {
    lapsedb_testkit::run(async {
        let home = Home::disk().await;
        home.put(0..1, None).await;
        home.put(1..2, Some(1000)).await;
        let grace = Millis(300_000);
        let purge = || async {
            let purged = home.store.bury(CID, grace, u64::MAX).await.unwrap();
            purged.items
        };
        home.advance(309);
        assert_eq!(purge().await, 0);
        home.advance(1);
        assert_eq!(purge().await, 1);
        home.advance(900);
        let (view, collection) = home.look().await;
        let off = collection.policy.changed(Setting::Off, view.now());
        drop(view);
        home.define(off, History::default()).await;
        home.advance(299);
        assert_eq!(purge().await, 0, "buried, and in its grace");
        home.advance(1);
        assert_eq!(purge().await, 1, "dead for good although TTL is off");
        home.advance(10_000);
        home.put(2..3, Some(1)).await;
        home.advance(10_000);
        assert_eq!(purge().await, 0, "TTL is off");
        assert!(home.is_there(2).await);
    });
}

#[test]
fn a_transaction_that_clears_a_dead_id_begins_again_if_it_was_settled_meanwhile() {
    lapsedb_testkit::run(async {
        let home = Home::disk().await;
        home.put(0..2, None).await;
        home.advance(10);
        home.store.turn_views().await.unwrap();
        let (view, collection) = home.look().await;
        let mut txn = Txn::new(&view, &collection);
        let (key, partition, document) = item(&collection, 0, None);
        let document = Arc::new(document);
        assert!(txn.put(&key, &partition, document).await.unwrap().is_ok());
        assert_eq!(home.purge().await, 2);
        assert!(matches!(
            txn.commit(&home.store).await,
            Err(StoreError::Retry)
        ));
        home.put(0..1, None).await;
        assert_eq!(home.recount().await.live.items, 1);
    });
}

#[test]
fn no_more_is_settled_at_once_than_was_asked_but_always_a_whole_second() {
    lapsedb_testkit::run(async {
        let home = Home::disk().await;
        for second in 0..10 {
            home.put(second * 10..second * 10 + 10, None).await;
            home.advance(1);
        }
        home.advance(100);
        for (room, expected) in [(1, 10), (15, 20), (30, 30), (1000, 40)] {
            let purged = home.store.bury(CID, Millis(0), room).await.unwrap();
            assert_eq!(purged.items, expected, "room for {room}");
            home.recount().await;
        }
    });
}

#[test]
fn nothing_is_settled_before_its_expiry_is_told() {
    lapsedb_testkit::run(async {
        let home = Home::disk().await;
        home.store.keep_versions(CID).await.unwrap();
        home.put(0..3, None).await;
        home.put(3..6, Some(5)).await;
        home.advance(20);
        let bury = || async { home.store.bury(CID, Millis(0), u64::MAX).await.unwrap() };
        assert_eq!(bury().await.items, 0, "a reader of versions needs them");
        home.sweep().await;
        assert_eq!(home.store.tell_expiries(CID, 1).await.unwrap(), 6);
        assert_eq!(bury().await.items, 6);
        home.sweep().await;
        assert!(
            home.rows()
                .await
                .iter()
                .all(|row| row.starts_with("versions"))
        );
    });
}

#[test]
fn a_collection_is_swept_when_much_of_it_is_dead_or_something_for_a_day() {
    lapsedb_testkit::run(async {
        let home = Home::disk().await;
        let is_worth_it = || async {
            let (view, collection) = home.look().await;
            let asked = home.store.sweep_is_worth_it(&view, &collection);
            asked.await.unwrap()
        };
        home.put(0..5, None).await;
        assert!(!is_worth_it().await, "nothing is settled");
        home.advance(10);
        assert_eq!(home.purge().await, 5);
        assert!(!is_worth_it().await, "too little");
        home.advance(24 * 60 * 60);
        assert!(is_worth_it().await, "a day is long enough");
        home.sweep().await;
        assert!(!is_worth_it().await, "all is swept");
        home.put(LARGE..LARGE + 600, None).await;
        home.advance(10);
        assert_eq!(home.purge().await, 600);
        assert!(
            is_worth_it().await,
            "more than a megabyte, and all there is"
        );
    });
}
