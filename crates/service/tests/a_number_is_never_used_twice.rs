//! Numbers of resources, and so their rids, are never used twice; and of many who make the same name one succeeds.

use crate::support;
use std::collections::HashSet;

use crate::support::{ALWAYS, Bench, object, text};
use lapsedb_service::Kind;
use lapsedb_service::databases;

#[test]
fn what_is_made_again_under_its_name_is_another() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        let mut rids = HashSet::new();
        for _ in 0..5 {
            let database = bench.database("db").await;
            assert!(rids.insert(text(&database, "_rid")));
            for _ in 0..3 {
                let collection = bench.collection("db", "c", None).await;
                assert!(rids.insert(text(&collection, "_rid")));
                lapsedb_service::collections::delete(&bench.ctx, ("db", "c"), &ALWAYS)
                    .await
                    .unwrap();
            }
            databases::delete(&bench.ctx, "db", &ALWAYS).await.unwrap();
        }
    });
}

#[test]
fn of_many_who_make_a_name_one_succeeds() {
    lapsedb_testkit::run_on_threads(4, async {
        const MAKERS: usize = 16;
        let bench = Bench::new().await;
        let makers: Vec<_> = (0..MAKERS)
            .map(|maker| {
                let ctx = bench.ctx.clone();
                tokio::spawn(async move {
                    let own = object(&format!("{{\"id\":\"own{maker}\"}}"));
                    let own = databases::create(&ctx, &own, None).await.unwrap();
                    let shared =
                        databases::create(&ctx, &object("{\"id\":\"shared\"}"), None).await;
                    (text(&own, "_rid"), shared)
                })
            })
            .collect();
        let mut rids = HashSet::new();
        let mut made = 0;
        for maker in makers {
            let (own, shared) = maker.await.unwrap();
            assert!(rids.insert(own));
            match shared {
                Ok(shared) => {
                    made += 1;
                    assert!(rids.insert(text(&shared, "_rid")));
                }
                Err(error) => assert_eq!(error.kind, Kind::DatabaseNameTaken),
            }
        }
        assert_eq!(made, 1);
        let all = databases::list(&bench.ctx, &support::all()).await.unwrap();
        assert_eq!(all.values.len(), MAKERS + 1);
    });
}
