//! A query that makes much of one item does not hold up the requests of the same thread.

use crate::support::{Bench, object, partition, visible, write};
use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::Selection;
use lapsedb_service::items::query::{Request, query};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_value::{Object, Value};

/// Elements of the array that is joined with itself three times.
const ELEMENTS: usize = 110;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_a_runtime_of_one_thread() {
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
    };
    items::run(&bench.ctx, ("db", "c"), None, &[op], Mode::Each)
        .await
        .unwrap();
    let ctx = bench.by(lapsedb_service::Who::Master);
    let (started, begun) = tokio::sync::oneshot::channel();
    let long = tokio::spawn(async move {
        let mut body = Object::new();
        let text =
            "SELECT VALUE COUNT(1) FROM c JOIN x IN c.list JOIN y IN c.list JOIN z IN c.list";
        body.push("query", text);
        let posted = Query::of_body(&Value::Object(body)).unwrap();
        let request = Request {
            selection: Selection::default(),
            items_max: None,
            continuation: None,
            with_index_metrics: false,
        };
        started.send(()).unwrap();
        let page = query(&ctx, ("db", "c"), None, &posted, request).await;
        page.unwrap().rows
    });
    begun.await.unwrap();
    let ctx = bench.by(lapsedb_service::Who::Master);
    let reads = tokio::spawn(async move {
        for _ in 0..20 {
            assert!(visible(&ctx, "db", "c", "other").await.unwrap());
            tokio::task::yield_now().await;
        }
    });
    reads.await.unwrap();
    assert!(!long.is_finished(), "the reads had to wait for the query");
    assert_eq!(long.await.unwrap()[0].as_i64(), Some(110 * 110 * 110));
}
