//! A change stream tells what happens, expiry included.

use mongodb::Collection;
use mongodb::bson::{Document, doc};
use mongodb::change_stream::event::{ChangeStreamEvent, OperationType};

use crate::begin;

/// The next event; the driver asks again until there is one.
macro_rules! next {
    ($stream:expr) => {{
        let event: ChangeStreamEvent<Document> = loop {
            if let Some(event) = $stream.next_if_any().await.expect("a stream") {
                break event;
            }
        };
        event
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_and_expiry_are_told_in_order() {
    let (server, database) = begin().await;
    let things: Collection<Document> = database.collection("things");
    let mut stream = things.watch().await.expect("a stream");
    things
        .insert_one(doc! {"_id": 1, "x": 1, "ttl": 5})
        .await
        .expect("inserted");
    things
        .update_one(doc! {"_id": 1}, doc! {"$set": {"x": 2}})
        .await
        .expect("updated");
    let made = next!(stream);
    assert_eq!(made.operation_type, OperationType::Insert);
    let token = stream.resume_token().expect("a token");
    let changed = next!(stream);
    assert_eq!(changed.operation_type, OperationType::Update);
    let described = changed.update_description.expect("a description");
    assert_eq!(described.updated_fields, doc! {"x": 2});
    database
        .run_command(doc! {"createIndexes": "things", "indexes": [
            {"key": {"_ts": 1}, "name": "_ts_1", "expireAfterSeconds": -1},
        ]})
        .await
        .expect("an index");
    server.advance("5s");
    let ended = next!(stream);
    assert_eq!(ended.operation_type, OperationType::Delete);
    assert_eq!(ended.document_key, Some(doc! {"_id": 1}));
    let mut again = things.watch().resume_after(token).await.expect("a stream");
    assert_eq!(next!(again).operation_type, OperationType::Update);
    assert_eq!(next!(again).operation_type, OperationType::Delete);
}
