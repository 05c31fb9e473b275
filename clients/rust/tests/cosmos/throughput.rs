//! Offers: manual and autoscale throughput, and what happens when it is used up.

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::models::ThroughputProperties;
use azure_data_cosmos::options::{
    CreateContainerOptions, ItemWriteOptions, OperationOptions, ThrottlingRetryOptionsBuilder,
};
use lapsedb_clients_rust::{Server, properties, status};
use serde_json::json;

async fn with(server: &Server, throughput: ThroughputProperties) -> ContainerClient {
    let database = server.database().await;
    let properties = properties();
    let name = properties.id.to_string();
    let options = CreateContainerOptions::default().with_throughput(throughput);
    database
        .create_container(properties, Some(options))
        .await
        .expect("created");
    database
        .container_client(name, None)
        .await
        .expect("a container")
}

#[tokio::test]
async fn manual() {
    let server = Server::start(&[]);
    let container = with(&server, ThroughputProperties::manual(500)).await;
    let read = container
        .read_throughput(None)
        .await
        .expect("read")
        .expect("an offer");
    assert_eq!(read.throughput(), Some(500));
    let poller = container
        .begin_replace_throughput(ThroughputProperties::manual(600), None)
        .await
        .expect("begun");
    assert_eq!(
        poller
            .await
            .expect("replaced")
            .into_model()
            .expect("a body")
            .throughput(),
        Some(600)
    );
    let read = container
        .read_throughput(None)
        .await
        .expect("read")
        .expect("an offer");
    assert_eq!(read.throughput(), Some(600));
}

#[tokio::test]
async fn autoscale() {
    let server = Server::start(&[]);
    let container = with(&server, ThroughputProperties::autoscale(4000, None)).await;
    let read = container
        .read_throughput(None)
        .await
        .expect("read")
        .expect("an offer");
    assert_eq!(read.autoscale_maximum(), Some(4000));
    let poller = container
        .begin_replace_throughput(ThroughputProperties::autoscale(5000, None), None)
        .await
        .expect("begun");
    assert_eq!(
        poller
            .await
            .expect("replaced")
            .into_model()
            .expect("a body")
            .autoscale_maximum(),
        Some(5000)
    );
}

#[tokio::test]
async fn database_without_throughput_has_no_offer() {
    let server = Server::start(&[]);
    assert!(
        server
            .database()
            .await
            .read_throughput(None)
            .await
            .expect("read")
            .is_none()
    );
}

#[tokio::test]
async fn bad_throughput_is_400() {
    let server = Server::start(&[]);
    let options =
        CreateContainerOptions::default().with_throughput(ThroughputProperties::manual(100));
    assert_eq!(
        status(
            server
                .database()
                .await
                .create_container(properties(), Some(options))
                .await
        ),
        400
    );
}

#[tokio::test]
async fn too_much_is_429_and_patience_is_served() {
    const ATTEMPTS_MAX: usize = 400;
    let server = Server::start(&[]);
    let container = with(&server, ThroughputProperties::manual(400)).await;
    let body = json!({"id": "1", "pk": "a", "text": "x".repeat(100_000)});
    let mut hasty = OperationOptions::default();
    hasty.throttling_retry_options = Some(
        ThrottlingRetryOptionsBuilder::new()
            .with_max_retry_count(0)
            .build(),
    );
    let hasty = ItemWriteOptions::default().with_operation_options(hasty);
    let mut refusal = None;
    for _ in 0..ATTEMPTS_MAX {
        if let Err(error) = container
            .upsert_item("a", "1", &body, Some(hasty.clone()))
            .await
        {
            refusal = Some(error);
            break;
        }
    }
    let refusal = refusal.expect("a refusal");
    assert!(refusal.status().is_throttled(), "{refusal}");
    container
        .upsert_item("a", "1", &body, None)
        .await
        .expect("served in the end");
}
