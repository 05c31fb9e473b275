//! Items: create, read, upsert, replace, delete, with bodies as text and as Cosmos binary JSON.

use azure_data_cosmos::models::{ContainerProperties, PartitionKey};
use azure_data_cosmos::options::BinaryEncodingOptions;
use azure_data_cosmos::{AccountReference, CosmosClient, FeedScope, RoutingStrategy};
use futures::TryStreamExt;
use lapsedb_clients_rust::{KEY, Server, fresh, make, properties, status};
use serde_json::{Value, json};

use crate::{ask, loud, read, user_part};

/// A document with every kind of value; large ones make the encoder use its longer forms.
fn values() -> Value {
    json!({
        "id": "values", "pk": "a", "zero": 0, "small": 31, "byte": 200, "minus": -1, "int": 70_000, "long": 1_u64 << 52,
        "negative": -(1_i64 << 40), "half": 0.5, "huge": 1e300, "tiny": 5e-324, "yes": true, "no": false, "null": null,
        "empty": "", "list": [], "object": {}, "": "empty name", "ключ": "имя",
        "text": "quote \" back \\ slash / tab \t line \n null \u{0} é 漢字 🎈",
        "medium": "m".repeat(300), "large": "l".repeat(70_000),
        "numbers": (0..400).collect::<Vec<i32>>(), "nested": [[[[{"a": [{}]}]]]],
        "many": (0..300).map(|n| (format!("member{n}"), json!(n))).collect::<serde_json::Map<_, _>>(),
    })
}

#[tokio::test]
async fn binary_bodies_come_back_as_they_went() {
    let server = Server::start(&[]);
    let container = server.container().await;
    container
        .create_item("a", "values", values(), None)
        .await
        .expect("created");
    assert_eq!(user_part(read(&container, "a", "values").await), values());
    container
        .replace_item("a", "values", values(), None)
        .await
        .expect("replaced");
    container
        .upsert_item("a", "values", values(), None)
        .await
        .expect("upserted");
    assert_eq!(user_part(read(&container, "a", "values").await), values());
    // Rows come in binary too, and the client decodes them.
    let rows = ask(&container, "SELECT * FROM c").await;
    assert_eq!(
        rows.into_iter().map(user_part).collect::<Vec<_>>(),
        [values()]
    );
}

#[tokio::test]
async fn answers_are_binary_as_this_client_asks() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let written = container
        .create_item("a", "values", values(), loud())
        .await
        .expect("created");
    let read = container
        .read_item("a", "values", None)
        .await
        .expect("read");
    for answer in [written, read] {
        let body = answer.into_body().single().expect("a body");
        assert_eq!(body.first(), Some(&0x80));
    }
    let refused = container.read_item("a", "nobody", None).await;
    assert_eq!(status(refused), 404);
}

#[tokio::test]
async fn text_bodies_come_back_as_they_went() {
    let server = Server::start(&[]);
    let database = server.database().await;
    let properties = properties();
    let name = properties.id.to_string();
    make(&database, properties).await;
    let account = AccountReference::with_authentication_key(
        server.url("http").parse().expect("an endpoint"),
        KEY,
    );
    let client = CosmosClient::builder()
        .with_binary_encoding_options(BinaryEncodingOptions::new().with_enabled(false))
        .build(account, RoutingStrategy::ProximityTo("East US".into()))
        .await
        .expect("a client");
    let container = client
        .database_client(database.name().expect("a name").to_owned())
        .container_client(name, None)
        .await
        .expect("a container");
    container
        .create_item("a", "values", values(), None)
        .await
        .expect("created");
    assert_eq!(user_part(read(&container, "a", "values").await), values());
}

#[tokio::test]
async fn create_read_replace_upsert_delete() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let created = container
        .create_item("a", "1", json!({"id": "1", "pk": "a", "n": 1}), loud())
        .await
        .expect("created");
    assert_eq!(u16::from(created.status().status_code()), 201);
    let created: Value = created.into_model().expect("a body");
    assert_eq!(read(&container, "a", "1").await, created);
    assert_eq!(
        status(
            container
                .create_item("a", "1", json!({"id": "1", "pk": "a"}), None)
                .await
        ),
        409
    );

    let replaced = container
        .replace_item("a", "1", json!({"id": "1", "pk": "a", "n": 2}), loud())
        .await
        .expect("replaced");
    assert_eq!(u16::from(replaced.status().status_code()), 200);
    let replaced: Value = replaced.into_model().expect("a body");
    assert_eq!(replaced["_rid"], created["_rid"]);
    assert_ne!(replaced["_etag"], created["_etag"]);

    let upserted = container
        .upsert_item("a", "1", json!({"id": "1", "pk": "a", "n": 3}), None)
        .await
        .expect("upserted");
    assert_eq!(u16::from(upserted.status().status_code()), 200);
    let inserted = container
        .upsert_item("a", "2", json!({"id": "2", "pk": "a"}), None)
        .await
        .expect("upserted");
    assert_eq!(u16::from(inserted.status().status_code()), 201);
    assert!(inserted.headers().etag().is_some());
    assert!(inserted.headers().session_token().is_some());
    assert!(inserted.headers().request_charge().is_some());

    container
        .delete_item("a", "1", None)
        .await
        .expect("deleted");
    assert_eq!(status(container.read_item("a", "1", None).await), 404);
    assert_eq!(status(container.delete_item("a", "1", None).await), 404);
    assert_eq!(
        status(
            container
                .replace_item("a", "1", json!({"id": "1", "pk": "a"}), None)
                .await
        ),
        404
    );
}

#[tokio::test]
async fn ids_may_be_odd() {
    let server = Server::start(&[]);
    let container = server.container().await;
    for odd in [
        "with space",
        "ünï-码",
        "plus+",
        "quo'te\"s",
        "a&b=c",
        "per%20cent",
    ] {
        container
            .create_item("a", odd, json!({"id": odd, "pk": "a"}), None)
            .await
            .expect("created");
        assert_eq!(read(&container, "a", odd).await["id"], odd);
        container
            .delete_item("a", odd, None)
            .await
            .expect("deleted");
    }
}

#[tokio::test]
async fn keys_of_every_type() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let keys: [(PartitionKey, Value); 7] = [
        ("1".into(), json!("1")),
        (1.into(), json!(1)),
        (true.into(), json!(true)),
        (false.into(), json!(false)),
        ("".into(), json!("")),
        (0.into(), json!(0)),
        (Option::<String>::None.into(), Value::Null),
    ];
    for (key, value) in &keys {
        container
            .create_item(
                key.clone(),
                "same",
                json!({"id": "same", "pk": value}),
                None,
            )
            .await
            .expect("created");
    }
    for (key, value) in &keys {
        let item: Value = container
            .read_item(key.clone(), "same", None)
            .await
            .expect("read")
            .into_model()
            .expect("a document");
        assert_eq!(&item["pk"], value);
    }
    container
        .create_item(PartitionKey::UNDEFINED, "same", json!({"id": "same"}), None)
        .await
        .expect("created");
    container
        .read_item(PartitionKey::UNDEFINED, "same", None)
        .await
        .expect("read");
}

#[tokio::test]
async fn hierarchical_keys() {
    let server = Server::start(&[]);
    let key = ("/tenant", "/user").into();
    let container = make(
        &server.database().await,
        ContainerProperties::new(fresh("c"), key),
    )
    .await;
    for tenant in ["t1", "t2"] {
        for user in ["u1", "u2"] {
            let body = json!({"id": "x", "tenant": tenant, "user": user});
            container
                .create_item((tenant, user), "x", body, None)
                .await
                .expect("created");
        }
    }
    container
        .delete_item(("t2", "u2"), "x", None)
        .await
        .expect("deleted");
    assert_eq!(
        status(container.read_item(("t2", "u2"), "x", None).await),
        404
    );
    let rows = container
        .query_items(
            "SELECT VALUE c.user FROM c",
            FeedScope::partition("t1"),
            None,
        )
        .await
        .expect("a query");
    let mut users: Vec<String> = rows.try_collect().await.expect("rows");
    users.sort();
    assert_eq!(users, ["u1", "u2"]);
}

#[tokio::test]
async fn too_large_is_413() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let body = json!({"id": "big", "pk": "a", "text": "x".repeat(2 * 1024 * 1024)});
    assert_eq!(
        status(container.create_item("a", "big", body, None).await),
        413
    );
}

#[tokio::test]
async fn item_of_another_key_is_400() {
    let server = Server::start(&[]);
    let container = server.container().await;
    assert_eq!(
        status(
            container
                .create_item("a", "1", json!({"id": "1", "pk": "b"}), None)
                .await
        ),
        400
    );
}

#[tokio::test]
async fn parallel_creates_of_one_id_have_one_winner() {
    let server = Server::start(&[]);
    let container = std::sync::Arc::new(server.container().await);
    let attempts = (0..20).map(|n| {
        let container = container.clone();
        tokio::spawn(async move {
            container
                .create_item("a", "same", json!({"id": "same", "pk": "a", "n": n}), None)
                .await
        })
    });
    let mut winners = 0;
    for attempt in attempts.collect::<Vec<_>>() {
        match attempt.await.expect("no panic") {
            Ok(_) => winners += 1,
            Err(error) => assert_eq!(u16::from(error.status().status_code()), 409),
        }
    }
    assert_eq!(winners, 1);
}
