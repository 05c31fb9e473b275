//! Who may come in, and by which protocol.

use lapsedb_clients_rust::{READ_ONLY_KEY, Server, fresh, make, properties, status};
use serde_json::json;

#[tokio::test]
async fn http_and_https_answer_on_one_port() {
    let server = Server::start(&[]);
    for scheme in ["http", "https"] {
        let client = server
            .client_with(lapsedb_clients_rust::KEY, scheme)
            .await
            .expect("a client");
        let name = fresh("db");
        client
            .create_database(&name, None)
            .await
            .expect("a database");
        client
            .database_client(name)
            .delete(None)
            .await
            .expect("gone");
    }
}

#[tokio::test]
async fn wrong_key_is_401() {
    const WRONG: &str =
        "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmc=";
    let server = Server::start(&[]);
    let refusal = match server.client_with(WRONG, "http").await {
        Ok(client) => status(client.create_database("db", None).await),
        Err(error) => error.status().status_code().into(),
    };
    assert_eq!(refusal, 401);
}

#[tokio::test]
async fn read_only_key_reads_and_writes_nothing() {
    let server = Server::start(&["--read-only-key", READ_ONLY_KEY]);
    let database = server.database().await;
    let properties = properties();
    let name = properties.id.to_string();
    let container = make(&database, properties).await;
    container
        .create_item("a", "1", json!({"id": "1", "pk": "a"}), None)
        .await
        .expect("created");
    let reader = server
        .client_with(READ_ONLY_KEY, "http")
        .await
        .expect("a client");
    let seen = reader
        .database_client(database.name().expect("a name").to_owned())
        .container_client(name, None)
        .await
        .expect("a container");
    assert_eq!(crate::read(&seen, "a", "1").await["id"], "1");
    assert_eq!(crate::ids(&seen).await, ["1"]);
    let body = json!({"id": "2", "pk": "a"});
    assert_eq!(status(seen.create_item("a", "2", &body, None).await), 403);
    assert_eq!(status(seen.upsert_item("a", "2", &body, None).await), 403);
    assert_eq!(status(seen.delete_item("a", "1", None).await), 403);
    assert_eq!(crate::ids(&container).await, ["1"]);
}

#[tokio::test]
async fn real_clock_cannot_be_moved() {
    let server = Server::start(&[]);
    assert_eq!(
        server
            .admin("POST", "/_lapsedb/clock", r#"{"advance":"1s"}"#)
            .0,
        403
    );
}
