//! A query that makes much of one item does not hold up the requests of the same thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::{Bench, object, partition, visible, write};
use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::Selection;
use lapsedb_service::items::query::{Metrics, Request, query};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::{Ctx, Who, in_turns};
use lapsedb_value::{Object, Value};
use tokio::sync::oneshot::Receiver;

/// Elements of the array that is joined with itself three times.
const ELEMENTS: usize = 110;
/// Reads beside the query. If they had to wait for it, one query would end before each of them.
const READS: usize = 100;
/// So many reads at least are answered for each query that ends: counts are compared, and not times, which a busy machine makes longer.
const READS_PER_QUERY_MIN: usize = 4;

#[test]
fn in_a_runtime_of_one_thread() {
    lapsedb_testkit::run_on_threads(1, async {
        let bench = Bench::new().await;
        bench.database("db").await;
        bench.collection("db", "c", None).await;
        write(&bench.ctx, "db", "c", "other").await.unwrap();
        let list = vec!["1"; ELEMENTS].join(",");
        let body = format!("{{\"id\":\"big\",\"pk\":\"p\",\"list\":[{list}]}}");
        let op = ItemOp {
            action: Action::Create(Document::new(object(&body)).unwrap()),
            partition: Some(partition()),
            if_match: None,
            if_none_match: None,
            minimal: false,
        };
        items::run(&bench.ctx, ("db", "c"), None, &[op], Mode::Each)
            .await
            .unwrap();
        let (ended, stop) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (started, begun) = tokio::sync::oneshot::channel();
        let reads = tokio::spawn(read(bench.by(Who::Master), begun, Arc::clone(&stop)));
        let ctx = bench.by(Who::Master);
        let queries = Arc::clone(&ended);
        let long = tokio::spawn(async move {
            started.send(()).unwrap();
            while !stop.load(Ordering::SeqCst) {
                assert_eq!(product(&ctx).await, Some(110 * 110 * 110));
                queries.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        });
        reads.await.unwrap();
        long.await.unwrap();
        // The last one ended after the reads.
        let ended = ended.load(Ordering::SeqCst) - 1;
        assert!(
            ended * READS_PER_QUERY_MIN <= READS,
            "{ended} queries ended before {READS} reads did"
        );
    });
}

/// Reads an item again and again from when the query begins, and then has the query stop.
async fn read(ctx: Ctx, begun: Receiver<()>, stop: Arc<AtomicBool>) {
    begun.await.unwrap();
    for _ in 0..READS {
        assert!(visible(&ctx, "db", "c", "other").await.unwrap());
        tokio::task::yield_now().await;
    }
    stop.store(true, Ordering::SeqCst);
}

/// How many rows the join has.
async fn product(ctx: &Ctx) -> Option<i64> {
    let mut body = Object::new();
    let text = "SELECT VALUE COUNT(1) FROM c JOIN x IN c.list JOIN y IN c.list JOIN z IN c.list";
    body.push("query", text);
    let posted = Query::of_body(&Value::Object(body)).unwrap();
    let request = Request {
        selection: Selection::default(),
        items_max: None,
        continuation: None,
        metrics: Metrics::default(),
    };
    // As an API runs it.
    let page = in_turns(query(ctx, ("db", "c"), None, &posted, request)).await;
    page.unwrap().rows[0].as_i64()
}
