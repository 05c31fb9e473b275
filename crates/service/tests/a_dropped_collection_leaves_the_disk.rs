//! The data of a dropped collection or database is removed in the background, also when the client hangs up meanwhile.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use lapsedb_kv::Space;
use lapsedb_service::{Kind, Place, collections, databases};

use crate::support::{ALWAYS, Bench, stored, write};

/// A request is given up after so many steps at most; by then every one has been answered.
const STEPS_MAX: usize = 12;

/// Lets a request take so many steps, then gives it up as a client does that hangs up.
async fn hang_up_after<T>(steps: usize, request: impl Future<Output = T>) {
    let mut request = pin!(request);
    for _ in 0..steps {
        let done = poll_fn(|context| Poll::Ready(request.as_mut().poll(context).is_ready()));
        if done.await {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn whenever_the_client_hangs_up() {
    lapsedb_testkit::run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let bench = Bench::at(Place::Disk(path.clone()), false).await;
        let ctx = &bench.ctx;
        bench.database("stays").await;
        bench.collection("stays", "c", None).await;
        let mut dropped = 0;
        for steps in 0..STEPS_MAX {
            for whole in [false, true] {
                let db = format!("db{steps}{whole}");
                bench.database(&db).await;
                bench.collection(&db, "c", None).await;
                write(ctx, &db, "c", "a").await.unwrap();
                if whole {
                    hang_up_after(steps, databases::delete(ctx, &db, &ALWAYS)).await;
                } else {
                    let request = collections::delete(ctx, (&db, "c"), &ALWAYS);
                    hang_up_after(steps, request).await;
                }
                // Commits have an order: once this one is there, so is the one that was given up.
                write(ctx, "stays", "c", &db).await.unwrap();
                let there = collections::read(ctx, (&db, "c"), &ALWAYS, false).await;
                match there.map_err(|error| error.kind) {
                    Ok(_) => {
                        collections::delete(ctx, (&db, "c"), &ALWAYS).await.unwrap();
                    }
                    Err(Kind::NotFound | Kind::OwnerNotFound) => dropped += 1,
                    Err(kind) => panic!("{kind:?}"),
                }
            }
        }
        assert!(dropped > 0);
        bench.service.tick().await;
        bench.service.close().await.unwrap();
        drop(bench);

        let rows = stored(&path).await;
        let owners = rows
            .keys()
            .filter(|(space, _)| *space == Space::Items)
            .map(|(_, key)| key[..4].to_vec());
        let owners: std::collections::BTreeSet<_> = owners.collect();
        assert_eq!(owners.len(), 1, "items of other collections are left");
        let data = rows.keys().filter(|(space, _)| *space != Space::Meta);
        for (space, key) in data {
            assert!(owners.contains(&key[..4]), "{space:?} {key:?}");
        }
    });
}
