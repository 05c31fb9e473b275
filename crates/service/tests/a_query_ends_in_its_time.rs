//! A query that must see everything before its first row is ended when its time is over, by the kind that doors know as a time-out.

use std::time::Duration;

use crate::support::{Bench, write};
use lapsedb_service::Kind;
use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::Selection;
use lapsedb_service::items::query::{Metrics, Request, Tuning, query_within};
use lapsedb_value::{Object, Value};

const GROUPED: &str = "SELECT c.id, COUNT(1) AS n FROM c GROUP BY c.id, c.pk";

async fn outcome(bench: &Bench, time_max: Duration) -> Result<usize, Kind> {
    let mut body = Object::new();
    body.push("query", GROUPED);
    let posted = Query::of_body(&Value::Object(body)).unwrap();
    let request = Request {
        selection: Selection::default(),
        items_max: None,
        continuation: None,
        metrics: Metrics::default(),
    };
    let tuning = Tuning::default();
    let page = query_within(
        &bench.ctx,
        ("db", "c"),
        None,
        &posted,
        request,
        (&tuning, time_max),
    )
    .await;
    page.map(|page| page.rows.len()).map_err(|error| error.kind)
}

#[test]
fn with_no_time_there_is_no_answer_and_with_some_there_is() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        bench.database("db").await;
        bench.collection("db", "c", None).await;
        write(&bench.ctx, "db", "c", "a").await.unwrap();
        write(&bench.ctx, "db", "c", "b").await.unwrap();
        assert_eq!(outcome(&bench, Duration::ZERO).await, Err(Kind::TimedOut));
        assert_eq!(outcome(&bench, Duration::from_secs(600)).await, Ok(2));
    });
}
