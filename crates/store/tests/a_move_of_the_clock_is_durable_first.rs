//! A move of the virtual clock is durable before anybody sees it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use lapsedb_record::Millis;
use lapsedb_store::{OpenOptions, Place, Store};

async fn open(folder: &std::path::Path) -> Store {
    Store::open(OpenOptions {
        place: Place::Disk(folder.to_path_buf()),
        relaxed: false,
        virtual_clock: true,
        accept_clock: false,
    })
    .await
    .unwrap()
}

#[test]
fn until_it_is_durable_the_time_is_the_old_one() {
    lapsedb_testkit::run(async {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).await;
        let start = store.clock().now();
        {
            let mut moved = pin!(store.move_clock(|clock| clock.plan_advance(5000)));
            loop {
                let poll = poll_fn(|context| Poll::Ready(moved.as_mut().poll(context))).await;
                match poll {
                    Poll::Pending => assert_eq!(store.clock().now(), start),
                    Poll::Ready(done) => {
                        assert_eq!(done.unwrap().unwrap(), Millis(start.0 + 5000));
                        break;
                    }
                }
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(store.clock().now(), Millis(start.0 + 5000));
        store.close().await.unwrap();
    });
}

#[test]
fn what_others_commit_meanwhile_does_not_take_it_back() {
    lapsedb_testkit::run(async {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).await;
        let start = store.clock().now();
        let planned = store.clock().plan_advance(5000).unwrap();
        // Every commit saves the clock: from the plan on, at least the planned time.
        store.persist_clock().await.unwrap();
        assert_eq!(store.clock().now(), start);
        assert_eq!(store.clock().show(planned), Millis(start.0 + 5000));
        // What a process that ends here leaves behind.
        let copied = tempfile::tempdir().unwrap();
        lapsedb_testkit::copy_folder(folder.path(), copied.path());
        let again = open(copied.path()).await;
        assert_eq!(again.clock().now(), Millis(start.0 + 5000));
        again.close().await.unwrap();
        store.close().await.unwrap();
    });
}

#[test]
fn moves_at_once_are_all_made() {
    lapsedb_testkit::run(async {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).await;
        let start = store.clock().now();
        let (a, b, c) = tokio::join!(
            store.move_clock(|clock| clock.plan_advance(1000)),
            store.move_clock(|clock| clock.plan_advance(2000)),
            store.move_clock(|clock| clock.plan_advance(4000)),
        );
        for moved in [a, b, c] {
            moved.unwrap().unwrap();
        }
        assert_eq!(store.clock().now(), Millis(start.0 + 7000));
        let refused = store.move_clock(|clock| clock.plan_set(start)).await;
        assert!(refused.unwrap().is_err());
        assert_eq!(store.clock().now(), Millis(start.0 + 7000));
        store.close().await.unwrap();
    });
}
