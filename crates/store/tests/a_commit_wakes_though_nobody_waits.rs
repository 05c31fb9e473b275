//! Those who listen are woken by the commit itself, also when the client of the request hangs up meanwhile.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{Listener, MetaChange, Place, Txn};

use crate::bench::{Bench, CID, object};

/// Lets a request take one step, which sends its commit on its way, then gives it up as a client does that hangs up.
async fn hang_up<T>(request: impl Future<Output = T>) {
    let mut request = pin!(request);
    poll_fn(|context| {
        let _ = request.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

async fn woken(listener: &mut Listener) -> bool {
    let wait = tokio::time::timeout(Duration::ZERO, listener.changed());
    wait.await.is_ok()
}

#[test]
fn whatever_is_committed() {
    lapsedb_testkit::run(async {
        let bench = Bench::new(Place::Memory).await;
        let store = bench.store();
        let mut of_collection = store.listen(CID);
        let mut of_all = store.listen_to_all();
        let mut of_circumstances = store.listen_to_circumstances();
        let (view, collection) = bench.look().await;

        let (key, partition) = Bench::key(&collection, 1);
        let mut txn = Txn::new(&view, &collection);
        let document = object(r#"{"_id":1}"#).into();
        txn.put(&key, &partition, document).await.unwrap().unwrap();
        hang_up(txn.commit(store)).await;
        // Commits are answered in their order: after this one, the one that was given up has been followed, too.
        store.persist_clock().await.unwrap();
        assert_eq!(bench.ids().await, [1]);
        assert!(woken(&mut of_collection).await, "by an item");
        assert!(woken(&mut of_all).await, "by an item");

        let (view, collection) = bench.look().await;
        let (key, partition) = Bench::key(&collection, 2);
        let mut txn = Txn::new(&view, &collection);
        let document = object(r#"{"_id":2}"#).into();
        txn.put(&key, &partition, document).await.unwrap().unwrap();
        hang_up(store.commit_together(vec![txn], None, None)).await;
        store.persist_clock().await.unwrap();
        assert_eq!(bench.ids().await.len(), 2);
        assert!(woken(&mut of_collection).await, "by a transaction");
        assert!(woken(&mut of_all).await, "by a transaction");

        let (view, collection) = bench.look().await;
        let mut change = MetaChange::default();
        let key = keys::meta_numbered(MetaKind::Collection, CID.0);
        change.put(key, collection.body().into_object());
        assert!(woken(&mut of_circumstances).await, "by the clock");
        hang_up(store.change_catalog(&view, change)).await;
        while bench.look().await.0.catalog().epoch == view.catalog().epoch {
            tokio::task::yield_now().await;
        }
        bench.put(object(r#"{"_id":3}"#)).await.unwrap();
        assert!(woken(&mut of_circumstances).await, "by the catalog");
    });
}
