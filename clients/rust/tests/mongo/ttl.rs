//! Documents end on time: by the default on `_ts`, by their own `ttl`, by their dates.

use std::time::Duration;

use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::options::IndexOptions;
use mongodb::{Collection, IndexModel};

use crate::{begin, living, texts};

async fn ttl_index(collection: &Collection<Document>, field: &str, seconds: u64) {
    let options = IndexOptions::builder()
        .expire_after(Duration::from_secs(seconds))
        .build();
    let index = IndexModel::builder().keys(doc! {field: 1}).options(options);
    collection
        .create_index(index.build())
        .await
        .expect("an index");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_on_ts_and_documents_that_say_otherwise() {
    let (server, database) = begin().await;
    let things: Collection<Document> = database.collection("things");
    ttl_index(&things, "_ts", 10).await;
    things
        .insert_many([
            doc! {"_id": "double", "ttl": 20.0},
            doc! {"_id": "int", "ttl": 20_i32},
            doc! {"_id": "long", "ttl": 20_i64},
            doc! {"_id": "fraction", "ttl": 20.5},
            doc! {"_id": "huge", "ttl": 2_147_483_649_i64},
            doc! {"_id": "text", "ttl": "20"},
            doc! {"_id": "none"},
            doc! {"_id": "never", "ttl": -1},
        ])
        .await
        .expect("inserted");
    let huge = things.find_one(doc! {"_id": "huge"}).await.expect("found");
    let huge = huge.expect("a document");
    assert_eq!(huge.get("ttl"), Some(&Bson::Int64(2_147_483_649)));
    server.advance("9999ms");
    assert_eq!(living(&things).await.len(), 8);
    server.advance("1ms");
    assert_eq!(
        living(&things).await,
        texts(&["double", "int", "long", "never"])
    );
    server.advance("9999ms");
    assert_eq!(living(&things).await.len(), 4);
    server.advance("1ms");
    assert_eq!(living(&things).await, texts(&["never"]));
    things
        .insert_one(doc! {"_id": "int"})
        .await
        .expect("the id of a dead one is free");
    things.drop_index("_ts_1").await.expect("dropped");
    server.advance("30d");
    assert_eq!(living(&things).await, texts(&["never", "int"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_date_ends_a_document_to_the_millisecond() {
    let (server, database) = begin().await;
    let things: Collection<Document> = database.collection("things");
    ttl_index(&things, "until", 2).await;
    let now = i64::try_from(server.align()).expect("a time");
    let at = |ms: i64| Bson::DateTime(DateTime::from_millis(now + ms));
    things
        .insert_many([
            doc! {"_id": "date", "until": at(500)},
            doc! {"_id": "dates", "until": [at(9000), "x", at(1500)]},
            doc! {"_id": "text", "until": "2020-01-01"},
        ])
        .await
        .expect("inserted");
    server.advance("2499ms");
    assert_eq!(living(&things).await.len(), 3);
    server.advance("1ms");
    assert_eq!(living(&things).await, texts(&["dates", "text"]));
    server.advance("1s");
    assert_eq!(living(&things).await, texts(&["text"]));
    things.drop_index("until_1").await.expect("dropped");
    assert_eq!(living(&things).await, texts(&["text"]));
}
