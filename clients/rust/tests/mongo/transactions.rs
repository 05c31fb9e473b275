//! A transaction is seen whole or not at all.

use mongodb::Collection;
use mongodb::bson::{Document, doc};

use crate::{begin, living};

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_is_seen_whole_or_not_at_all() {
    let (_server, database) = begin().await;
    let things: Collection<Document> = database.collection("things");
    things.insert_one(doc! {"_id": 0}).await.expect("inserted");
    let mut session = database.client().start_session().await.expect("a session");
    session.start_transaction().await.expect("begun");
    things
        .insert_one(doc! {"_id": 1})
        .session(&mut session)
        .await
        .expect("inserted");
    things
        .update_one(doc! {"_id": 0}, doc! {"$set": {"x": 1}})
        .session(&mut session)
        .await
        .expect("updated");
    let inside = things
        .count_documents(Document::new())
        .session(&mut session)
        .await;
    assert_eq!(inside.expect("a count"), 2);
    assert_eq!(living(&things).await.len(), 1);
    session.commit_transaction().await.expect("committed");
    assert_eq!(living(&things).await.len(), 2);
    session.start_transaction().await.expect("begun");
    things
        .delete_many(Document::new())
        .session(&mut session)
        .await
        .expect("deleted");
    session.abort_transaction().await.expect("given up");
    assert_eq!(living(&things).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_on_one_document_may_try_again() {
    let (_server, database) = begin().await;
    let things: Collection<Document> = database.collection("things");
    things
        .insert_one(doc! {"_id": 0, "n": 0})
        .await
        .expect("inserted");
    let client = database.client();
    let mut one = client.start_session().await.expect("a session");
    let mut two = client.start_session().await.expect("a session");
    for session in [&mut one, &mut two] {
        session.start_transaction().await.expect("begun");
        let seen = things.find_one(doc! {"_id": 0}).session(session).await;
        assert!(seen.expect("found").is_some());
    }
    let add = || (doc! {"_id": 0}, doc! {"$inc": {"n": 1}});
    let (query, update) = add();
    things
        .update_one(query, update)
        .session(&mut one)
        .await
        .expect("updated");
    let (query, update) = add();
    let refused = things.update_one(query, update).session(&mut two).await;
    let refused = refused.expect_err("a conflict");
    assert!(refused.contains_label("TransientTransactionError"));
    one.commit_transaction().await.expect("committed");
    let after = things.find_one(doc! {"_id": 0}).await.expect("found");
    assert_eq!(after, Some(doc! {"_id": 0, "n": 1}));
}
