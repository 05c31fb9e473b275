//! Work between requests goes on for all other collections when one is damaged, and says which one fails.

use lapsedb_kv::{Batch, Engine, Space, Template};
use lapsedb_service::{Place, Work, collections};

use crate::support::{ALWAYS, Bench, engine, stored, value, visible, write};

const DB: &str = "db";
const ITEMS: u64 = 10;
/// Under this and its number is kept how far a collection is purged.
const PURGE_STATE: u8 = b'Z';
/// More than a piece of work that fails is left out at first.
const TICKS: usize = 5;

/// Overwrites what the first collection stores beside its definition, and how far it is purged.
async fn damage(folder: &std::path::Path) {
    let rows = stored(folder).await;
    // A definition stays readable, and the engine takes no sum that is none.
    let overwritten = |space: Space| !matches!(space, Space::Meta | Space::Tally);
    let number = rows
        .keys()
        .filter(|(space, _)| overwritten(*space))
        .map(|(_, key)| key[..4].to_vec())
        .min()
        .unwrap();
    let engine = engine(folder);
    let mut batch = Batch::new();
    let mut damage = |space: Space, key: Vec<u8>| {
        batch.put(space, Template::from(key), Template::from(vec![0xFF; 3]));
    };
    damage(Space::Meta, [&[PURGE_STATE], &number[..]].concat());
    for (space, key) in rows.into_keys() {
        if overwritten(space) && key.starts_with(&number) {
            damage(space, key);
        }
    }
    engine.commit(batch).await.unwrap();
    engine.close().await.unwrap();
}

async fn failing(bench: &Bench, work: Work) -> (u64, u64) {
    let gauges = bench.service.gauges().await.unwrap();
    let state = gauges.background.iter().find(|state| state.work == work);
    let state = state.unwrap();
    (state.failures, state.failing)
}

async fn purges_the_others(kept_versions: bool) {
    let folder = tempfile::tempdir().unwrap();
    let place = || Place::Disk(folder.path().join("store"));
    let bench = Bench::at(place(), true).await;
    bench.database(DB).await;
    let kept = if kept_versions {
        ",\"changeFeedPolicy\":{\"retentionDuration\":10}"
    } else {
        ""
    };
    for id in ["damaged", "sound"] {
        let body = format!(
            "{{\"id\":\"{id}\",\"partitionKey\":{{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}},\"defaultTtl\":10{kept}}}"
        );
        collections::create(&bench.ctx, DB, &value(&body), None)
            .await
            .unwrap();
        for item in 0..ITEMS {
            write(&bench.ctx, DB, id, &item.to_string()).await.unwrap();
        }
    }
    bench.service.close().await.unwrap();
    drop(bench);
    damage(&folder.path().join("store")).await;

    let bench = Bench::at(place(), true).await;
    bench.service.clock().advance(11_000).unwrap();
    for _ in 0..TICKS {
        bench.service.tick().await;
    }
    let purged = bench.service.gauges().await.unwrap().purged_items;
    assert_eq!(purged, ITEMS, "versions kept: {kept_versions}");
    let (failures, now) = failing(&bench, Work::Purge).await;
    assert!(failures > 0 && now == 1, "{failures} {now}");
    write(&bench.ctx, DB, "sound", "new").await.unwrap();
    assert!(visible(&bench.ctx, DB, "sound", "new").await.unwrap());

    // It can be dropped, and then nothing fails any more.
    collections::delete(&bench.ctx, (DB, "damaged"), &ALWAYS)
        .await
        .unwrap();
    for _ in 0..TICKS {
        bench.service.tick().await;
    }
    for work in Work::ALL {
        assert_eq!(failing(&bench, work).await.1, 0, "{work:?}");
    }
    bench.service.close().await.unwrap();
}

#[test]
fn expired_items_of_the_others_are_purged() {
    lapsedb_testkit::run(async {
        purges_the_others(false).await;
        purges_the_others(true).await;
    });
}
