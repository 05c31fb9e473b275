//! The `mongodb` driver against a real server: documents, time to live, transactions and change streams.

mod documents;
mod streams;
mod transactions;
mod ttl;

use futures::TryStreamExt;
use lapsedb_clients_rust::{Server, fresh};
use mongodb::bson::{Bson, Document};
use mongodb::error::{Error, ErrorKind, WriteFailure};
use mongodb::{Client, Collection, Database};

/// A server on a clock that the test moves, and a database of the test's own.
async fn begin() -> (Server, Database) {
    let server = Server::start(&["--virtual-clock", "--mongo-port", "0"]);
    server.align();
    let client = Client::with_uri_str(server.mongo_url()).await;
    let database = client.expect("a client").database(&fresh("db"));
    (server, database)
}

/// The ids that every way of looking agrees on.
async fn living(collection: &Collection<Document>) -> Vec<Bson> {
    let found = collection.find(Document::new()).await.expect("a cursor");
    let found: Vec<Document> = found.try_collect().await.expect("documents");
    let ids: Vec<_> = found
        .iter()
        .map(|document| document.get("_id").cloned().expect("an id"))
        .collect();
    let count = collection.count_documents(Document::new()).await;
    assert_eq!(count.expect("a count"), ids.len() as u64);
    let estimated = collection.estimated_document_count().await;
    assert_eq!(estimated.expect("a count"), ids.len() as u64);
    let distinct = collection.distinct("_id", Document::new()).await;
    assert_eq!(distinct.expect("values").len(), ids.len());
    ids
}

fn texts(ids: &[&str]) -> Vec<Bson> {
    ids.iter().map(|id| Bson::from(*id)).collect()
}

/// The code of a command or a write that failed.
fn code_of(error: &Error) -> i32 {
    match error.kind.as_ref() {
        ErrorKind::Command(command) => command.code,
        ErrorKind::Write(WriteFailure::WriteError(write)) => write.code,
        other => panic!("no code in {other:?}"),
    }
}
