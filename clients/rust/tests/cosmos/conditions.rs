//! ETags, conditional requests and session tokens.

use azure_data_cosmos::options::{ItemReadOptions, ItemWriteOptions, Precondition};
use lapsedb_clients_rust::{Server, status};
use serde_json::json;

use crate::read;

fn if_same(etag: &str) -> Option<ItemWriteOptions> {
    Some(ItemWriteOptions::default().with_precondition(Precondition::if_match(etag.to_owned())))
}

#[tokio::test]
async fn writes_only_over_the_etag_named() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let body = json!({"id": "1", "pk": "a", "n": 1});
    container
        .create_item("a", "1", &body, None)
        .await
        .expect("created");
    let stale = if_same("\"00000000-0000-0000-0000-000000000000\"");
    assert_eq!(
        status(container.replace_item("a", "1", &body, stale.clone()).await),
        412
    );
    assert_eq!(
        status(container.upsert_item("a", "1", &body, stale.clone()).await),
        412
    );
    assert_eq!(status(container.delete_item("a", "1", stale).await), 412);
    let etag = read(&container, "a", "1").await["_etag"]
        .as_str()
        .expect("an etag")
        .to_owned();
    let replaced = container
        .replace_item("a", "1", &body, if_same(&etag))
        .await
        .expect("replaced");
    let newer = replaced.headers().etag().expect("an etag").to_string();
    assert_ne!(newer, etag);
    assert_eq!(
        status(container.delete_item("a", "1", if_same(&etag)).await),
        412
    );
    container
        .delete_item("a", "1", if_same(&newer))
        .await
        .expect("deleted");
}

#[tokio::test]
async fn create_only_if_there_is_none() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let body = json!({"id": "1", "pk": "a"});
    let none =
        || Some(ItemWriteOptions::default().with_precondition(Precondition::if_none_match("*")));
    container
        .create_item("a", "1", &body, none())
        .await
        .expect("created");
    assert_eq!(
        status(container.create_item("a", "1", &body, none()).await),
        409
    );
}

#[tokio::test]
async fn read_of_what_is_known_is_304() {
    let server = Server::start(&[]);
    let container = server.container().await;
    container
        .create_item("a", "1", json!({"id": "1", "pk": "a"}), None)
        .await
        .expect("created");
    let etag = read(&container, "a", "1").await["_etag"]
        .as_str()
        .expect("an etag")
        .to_owned();
    let known = ItemReadOptions::default().with_precondition(Precondition::if_none_match(etag));
    let code = match container.read_item("a", "1", Some(known)).await {
        Ok(response) => u16::from(response.status().status_code()),
        Err(error) => u16::from(error.status().status_code()),
    };
    assert_eq!(code, 304);
}

#[tokio::test]
async fn session_token_moves_and_is_taken_back() {
    let server = Server::start(&[]);
    let container = server.container().await;
    let mut last = 0;
    for n in 0..3 {
        let written = container
            .upsert_item("a", "1", json!({"id": "1", "pk": "a", "n": n}), None)
            .await
            .expect("written");
        let token = written.headers().session_token().expect("a token").clone();
        let position: u64 = token
            .as_str()
            .rsplit('#')
            .next()
            .and_then(|lsn| lsn.parse().ok())
            .expect("a position");
        assert!(position > last);
        last = position;
        let options = ItemReadOptions::default().with_session_token(token);
        container
            .read_item("a", "1", Some(options))
            .await
            .expect("read");
    }
}
