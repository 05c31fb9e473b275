//! Queries: those this client plans itself, and those it asks the server to plan.

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::options::{MaxItemCountHint, QueryOptions};
use azure_data_cosmos::{FeedScope, Query};
use futures::TryStreamExt;
use lapsedb_clients_rust::Server;
use serde_json::{Value, json};

use crate::ask;

async fn filled(server: &Server) -> ContainerClient {
    let container = server.container().await;
    for n in 0..20 {
        let (id, key) = (format!("i{n:02}"), format!("p{}", n % 4));
        let body = json!({"id": id, "pk": key, "n": n, "even": n % 2 == 0});
        container
            .create_item(&key, &id, body, None)
            .await
            .expect("created");
    }
    container
}

fn sorted(rows: Vec<Value>) -> Vec<i64> {
    let mut numbers: Vec<i64> = rows.iter().filter_map(|row| row["n"].as_i64()).collect();
    numbers.sort();
    numbers
}

#[tokio::test]
async fn filters_and_parameters() {
    let server = Server::start(&[]);
    let container = filled(&server).await;
    assert_eq!(
        sorted(ask(&container, "SELECT * FROM c").await),
        (0..20).collect::<Vec<_>>()
    );
    let found = ask(
        &container,
        "SELECT * FROM c WHERE c.even = true AND c.n > 10",
    )
    .await;
    assert_eq!(sorted(found), [12, 14, 16, 18]);
    let query = Query::from("SELECT * FROM c WHERE c.n >= @low AND c.n < @high")
        .with_parameter("@low", 3)
        .and_then(|query| query.with_parameter("@high", 6))
        .expect("a query");
    assert_eq!(sorted(ask(&container, query).await), [3, 4, 5]);
    assert_eq!(
        ask(&container, "SELECT VALUE c.n FROM c WHERE c.id = 'i07'").await,
        [json!(7)]
    );
    assert!(
        ask(&container, "SELECT * FROM c WHERE c.absent = 1")
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn order() {
    let server = Server::start(&[]);
    let container = filled(&server).await;
    let numbers = |rows: Vec<Value>| {
        rows.iter()
            .map(|row| row["n"].as_i64().expect("a number"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        numbers(ask(&container, "SELECT * FROM c ORDER BY c.n").await),
        (0..20).collect::<Vec<_>>()
    );
    assert_eq!(
        numbers(ask(&container, "SELECT * FROM c ORDER BY c.n DESC").await),
        (0..20).rev().collect::<Vec<_>>()
    );
    assert_eq!(
        numbers(ask(&container, "SELECT TOP 3 * FROM c ORDER BY c.n DESC").await),
        [19, 18, 17]
    );
}

#[tokio::test]
async fn count() {
    let server = Server::start(&[]);
    let container = filled(&server).await;
    assert_eq!(
        ask(&container, "SELECT VALUE COUNT(1) FROM c").await,
        [json!(20)]
    );
}

#[tokio::test]
async fn one_partition() {
    let server = Server::start(&[]);
    let container = filled(&server).await;
    let rows = container
        .query_items("SELECT * FROM c", FeedScope::partition("p2"), None)
        .await
        .expect("a query");
    assert_eq!(
        sorted(rows.try_collect().await.expect("rows")),
        [2, 6, 10, 14, 18]
    );
}

#[tokio::test]
async fn pages_go_on_from_a_token() {
    let server = Server::start(&[]);
    let container = filled(&server).await;
    let options = || {
        let count = std::num::NonZeroU32::new(6).expect("not zero");
        QueryOptions::default().with_max_item_count(MaxItemCountHint::Limit(count))
    };
    let query = "SELECT * FROM c WHERE c.n >= 0";
    let scope = FeedScope::full_container;
    let mut pages = container
        .query_items::<Value>(query, scope(), Some(options()))
        .await
        .expect("a query")
        .into_pages();
    let first = pages
        .try_next()
        .await
        .expect("a page")
        .expect("a page")
        .into_items();
    assert!(first.len() <= 6);
    let token = pages.to_continuation_token().expect("a token");
    let resumed = options().with_continuation_token(token);
    let rest: Vec<Value> = container
        .query_items(query, scope(), Some(resumed))
        .await
        .expect("a query")
        .try_collect()
        .await
        .expect("rows");
    assert_eq!(sorted([first, rest].concat()), (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn bad_query_is_400() {
    let server = Server::start(&[]);
    let container = server.container().await;
    for bad in ["SELEC * FROM c", "SELECT * FROM c WHERE"] {
        let code = match container
            .query_items::<Value>(bad, FeedScope::full_container(), None)
            .await
        {
            Err(error) => u16::from(error.status().status_code()),
            Ok(rows) => u16::from(
                rows.try_collect::<Vec<_>>()
                    .await
                    .expect_err("refused")
                    .status()
                    .status_code(),
            ),
        };
        assert_eq!(code, 400, "{bad}");
    }
}
