//! Versions that no policy asks for are kept while readers come, and given up when none has come for their retention.

use crate::bench::{Bench, CID, dated};
use lapsedb_store::{
    ChangeLimits, EventPlace, Events, ItemRange, Place, Source, VERSIONS_RETENTION_SECS,
};

/// How many events are kept behind a commit; none if they are kept no longer.
async fn kept(bench: &Bench, lsn: u64) -> Option<usize> {
    let (view, collection) = bench.look().await;
    let source = Source::Items(&collection, &ItemRange::Everything);
    let limits = ChangeLimits {
        items_max: 100,
        bytes_max: usize::MAX,
        entries_max: u64::MAX,
    };
    let after = EventPlace::end_of(lsn);
    match view.events(&[source], after, limits).await.unwrap() {
        Events::Page(page) => Some(page.events.len()),
        Events::Forgotten => None,
    }
}

async fn trim(bench: &Bench) {
    let (_, collection) = bench.look().await;
    bench.store().trim_versions(&collection).await.unwrap();
}

#[test]
fn they_end_with_their_readers_and_begin_with_the_next() {
    lapsedb_testkit::run(async {
        let bench = Bench::new(Place::Memory).await;
        let (_, before) = bench.look().await;
        assert!(!before.history.kept);
        bench.store().keep_versions(CID).await.unwrap();
        let (view, collection) = bench.look().await;
        assert!(collection.history.kept);
        assert_eq!(collection.lsn, before.lsn, "the etag stays");
        let begun = view.lsn();
        let day = 86_400_000;
        let retention = VERSIONS_RETENTION_SECS * 1000;
        // While a reader comes every other day, they stay, and only what is too old goes.
        for n in 0..5 {
            bench.put(dated(n, 0)).await.unwrap();
            bench.advance(2 * day);
            bench.store().keep_versions(CID).await.unwrap();
            trim(&bench).await;
        }
        let (view, collection) = bench.look().await;
        assert!(collection.history.kept);
        assert_eq!(kept(&bench, begun).await, None, "the oldest are gone");
        assert_eq!(kept(&bench, view.lsn()).await, Some(0));
        bench.put(dated(9, 0)).await.unwrap();
        assert_eq!(kept(&bench, view.lsn()).await, Some(1));
        bench.advance(retention + day);
        trim(&bench).await;
        let (_, collection) = bench.look().await;
        assert!(!collection.history.kept, "nobody came");
        assert_eq!(collection.lsn, before.lsn, "the etag stays");
        bench.put(dated(10, 0)).await.unwrap();
        bench.store().keep_versions(CID).await.unwrap();
        let (again, _) = bench.look().await;
        assert_eq!(kept(&bench, view.lsn()).await, None, "not all was kept");
        bench.put(dated(11, 0)).await.unwrap();
        assert_eq!(kept(&bench, again.lsn()).await, Some(1));
    });
}
