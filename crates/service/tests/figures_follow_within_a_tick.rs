//! What answers about items tell of their collection is counted between requests.

use crate::support::{Bench, write};

#[test]
fn figures_follow_within_a_tick() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        let (ctx, service) = (&bench.ctx, &bench.service);
        bench.database("db").await;
        bench.collection("db", "c", Some(10)).await;
        write(ctx, "db", "c", "a").await.unwrap();
        let collection = ctx.scope("db", "c").await.unwrap().collection;
        let items = async || {
            service
                .figure(&collection)
                .await
                .map(|figure| figure.live.items)
        };
        assert_eq!(items().await, Some(1), "the first who asks counts");
        write(ctx, "db", "c", "b").await.unwrap();
        service.tick().await;
        assert_eq!(items().await, Some(2), "what was asked for is counted anew");
        service.clock().advance(10_000).unwrap();
        service.tick().await;
        assert_eq!(items().await, Some(0), "the expired are not counted");
        // Nobody asks: it is forgotten, and the next who asks counts.
        service.tick().await;
        service.tick().await;
        write(ctx, "db", "c", "c").await.unwrap();
        assert_eq!(items().await, Some(1));
    });
}
