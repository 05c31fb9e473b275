//! Time to live, on a clock the test moves: `_ts + ttl` is the first second without the item.

use std::time::{Duration, Instant};

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::models::{
    PatchInstructions, PatchOperation, TimeToLive, UniqueKey, UniqueKeyPolicy,
};
use azure_data_cosmos::options::{ItemWriteOptions, PatchItemOptions, PatchStrategy, Precondition};
use lapsedb_clients_rust::{Server, make, properties, status};
use serde_json::{Value, json};

use crate::{ask, ids, read};

/// A server with a virtual clock and a container with a default of ten seconds.
async fn fleeting() -> (Server, ContainerClient) {
    let server = Server::start(&["--virtual-clock"]);
    let container = make(&server.database().await, properties().with_default_ttl(10)).await;
    server.align();
    (server, container)
}

async fn create(container: &ContainerClient, id: &str, ttl: Value) {
    let mut body = json!({"id": id, "pk": "a"});
    if !ttl.is_null() {
        body["ttl"] = ttl;
    }
    container
        .create_item("a", id, body, None)
        .await
        .expect("created");
}

#[tokio::test]
async fn item_lives_to_the_last_millisecond() {
    let (server, container) = fleeting().await;
    create(&container, "1", Value::Null).await;
    let item = read(&container, "a", "1").await;
    let moment = server.advance("9999ms");
    assert_eq!(
        moment,
        (item["_ts"].as_u64().expect("a time") + 10) * 1000 - 1
    );
    assert_eq!(read(&container, "a", "1").await, item);
    server.advance("1ms");
    assert_eq!(status(container.read_item("a", "1", None).await), 404);
    assert!(ids(&container).await.is_empty());
    assert_eq!(
        ask(&container, "SELECT VALUE COUNT(1) FROM c").await,
        [json!(0)]
    );
}

#[tokio::test]
async fn own_ttl_wins() {
    let (server, container) = fleeting().await;
    create(&container, "short", json!(5)).await;
    create(&container, "default", Value::Null).await;
    create(&container, "long", json!(20)).await;
    create(&container, "never", json!(-1)).await;
    server.advance("5s");
    assert_eq!(ids(&container).await, ["default", "long", "never"]);
    server.advance("5s");
    assert_eq!(ids(&container).await, ["long", "never"]);
    server.advance("3650d");
    assert_eq!(ids(&container).await, ["never"]);
}

#[tokio::test]
async fn writes_renew() {
    let (server, container) = fleeting().await;
    create(&container, "replaced", Value::Null).await;
    create(&container, "patched", Value::Null).await;
    create(&container, "left", Value::Null).await;
    server.advance("9s");
    container
        .replace_item("a", "replaced", json!({"id": "replaced", "pk": "a"}), None)
        .await
        .expect("replaced");
    let patch = PatchInstructions::from(vec![PatchOperation::set("/n", json!(1))]);
    let options = PatchItemOptions::default().with_strategy(PatchStrategy::ServerSide);
    container
        .patch_item("a", "patched", patch, Some(options))
        .await
        .expect("patched");
    server.advance("9s");
    assert_eq!(ids(&container).await, ["patched", "replaced"]);
}

#[tokio::test]
async fn dead_are_found_by_no_write_and_leave_their_id_free() {
    let (server, container) = fleeting().await;
    create(&container, "1", Value::Null).await;
    let dead = read(&container, "a", "1").await;
    server.advance("10s");
    let body = json!({"id": "1", "pk": "a"});
    let etag = dead["_etag"].as_str().expect("an etag").to_owned();
    let same = || {
        Some(ItemWriteOptions::default().with_precondition(Precondition::if_match(etag.clone())))
    };
    assert_eq!(
        status(container.replace_item("a", "1", &body, same()).await),
        404
    );
    assert_eq!(status(container.delete_item("a", "1", same()).await), 404);
    let upserted = container
        .upsert_item("a", "1", &body, None)
        .await
        .expect("upserted");
    assert_eq!(u16::from(upserted.status().status_code()), 201);
    assert_ne!(read(&container, "a", "1").await["_rid"], dead["_rid"]);
}

#[tokio::test]
async fn dead_stay_dead_whatever_the_container_says_later() {
    for later in [
        TimeToLive::Forever,
        TimeToLive::NoDefault,
        TimeToLive::Seconds(1000),
    ] {
        let (server, container) = fleeting().await;
        create(&container, "1", Value::Null).await;
        server.advance("10s");
        let mut settings = container
            .read(None)
            .await
            .expect("read")
            .into_model()
            .expect("a body");
        settings.default_ttl = later;
        container.replace(settings, None).await.expect("replaced");
        assert!(ids(&container).await.is_empty());
    }
}

#[tokio::test]
async fn dead_hold_no_unique_key() {
    let server = Server::start(&["--virtual-clock"]);
    let unique =
        UniqueKeyPolicy::default().with_unique_key(UniqueKey::default().with_path("/email"));
    let settings = properties()
        .with_default_ttl(10)
        .with_unique_key_policy(unique);
    let container = make(&server.database().await, settings).await;
    container
        .create_item("a", "1", json!({"id": "1", "pk": "a", "email": "x"}), None)
        .await
        .expect("created");
    let second = json!({"id": "2", "pk": "a", "email": "x"});
    assert_eq!(
        status(container.create_item("a", "2", &second, None).await),
        409
    );
    server.advance("10s");
    container
        .create_item("a", "2", &second, None)
        .await
        .expect("created");
}

#[tokio::test]
async fn bad_ttl_is_400() {
    let (_server, container) = fleeting().await;
    for ttl in [
        json!(0),
        json!(-2),
        json!(1_i64 << 31),
        json!(1.5),
        json!("60"),
        Value::Null,
        json!(true),
        json!([]),
    ] {
        let body = json!({"id": "1", "pk": "a", "ttl": ttl});
        assert_eq!(
            status(container.create_item("a", "1", &body, None).await),
            400,
            "{ttl}"
        );
        assert_eq!(
            status(container.upsert_item("a", "1", &body, None).await),
            400,
            "{ttl}"
        );
    }
    assert!(ids(&container).await.is_empty());
}

#[tokio::test]
async fn real_clock_expires_without_help() {
    let server = Server::start(&[]);
    let container = make(
        &server.database().await,
        properties().with_default_ttl(TimeToLive::NoDefault),
    )
    .await;
    create(&container, "1", json!(2)).await;
    create(&container, "2", Value::Null).await;
    let begun = Instant::now();
    while ids(&container).await.len() > 1 && begun.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(ids(&container).await, ["2"]);
}
