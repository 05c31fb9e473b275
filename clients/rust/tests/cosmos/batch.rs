//! Transactional batch: all or nothing, each answer in its place.

use azure_data_cosmos::TransactionalBatch;
use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::options::{BatchOptions, BatchReplaceOptions, Precondition};
use lapsedb_clients_rust::{Server, status};
use serde_json::{Value, json};

use crate::{ids, read, with_body};

async fn statuses(container: &ContainerClient, batch: TransactionalBatch) -> Vec<u16> {
    let response = container
        .execute_transactional_batch(batch, None)
        .await
        .expect("a response");
    response
        .into_model()
        .expect("results")
        .results()
        .iter()
        .map(|each| each.status_code())
        .collect()
}

#[tokio::test]
async fn every_operation() {
    let server = Server::start(&[]);
    let container = server.container().await;
    for id in ["read", "replace", "delete", "upsert"] {
        container
            .create_item("a", id, json!({"id": id, "pk": "a", "n": 1}), None)
            .await
            .expect("created");
    }
    let batch = TransactionalBatch::new("a")
        .create_item(json!({"id": "created", "pk": "a"}))
        .and_then(|batch| batch.upsert_item(json!({"id": "upsert", "pk": "a", "n": 2}), None))
        .and_then(|batch| batch.upsert_item(json!({"id": "upserted", "pk": "a"}), None))
        .and_then(|batch| {
            batch.replace_item("replace", json!({"id": "replace", "pk": "a", "n": 2}), None)
        })
        .expect("a batch")
        .read_item("read", None)
        .delete_item("delete", None);
    let options = BatchOptions::default().with_operation_options(with_body());
    let response = container
        .execute_transactional_batch(batch, Some(options))
        .await
        .expect("a response");
    assert_eq!(u16::from(response.status().status_code()), 200);
    let results = response.into_model().expect("results");
    let results = results.results();
    assert_eq!(
        results
            .iter()
            .map(|each| each.status_code())
            .collect::<Vec<_>>(),
        [201, 200, 201, 200, 200, 204]
    );
    let seen: Value = results[4].into_model().expect("a body").expect("an item");
    assert_eq!(seen["n"], 1);
    assert_eq!(
        ids(&container).await,
        ["created", "read", "replace", "upsert", "upserted"]
    );
}

#[tokio::test]
async fn one_failure_undoes_all() {
    let server = Server::start(&[]);
    let container = server.container().await;
    container
        .create_item("a", "old", json!({"id": "old", "pk": "a", "n": 1}), None)
        .await
        .expect("created");
    let clash = TransactionalBatch::new("a")
        .create_item(json!({"id": "1", "pk": "a"}))
        .and_then(|batch| batch.create_item(json!({"id": "old", "pk": "a"})))
        .and_then(|batch| batch.create_item(json!({"id": "2", "pk": "a"})))
        .expect("a batch");
    assert_eq!(statuses(&container, clash).await, [424, 409, 424]);
    let stale =
        BatchReplaceOptions::default().with_precondition(Precondition::if_match("\"stale\""));
    let late = TransactionalBatch::new("a")
        .create_item(json!({"id": "1", "pk": "a"}))
        .and_then(|batch| {
            batch.replace_item("old", json!({"id": "old", "pk": "a", "n": 2}), Some(stale))
        })
        .expect("a batch");
    assert_eq!(statuses(&container, late).await, [424, 412]);
    let missing = TransactionalBatch::new("a")
        .create_item(json!({"id": "1", "pk": "a"}))
        .expect("a batch")
        .delete_item("none", None);
    assert_eq!(statuses(&container, missing).await, [424, 404]);
    assert_eq!(ids(&container).await, ["old"]);
    assert_eq!(read(&container, "a", "old").await["n"], 1);
}

#[tokio::test]
async fn hundred_operations_and_no_more() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let batch = |count: u32| {
        (0..count).try_fold(TransactionalBatch::new("a"), |batch, n| {
            batch.create_item(json!({"id": n.to_string(), "pk": "a"}))
        })
    };
    let refusal = container
        .execute_transactional_batch(batch(101).expect("a batch"), None)
        .await;
    assert_eq!(status(refusal), 400);
    assert!(ids(&container).await.is_empty());
    assert_eq!(
        statuses(&container, batch(100).expect("a batch")).await,
        [201; 100]
    );
    assert_eq!(ids(&container).await.len(), 100);
}
