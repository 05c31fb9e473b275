//! Databases: create, read, query, delete.

use azure_data_cosmos::Query;
use futures::TryStreamExt;
use lapsedb_clients_rust::{Server, fresh, make, properties, status};

#[tokio::test]
async fn create_read_query_delete() {
    let server = Server::start(&[]);
    let client = server.client().await;
    let name = fresh("db");
    let created = client
        .create_database(&name, None)
        .await
        .expect("created")
        .into_model()
        .expect("a body");
    let database = client.database_client(name.clone());
    let read = database
        .read(None)
        .await
        .expect("read")
        .into_model()
        .expect("a body");
    assert_eq!(read.id.as_ref(), Some(&name));
    assert_eq!(read.system_properties.etag, created.system_properties.etag);
    assert_eq!(
        read.system_properties.resource_id,
        created.system_properties.resource_id
    );
    assert_eq!(status(client.create_database(&name, None).await), 409);

    let query = Query::from("SELECT * FROM root r WHERE r.id = @id")
        .with_parameter("@id", &name)
        .expect("a query");
    let found: Vec<_> = client
        .query_databases(query, None)
        .await
        .expect("a query")
        .try_collect()
        .await
        .expect("rows");
    assert_eq!(
        found
            .into_iter()
            .filter_map(|each| each.id)
            .collect::<Vec<_>>(),
        [name]
    );

    database.delete(None).await.expect("deleted");
    assert_eq!(status(database.read(None).await), 404);
    assert_eq!(status(database.delete(None).await), 404);
}

#[tokio::test]
async fn listing_shows_all() {
    let server = Server::start(&[]);
    let client = server.client().await;
    let mut names: Vec<String> = (0..5).map(|_| fresh("db")).collect();
    for name in &names {
        client.create_database(name, None).await.expect("created");
    }
    let found: Vec<_> = client
        .query_databases("SELECT * FROM c", None)
        .await
        .expect("a query")
        .try_collect()
        .await
        .expect("rows");
    let mut found: Vec<String> = found.into_iter().filter_map(|each| each.id).collect();
    found.sort();
    names.sort();
    assert_eq!(found, names);
}

#[tokio::test]
async fn names_may_be_odd() {
    let server = Server::start(&[]);
    let client = server.client().await;
    for odd in ["with space", "ümläut-数据库", "colls", "quo'te"] {
        let name = format!("{} {odd}", fresh("db"));
        client.create_database(&name, None).await.expect("created");
        let database = client.database_client(name.clone());
        assert_eq!(
            database
                .read(None)
                .await
                .expect("read")
                .into_model()
                .expect("a body")
                .id,
            Some(name)
        );
        database.delete(None).await.expect("deleted");
    }
}

#[tokio::test]
async fn deleting_takes_the_containers_along() {
    let server = Server::start(&[]);
    let database = server.database().await;
    make(&database, properties()).await;
    let name = database.name().expect("a name").to_owned();
    database.delete(None).await.expect("deleted");
    server
        .client()
        .await
        .create_database(&name, None)
        .await
        .expect("created again");
    let left: Vec<_> = database
        .query_containers("SELECT * FROM c", None)
        .await
        .expect("a query")
        .try_collect()
        .await
        .expect("rows");
    assert!(left.is_empty());
}
