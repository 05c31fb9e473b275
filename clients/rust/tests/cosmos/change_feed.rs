//! The change feed of latest versions, which this client asks for in its wrapped form.

use azure_data_cosmos::FeedScope;
use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::models::ChangeFeedItem;
use azure_data_cosmos::options::{ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint};
use futures::StreamExt;
use lapsedb_clients_rust::{Server, make, properties};
use serde_json::{Value, json};

async fn filled(server: &Server) -> ContainerClient {
    let container = server.container().await;
    for n in 0..6 {
        put(&container, &format!("i{n}"), &format!("p{}", n % 2)).await;
    }
    container
}

async fn put(container: &ContainerClient, id: &str, key: &str) {
    let body = json!({"id": id, "pk": key});
    container
        .upsert_item(key.to_owned(), id, body, None)
        .await
        .expect("written");
}

/// Reads until there is nothing new: the pages, and where the next reader goes on.
async fn follow(
    container: &ContainerClient,
    scope: FeedScope,
    start: ChangeFeedStartFrom,
    options: ChangeFeedOptions,
) -> (Vec<Vec<ChangeFeedItem<Value>>>, ChangeFeedOptions) {
    let mut feed = container
        .query_change_feed(scope, start, Some(options))
        .await
        .expect("a feed");
    let mut pages = Vec::new();
    loop {
        let page = feed.next().await.expect("it never ends").expect("a page");
        if page.items().is_empty() {
            let token = feed.to_continuation_token().expect("a token");
            return (
                pages,
                ChangeFeedOptions::default().with_continuation_token(token),
            );
        }
        pages.push(page.into_items());
    }
}

fn ids(pages: &[Vec<ChangeFeedItem<Value>>]) -> Vec<&str> {
    let items = pages.iter().flatten();
    items
        .map(|item| {
            item.current().expect("an item")["id"]
                .as_str()
                .expect("an id")
        })
        .collect()
}

#[tokio::test]
async fn from_the_beginning_and_on() {
    let server = Server::start(&[]);
    let container = filled(&server).await;
    put(&container, "i1", "p1").await;
    let all = FeedScope::full_container;
    let options = ChangeFeedOptions::default();
    let (pages, next) = follow(&container, all(), ChangeFeedStartFrom::Beginning, options).await;
    assert_eq!(ids(&pages), ["i0", "i2", "i3", "i4", "i5", "i1"]);
    for item in pages.iter().flatten() {
        assert!(item.metadata().is_some(), "it is wrapped");
        assert!(item.operation_type().is_none());
    }
    put(&container, "i4", "p0").await;
    let (pages, _) = follow(&container, all(), ChangeFeedStartFrom::Beginning, next).await;
    assert_eq!(ids(&pages), ["i4"]);
}

#[tokio::test]
async fn from_now_on() {
    let server = Server::start(&[]);
    let container = filled(&server).await;
    let all = FeedScope::full_container;
    let options = ChangeFeedOptions::default();
    let (pages, next) = follow(&container, all(), ChangeFeedStartFrom::Now, options).await;
    assert!(pages.is_empty());
    put(&container, "new", "p0").await;
    let (pages, _) = follow(&container, all(), ChangeFeedStartFrom::Now, next).await;
    assert_eq!(ids(&pages), ["new"]);
}

#[tokio::test]
async fn one_partition_in_pages() {
    let server = Server::start(&[]);
    let container = filled(&server).await;
    let two = MaxItemCountHint::Limit(2.try_into().expect("not zero"));
    let options = ChangeFeedOptions::default().with_max_item_count(two);
    let scope = FeedScope::partition("p1");
    let (pages, _) = follow(&container, scope, ChangeFeedStartFrom::Beginning, options).await;
    assert_eq!(ids(&pages), ["i1", "i3", "i5"]);
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
}

#[tokio::test]
async fn nothing_expired_is_in_it() {
    let server = Server::start(&["--virtual-clock"]);
    let fleeting = properties().with_default_ttl(10);
    let container = make(&server.database().await, fleeting).await;
    put(&container, "a", "p").await;
    let read = || {
        let all = FeedScope::full_container();
        let options = ChangeFeedOptions::default();
        follow(&container, all, ChangeFeedStartFrom::Beginning, options)
    };
    assert_eq!(ids(&read().await.0), ["a"]);
    server.advance("10s");
    assert!(read().await.0.is_empty());
}
