//! The change feed of all versions and deletes: every event, expiries among them, over a restart, and with leases on top.

use azure_data_cosmos::FeedScope;
use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::feed::ContinuationToken;
use azure_data_cosmos::models::ChangeFeedItem;
use azure_data_cosmos::options::{
    ChangeFeedMode, ChangeFeedOptions, ChangeFeedStartFrom, ItemWriteOptions, MaxItemCountHint,
    Precondition,
};
use futures::StreamExt;
use lapsedb_clients_rust::{Server, make, properties, status};
use serde_json::{Value, json};

use crate::read;

type Event = ChangeFeedItem<Value>;

/// One page behind a continuation, or from now on, and where the next one begins.
async fn page(container: &ContainerClient, from: Option<&str>) -> (Vec<Event>, String) {
    let mut options = ChangeFeedOptions::default()
        .with_mode(ChangeFeedMode::AllVersionsAndDeletes)
        .with_max_item_count(MaxItemCountHint::Limit(2.try_into().expect("not zero")));
    if let Some(from) = from {
        options = options.with_continuation_token(ContinuationToken::from_string(from.to_owned()));
    }
    let (scope, start) = (FeedScope::full_container(), ChangeFeedStartFrom::Now);
    let feed = container.query_change_feed(scope, start, Some(options));
    let mut feed = feed.await.expect("a feed");
    let page = feed.next().await.expect("it never ends").expect("a page");
    let token = feed.to_continuation_token().expect("a token");
    (page.into_items(), token.as_str().to_owned())
}

/// Reads until there is nothing new.
async fn follow(container: &ContainerClient, from: &str) -> (Vec<Event>, String) {
    let (mut events, mut at) = (Vec::new(), from.to_owned());
    loop {
        let (more, next) = page(container, Some(&at)).await;
        at = next;
        if more.is_empty() {
            return (events, at);
        }
        events.extend(more);
    }
}

/// What happened to which item; an exclamation mark says that its time was up.
fn short(events: &[Event]) -> Vec<String> {
    let one = |event: &Event| {
        let metadata = event.metadata().expect("metadata");
        let expired = metadata.time_to_live_expired().expect("a flag");
        let id = metadata.id().map(str::to_owned).unwrap_or_else(|| {
            let current = event.current().expect("a document");
            current["id"].as_str().expect("an id").to_owned()
        });
        let kind = event.operation_type().expect("a kind");
        format!("{kind:?}{} {id}", if expired { "!" } else { "" })
    };
    events.iter().map(one).collect()
}

async fn put(container: &ContainerClient, id: &str, more: Value) {
    let mut body = json!({"id": id, "pk": "p"});
    for (name, value) in more.as_object().expect("members") {
        body[name] = value.clone();
    }
    let written = container.upsert_item("p", id, body, None).await;
    written.expect("written");
}

#[tokio::test]
async fn every_change_and_every_expiry_over_a_restart() {
    let mut server = Server::start(&["--virtual-clock"]);
    let zero = server.align() / 1000;
    let database = server.database().await;
    let properties = properties().with_default_ttl(3600);
    let name = properties.id.to_string();
    let container = make(&database, properties).await;
    let (nothing, start) = page(&container, None).await;
    assert!(nothing.is_empty());
    put(&container, "a", json!({"n": 1})).await;
    put(&container, "a", json!({"n": 2})).await;
    put(&container, "b", json!({})).await;
    container
        .delete_item("p", "b", None)
        .await
        .expect("deleted");
    server.stop();
    server.start_again();
    server.advance("2d");
    let client = server.client().await.database_client(database.id());
    let again = client.container_client(name, None).await;
    let again = again.expect("a container client");
    put(&again, "a", json!({"n": 3})).await;
    let (events, at) = follow(&again, &start).await;
    let wanted = [
        "Create a",
        "Replace a",
        "Create b",
        "Delete b",
        "Delete! a",
        "Create a",
    ];
    assert_eq!(short(&events), wanted);
    let replaced = &events[1];
    assert!(replaced.previous().is_none());
    assert_eq!(replaced.current().expect("a version")["n"], 2);
    let expired = events[4].metadata().expect("metadata");
    let moment = expired.conflict_resolution_timestamp().expect("a time");
    assert_eq!(moment.as_secs(), zero + 3600);
    assert_eq!(expired.partition_key(), Some(&json!({"pk": "p"})));
    assert_eq!(events[4].previous().expect("a version")["n"], 2);
    assert!(follow(&again, &at).await.0.is_empty());
}

#[tokio::test]
async fn leases_guarded_by_etags_note_each_event_once() {
    let server = Server::start(&["--virtual-clock"]);
    let database = server.database().await;
    let feed = make(&database, properties().with_default_ttl(100)).await;
    let leases = make(&database, properties()).await;
    let (_, start) = page(&feed, None).await;
    put(&leases, "lease", json!({"continuation": start})).await;
    let (mut told, mut noted, mut in_hand, mut lost) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut seed = 7_u64;
    let mut dice = |sides: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % sides
    };
    for step in 0..150 {
        match dice(6) {
            0 | 1 => {
                let id = format!("i{}", dice(4));
                put(&feed, &id, json!({"step": step})).await;
                told.push((id, step));
            }
            2 => {
                server.advance(["1s", "60s", "1h"][dice(3) as usize]);
            }
            3 | 4 => {
                // A worker reads behind the lease, and holds on to what it read.
                let lease = read(&leases, "p", "lease").await;
                let from = lease["continuation"].as_str().expect("a continuation");
                let (events, next) = page(&feed, Some(from)).await;
                in_hand.push((lease, events, next));
            }
            _ if !in_hand.is_empty() => {
                let (lease, events, next) =
                    in_hand.swap_remove(dice(in_hand.len() as u64) as usize);
                match note(&leases, &lease, &next).await {
                    true => noted.extend(events),
                    false => lost += 1,
                }
            }
            _ => {}
        }
    }
    server.advance("1d");
    let lease = read(&leases, "p", "lease").await;
    let from = lease["continuation"].as_str().expect("a continuation");
    noted.extend(follow(&feed, from).await.0);
    let step = |event: &Event| {
        let current = event
            .current()
            .filter(|current| current.get("id").is_some())?;
        let id = current["id"].as_str().expect("an id").to_owned();
        Some((id, current["step"].as_i64().expect("a step")))
    };
    assert_eq!(noted.iter().filter_map(step).collect::<Vec<_>>(), told);
    let expired = short(&noted)
        .iter()
        .filter(|event| event.starts_with("Delete!"))
        .count();
    let created = short(&noted)
        .iter()
        .filter(|event| event.starts_with("Create"))
        .count();
    assert_eq!(expired, created, "every life ends once");
    assert!(lost > 0, "no lease was ever lost: the test shows nothing");
}

/// Notes in the lease how far a worker came, if it is still as the worker read it.
async fn note(leases: &ContainerClient, lease: &Value, next: &str) -> bool {
    let etag = lease["_etag"].as_str().expect("an etag").to_owned();
    let same = ItemWriteOptions::default().with_precondition(Precondition::if_match(etag));
    let body = json!({"id": "lease", "pk": "p", "continuation": next});
    match leases.replace_item("p", "lease", body, Some(same)).await {
        Ok(_) => true,
        Err(refused) => {
            assert_eq!(status(Err::<(), _>(refused)), 412);
            false
        }
    }
}
