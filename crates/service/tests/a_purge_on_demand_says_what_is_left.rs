//! A purge on demand says what it has left and what that waits for.

use lapsedb_service::{Config, Ctx, Service, Who, ttl};

use crate::support::{Bench, KEY, write};

const GRACE_SECONDS: u64 = 300;

async fn purge(bench: &Bench) -> (u64, Option<(u64, String)>) {
    let done = ttl::purge_now(&bench.ctx, "db", "c").await.unwrap();
    let left = done.left.map(|(sum, why)| (sum.items, why));
    (done.purged.items, left)
}

#[test]
fn the_settings_the_grace_and_nothing() {
    lapsedb_testkit::run(async {
        let config = Config {
            purge_grace: GRACE_SECONDS,
            ..Config::in_memory(KEY.to_vec())
        };
        let service = Service::open(config).await.unwrap();
        let ctx = Ctx::new(std::sync::Arc::clone(&service), Who::Master);
        let bench = Bench { service, ctx };
        let advance = |seconds: u64| bench.service.clock().advance(seconds * 1000).unwrap();
        bench.database("db").await;
        bench.collection("db", "c", Some(10)).await;
        assert_eq!(purge(&bench).await, (0, None));

        write(&bench.ctx, "db", "c", "a").await.unwrap();
        advance(3600);
        bench.set_ttl("db", "c", Some(20)).await.unwrap();
        let (purged, left) = purge(&bench).await;
        let (items, why) = left.unwrap();
        assert_eq!((purged, items), (0, 1));
        assert!(why.contains("settings were changed at "), "{why}");
        assert!(why.contains("300 seconds"), "{why}");

        advance(GRACE_SECONDS);
        assert_eq!(purge(&bench).await, (1, None));

        write(&bench.ctx, "db", "c", "b").await.unwrap();
        advance(25);
        let (purged, left) = purge(&bench).await;
        let (items, why) = left.unwrap();
        assert_eq!((purged, items), (0, 1));
        assert!(why.starts_with("Expired items stay on disk"), "{why}");
        advance(GRACE_SECONDS);
        assert_eq!(purge(&bench).await, (1, None));
    });
}
