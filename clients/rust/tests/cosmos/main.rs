//! azure_data_cosmos against a real server: HTTP/2 by prior knowledge and binary bodies, as it comes.

mod access;
mod batch;
mod change_feed;
mod conditions;
mod containers;
mod databases;
mod durability;
mod items;
mod patch;
mod query;
mod throughput;
mod ttl;
mod versions;

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::options::{ContentResponseOnWrite, ItemWriteOptions, OperationOptions};
use azure_data_cosmos::{FeedScope, Query};
use futures::TryStreamExt;
use serde_json::Value;

/// Asks for the item in the answer to a write; this client does not by default.
fn with_body() -> OperationOptions {
    let mut options = OperationOptions::default();
    options.content_response_on_write = Some(ContentResponseOnWrite::Enabled);
    options
}

fn loud() -> Option<ItemWriteOptions> {
    Some(ItemWriteOptions::default().with_operation_options(with_body()))
}

/// An item without what the server adds.
fn user_part(mut item: Value) -> Value {
    if let Some(members) = item.as_object_mut() {
        members.retain(|name, _| !name.starts_with('_'));
    }
    item
}

async fn read(container: &ContainerClient, key: &'static str, id: &str) -> Value {
    let response = container.read_item(key, id, None).await.expect("an item");
    response.into_model().expect("a document")
}

/// All rows of a query over the whole container.
async fn ask(container: &ContainerClient, query: impl Into<Query>) -> Vec<Value> {
    let rows = container
        .query_items(query, FeedScope::full_container(), None)
        .await
        .expect("a query");
    rows.try_collect().await.expect("rows")
}

async fn ids(container: &ContainerClient) -> Vec<String> {
    let mut ids: Vec<String> = ask(container, "SELECT * FROM c")
        .await
        .iter()
        .map(|item| item["id"].as_str().expect("an id").to_owned())
        .collect();
    ids.sort();
    ids
}
