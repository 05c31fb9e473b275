//! A collection that was made through the MongoDB API has no index of the NoSQL API: its items are put in order all the same.

use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::Selection;
use lapsedb_service::items::query::{Metrics, Request, query};
use lapsedb_value::{Object, Value};

use crate::support::mongo::Client;
use crate::support::{Bench, object};

const ITEMS: i64 = 25;

/// All rows of a query, page by page.
async fn rows(bench: &Bench, text: &str) -> Vec<i64> {
    let mut body = Object::new();
    body.push("query", text);
    let posted = Query::of_body(&Value::Object(body)).unwrap();
    let (mut token, mut rows) = (None::<String>, Vec::new());
    loop {
        let request = Request {
            selection: Selection::default(),
            items_max: Some(4),
            continuation: token.as_deref(),
            metrics: Metrics::default(),
        };
        let page = query(&bench.ctx, ("d", "c"), None, &posted, request)
            .await
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
        rows.extend(page.rows.iter().map(|row| row.as_i64().unwrap()));
        token = page.continuation;
        if token.is_none() {
            return rows;
        }
    }
}

#[test]
fn every_order_is_served() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        let mut client = Client::new(&bench, 1);
        for at in 0..ITEMS {
            let (n, group) = (at * 7 % ITEMS, at % 3);
            let document = format!(r#"{{"_id":{at},"n":{n},"g":{group},"o":{{"p":{n}}}}}"#);
            client.insert("c", object(&document)).await.unwrap();
        }
        let forward: Vec<i64> = (0..ITEMS).collect();
        let backward: Vec<i64> = (0..ITEMS).rev().collect();
        let select = "SELECT VALUE c.n FROM c";
        for path in ["c.n", "c.o.p"] {
            assert_eq!(
                rows(&bench, &format!("{select} ORDER BY {path}")).await,
                forward
            );
            assert_eq!(
                rows(&bench, &format!("{select} ORDER BY {path} DESC")).await,
                backward
            );
        }
        let few = format!("{select} WHERE c.n >= 5 ORDER BY c.n OFFSET 2 LIMIT 9");
        assert_eq!(rows(&bench, &few).await, (7..16).collect::<Vec<_>>());
        let mut grouped: Vec<(i64, i64)> = (0..ITEMS).map(|at| (at % 3, at * 7 % ITEMS)).collect();
        grouped.sort_by_key(|(group, n)| (*group, -n));
        let grouped: Vec<i64> = grouped.into_iter().map(|(_, n)| n).collect();
        assert_eq!(
            rows(&bench, &format!("{select} ORDER BY c.g, c.n DESC")).await,
            grouped
        );
    });
}
