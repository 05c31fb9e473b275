//! Patch on the server, and the client's own read-modify-write, which leans on ETags.

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::models::{PatchInstructions, PatchOperation};
use azure_data_cosmos::options::{PatchItemOptions, PatchStrategy, Precondition};
use lapsedb_clients_rust::{Server, status};
use serde_json::{Value, json};

use crate::{read, user_part, with_body};

fn on_server() -> PatchItemOptions {
    PatchItemOptions::default()
        .with_strategy(PatchStrategy::ServerSide)
        .with_operation_options(with_body())
}

async fn fresh_item(container: &ContainerClient) -> Value {
    let body =
        json!({"id": "1", "pk": "a", "n": 5, "text": "t", "list": [1, 2, 3], "deep": {"x": 1}});
    container
        .upsert_item("a", "1", &body, None)
        .await
        .expect("an item");
    body
}

#[tokio::test]
async fn every_operation() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let cases = [
        (
            PatchOperation::add("/fresh", json!({"a": [1]})),
            json!({"fresh": {"a": [1]}}),
        ),
        (
            PatchOperation::add("/list/1", json!(9)),
            json!({"list": [1, 9, 2, 3]}),
        ),
        (
            PatchOperation::add("/list/-", json!(9)),
            json!({"list": [1, 2, 3, 9]}),
        ),
        (
            PatchOperation::set("/list/0", json!(9)),
            json!({"list": [9, 2, 3]}),
        ),
        (
            PatchOperation::set("/text", json!(null)),
            json!({"text": null}),
        ),
        (
            PatchOperation::replace("/deep/x", json!(2)),
            json!({"deep": {"x": 2}}),
        ),
        (PatchOperation::remove("/list/0"), json!({"list": [2, 3]})),
        (PatchOperation::increment("/n", 2i64), json!({"n": 7})),
        (
            PatchOperation::increment("/count", 3i64),
            json!({"count": 3}),
        ),
    ];
    for (operation, change) in cases {
        let mut expected = fresh_item(&container).await;
        for (name, value) in change.as_object().expect("members") {
            expected[name] = value.clone();
        }
        let patch = PatchInstructions::from(vec![operation]);
        let patched = container
            .patch_item("a", "1", patch, Some(on_server()))
            .await
            .expect("patched");
        assert_eq!(user_part(patched.into_model().expect("a body")), expected);
        assert_eq!(user_part(read(&container, "a", "1").await), expected);
    }
}

#[tokio::test]
async fn move_takes_along() {
    let server = Server::start(&[]);
    let container = server.container().await;
    fresh_item(&container).await;
    let patch = PatchInstructions::from(vec![PatchOperation::move_value("/text", "/deep/text")]);
    container
        .patch_item("a", "1", patch, Some(on_server()))
        .await
        .expect("patched");
    let item = read(&container, "a", "1").await;
    assert_eq!(
        (&item["deep"]["text"], item.get("text")),
        (&json!("t"), None)
    );
}

#[tokio::test]
async fn refused_wholly() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let body = fresh_item(&container).await;
    for operations in [
        vec![PatchOperation::replace("/absent", json!(1))],
        vec![PatchOperation::remove("/absent")],
        vec![PatchOperation::increment("/text", 1i64)],
        vec![PatchOperation::set("/id", json!("2"))],
        vec![PatchOperation::set("/pk", json!("b"))],
        vec![
            PatchOperation::increment("/n", 1i64),
            PatchOperation::remove("/absent"),
        ],
        vec![PatchOperation::increment("/n", 1i64); 11],
    ] {
        let refusal = container
            .patch_item(
                "a",
                "1",
                PatchInstructions::from(operations.clone()),
                Some(on_server()),
            )
            .await;
        assert_eq!(status(refusal), 400, "{operations:?}");
        assert_eq!(user_part(read(&container, "a", "1").await), body);
    }
}

#[tokio::test]
async fn only_the_etag_named_is_patched() {
    let server = Server::start(&[]);
    let container = server.container().await;
    fresh_item(&container).await;
    let patch = || PatchInstructions::from(vec![PatchOperation::set("/n", json!(6))]);
    let stale = on_server().with_precondition(Precondition::if_match("\"stale\""));
    assert_eq!(
        status(container.patch_item("a", "1", patch(), Some(stale)).await),
        412
    );
    let etag = read(&container, "a", "1").await["_etag"]
        .as_str()
        .expect("an etag")
        .to_owned();
    let right = on_server().with_precondition(Precondition::if_match(etag));
    container
        .patch_item("a", "1", patch(), Some(right))
        .await
        .expect("patched");
}

#[tokio::test]
async fn increments_from_many_clients_are_not_lost() {
    let server = Server::start(&[]);
    let container = std::sync::Arc::new(server.container().await);
    fresh_item(&container).await;
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let container = container.clone();
            tokio::spawn(async move {
                let patch = PatchInstructions::from(vec![PatchOperation::increment("/n", 1i64)]);
                container
                    .patch_item("a", "1", patch, Some(on_server()))
                    .await
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic").expect("patched");
    }
    assert_eq!(read(&container, "a", "1").await["n"], 25);
}

#[tokio::test]
async fn default_strategy_reads_and_replaces() {
    let server = Server::start(&[]);
    let container = server.container().await;
    fresh_item(&container).await;
    let patch = PatchInstructions::from(vec![
        PatchOperation::increment("/n", 1i64),
        PatchOperation::set("/new", json!(1)),
    ]);
    container
        .patch_item("a", "1", patch, None)
        .await
        .expect("patched");
    let item = read(&container, "a", "1").await;
    assert_eq!((&item["n"], &item["new"]), (&json!(6), &json!(1)));
}
