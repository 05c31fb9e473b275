//! What was acknowledged is there after a restart.

use azure_data_cosmos::models::ContainerProperties;
use lapsedb_clients_rust::{Server, make, status};
use serde_json::json;

use crate::{ids, read};

#[tokio::test]
async fn everything_is_there_again() {
    let mut server = Server::start(&["--virtual-clock"]);
    let client = server.client().await;
    client
        .create_database("db", None)
        .await
        .expect("a database");
    let settings = ContainerProperties::new("c", "/pk".into()).with_default_ttl(10);
    let container = make(&client.database_client("db"), settings).await;
    server.align();
    let mut items = Vec::new();
    for id in ["1", "2", "3"] {
        container
            .create_item("a", id, json!({"id": id, "pk": "a", "ttl": -1}), None)
            .await
            .expect("created");
        items.push(read(&container, "a", id).await);
    }
    container
        .create_item("a", "dies", json!({"id": "dies", "pk": "a"}), None)
        .await
        .expect("created");
    let moment = server.advance("10s");

    server.stop();
    server.start_again();

    assert_eq!(
        server.admin("GET", "/_lapsedb/clock", "").1["nowMillis"],
        moment
    );
    let again = server
        .client()
        .await
        .database_client("db")
        .container_client("c", None)
        .await
        .expect("a container");
    for (id, item) in ["1", "2", "3"].iter().zip(&items) {
        assert_eq!(&read(&again, "a", id).await, item);
    }
    assert_eq!(ids(&again).await, ["1", "2", "3"]);
    assert_eq!(
        status(
            again
                .create_item("a", "1", json!({"id": "1", "pk": "a"}), None)
                .await
        ),
        409
    );
    again
        .create_item("a", "dies", json!({"id": "dies", "pk": "a"}), None)
        .await
        .expect("its id is free");
}
