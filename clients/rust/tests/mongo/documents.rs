//! Documents are made, found, changed and deleted.

use futures::TryStreamExt;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{IndexOptions, ReturnDocument};
use mongodb::{Collection, IndexModel};

use crate::{begin, code_of, living};

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_written_found_changed_and_deleted() {
    let (_server, database) = begin().await;
    let things: Collection<Document> = database.collection("things");
    let made = things
        .insert_many((0..10).map(|n| doc! {"_id": n, "n": n, "even": n % 2 == 0}))
        .await
        .expect("inserted");
    assert_eq!(made.inserted_ids.len(), 10);
    let found = things
        .find(doc! {"even": true})
        .sort(doc! {"n": -1})
        .projection(doc! {"n": 1, "_id": 0})
        .batch_size(2)
        .await
        .expect("a cursor");
    let found: Vec<Document> = found.try_collect().await.expect("documents");
    let wanted: Vec<_> = [8, 6, 4, 2, 0].iter().map(|n| doc! {"n": n}).collect();
    assert_eq!(found, wanted);
    let changed = things
        .update_many(doc! {"n": {"$lt": 3}}, doc! {"$inc": {"n": 100}})
        .await
        .expect("updated");
    assert_eq!((changed.matched_count, changed.modified_count), (3, 3));
    let upserted = things
        .replace_one(doc! {"_id": "new"}, doc! {"n": 1})
        .upsert(true)
        .await
        .expect("replaced");
    assert_eq!(upserted.upserted_id, Some(Bson::from("new")));
    let after = things
        .find_one_and_update(doc! {"_id": "new"}, doc! {"$set": {"n": 2}})
        .return_document(ReturnDocument::After)
        .await
        .expect("found");
    assert_eq!(after, Some(doc! {"_id": "new", "n": 2}));
    let deleted = things.delete_many(doc! {"n": {"$gte": 100}}).await;
    assert_eq!(deleted.expect("deleted").deleted_count, 3);
    assert_eq!(living(&things).await.len(), 8);
    let sums = things
        .aggregate([
            doc! {"$group": {"_id": "$even", "sum": {"$sum": "$n"}}},
            doc! {"$sort": {"_id": 1}},
        ])
        .await
        .expect("a cursor");
    let sums: Vec<Document> = sums.try_collect().await.expect("documents");
    assert_eq!(
        sums,
        [
            doc! {"_id": null, "sum": 2},
            doc! {"_id": false, "sum": 24},
            doc! {"_id": true, "sum": 18},
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_index_holds() {
    let (_server, database) = begin().await;
    let things: Collection<Document> = database.collection("things");
    let options = IndexOptions::builder().unique(true).build();
    let index = IndexModel::builder()
        .keys(doc! {"email": 1})
        .options(options);
    things.create_index(index.build()).await.expect("an index");
    things
        .insert_one(doc! {"email": "a"})
        .await
        .expect("inserted");
    let refused = things.insert_one(doc! {"email": "a"}).await;
    assert_eq!(code_of(&refused.expect_err("a duplicate")), 11000);
    let names = things.list_index_names().await.expect("names");
    assert_eq!(names, ["_id_", "email_1"]);
}
