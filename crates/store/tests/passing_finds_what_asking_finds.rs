//! Many items are read by passing through all, few are asked for by their keys: both find the same, in the same order.

use std::sync::Arc;

use crate::bench::{Bench, date_index, object};
use lapsedb_record::Setting;
use lapsedb_store::{ItemKey, ItemRange, Place, ScanLimits, Txn};
use lapsedb_value::Value;

const ITEMS: i32 = 700;
const PAGE_BYTES: usize = 1 << 20;

/// Items of which a third ends by its ttl, a fifth by its date, and some were changed or deleted.
async fn filled(place: Place) -> Bench {
    let bench = Bench::new(place).await;
    bench.setting(Setting::On).await;
    bench.create(date_index("d", "date", 5)).await;
    let now = bench.now();
    let (view, collection) = bench.look().await;
    let mut txn = Txn::new(&view, &collection);
    for id in 0..ITEMS {
        let ttl = if id % 3 == 0 { r#","ttl":10"# } else { "" };
        let rest = "x".repeat(usize::try_from(id).unwrap());
        let mut document = object(&format!(r#"{{"_id":{id}{ttl},"rest":"{rest}"}}"#));
        if id % 5 == 0 {
            document.push("date", Value::Date(now));
        }
        let (key, partition) = Bench::key(&collection, id);
        let put = txn.put(&key, &partition, Arc::new(document)).await.unwrap();
        assert!(put.is_ok());
    }
    txn.commit(bench.store()).await.unwrap();
    for id in [7, 300] {
        bench.delete(id).await;
        bench
            .put(object(&format!(r#"{{"_id":{}}}"#, id + 1)))
            .await
            .unwrap();
    }
    bench
}

/// All that can be seen, read in pages of so many items.
async fn read(bench: &Bench, items_max: usize, bytes_max: usize) -> Vec<(ItemKey, Vec<u8>)> {
    let (view, collection) = bench.look().await;
    let limits = ScanLimits {
        items_max,
        bytes_max,
    };
    let (mut resume, mut found): (Option<Vec<u8>>, Vec<_>) = (None, Vec::new());
    loop {
        let everything = ItemRange::Everything;
        let page = view.scan(&collection, &everything, resume.as_deref(), limits);
        let page = page.await.unwrap();
        assert!(page.items.len() <= items_max);
        // A page ends with the item that passes its bytes, and begins again at any of its places.
        let bytes = page.items.iter().map(|(_, item)| item.body().len());
        assert!(bytes.rev().skip(1).sum::<usize>() < bytes_max);
        if let Some(place) = page.places.get(page.items.len() / 2) {
            let one = ScanLimits {
                items_max: 1,
                ..limits
            };
            let again = view.scan(&collection, &everything, Some(place), one).await;
            let again = again.unwrap().items.remove(0).0;
            assert_eq!(again, page.items[page.items.len() / 2].0);
        }
        let own = page.items.iter();
        found.extend(own.map(|(key, item)| (key.clone(), item.body().to_vec())));
        match page.resume {
            Some(next) => resume = Some(next),
            None => return found,
        }
    }
}

/// The same without their order, as they lie.
async fn passed(bench: &Bench, items_max: usize) -> Vec<(ItemKey, Vec<u8>)> {
    let (view, collection) = bench.look().await;
    let limits = ScanLimits {
        items_max,
        bytes_max: PAGE_BYTES,
    };
    let (mut resume, mut found) = (None, Vec::new());
    loop {
        let pass = view.pass(&collection, resume, limits, |key, live| {
            found.push((
                live.header().ordinal,
                (ItemKey::from_bytes(key), live.body().to_vec()),
            ));
        });
        resume = pass.await.unwrap();
        if resume.is_none() {
            found.sort_by_key(|(ordinal, _)| *ordinal);
            return found.into_iter().map(|(_, own)| own).collect();
        }
    }
}

async fn agree(bench: &Bench) -> usize {
    let asked = read(bench, 10, PAGE_BYTES).await;
    for (items_max, bytes_max) in [
        (10_000, PAGE_BYTES),
        (300, PAGE_BYTES),
        (10_000, 100_000),
        (10_000, 1),
        (257, 150_000),
    ] {
        let found = read(bench, items_max, bytes_max).await;
        assert!(found == asked, "{items_max} items, {bytes_max} bytes");
    }
    for items_max in [1, 100, 10_000] {
        assert!(passed(bench, items_max).await == asked, "{items_max} items");
    }
    asked.len()
}

async fn both_find_the_same(place: Place) {
    let bench = filled(place).await;
    // An id that was deleted is not there; what was written anew without a ttl or a date stays.
    assert_eq!(agree(&bench).await, 698);
    bench.advance(4_999);
    assert_eq!(agree(&bench).await, 698);
    bench.advance(1);
    let undated = agree(&bench).await;
    let kept = |id: &i32| id % 5 != 0 && ![7, 300].contains(id);
    assert_eq!(undated, (0..ITEMS).filter(kept).count());
    bench.advance(5_000);
    let kept = |id: &i32| kept(id) && (id % 3 != 0 || [8, 301].contains(id));
    assert_eq!(agree(&bench).await, (0..ITEMS).filter(kept).count());
}

#[test]
fn both_find_the_same_in_memory() {
    lapsedb_testkit::run(async {
        both_find_the_same(Place::Memory).await;
    });
}

#[test]
fn both_find_the_same_on_disk() {
    lapsedb_testkit::run(async {
        let folder = tempfile::tempdir().unwrap();
        both_find_the_same(Place::Disk(folder.path().to_owned())).await;
    });
}
