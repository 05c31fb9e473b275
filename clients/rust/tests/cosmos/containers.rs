//! Containers: every setting this client knows is kept and told again.

use std::time::Duration;

use azure_data_cosmos::Query;
use azure_data_cosmos::clients::DatabaseClient;
use azure_data_cosmos::models::{
    ChangeFeedPolicy, CompositeIndex, CompositeIndexOrder, CompositeIndexProperty,
    ConflictResolutionMode, ConflictResolutionPolicy, ContainerProperties, FullTextPath,
    FullTextPolicy, IndexingMode, IndexingPolicy, PartitionKeyDefinition, PartitionKeyKind,
    PartitionKeyVersion, SpatialIndex, SpatialType, TimeToLive, UniqueKey, UniqueKeyPolicy,
    VectorDataType, VectorDistanceFunction, VectorEmbedding, VectorEmbeddingPolicy, VectorIndex,
    VectorIndexType,
};
use futures::TryStreamExt;
use lapsedb_clients_rust::{Server, fresh, make, properties, status};
use serde_json::{Value, json};

/// Creates, reads and replaces by what was read; each answer must hold all that was asked.
async fn told_again(database: &DatabaseClient, properties: ContainerProperties) {
    let asked = serde_json::to_value(&properties).expect("json");
    let container = make(database, properties).await;
    let read = container
        .read(None)
        .await
        .expect("read")
        .into_model()
        .expect("a body");
    holds(&serde_json::to_value(&read).expect("json"), &asked, "");
    let replaced = container
        .replace(read, None)
        .await
        .expect("replaced")
        .into_model()
        .expect("a body");
    holds(&serde_json::to_value(&replaced).expect("json"), &asked, "");
}

/// Whether `part` is in `whole`, which may say more.
fn holds(whole: &Value, part: &Value, at: &str) {
    match part {
        Value::Object(members) => {
            members
                .iter()
                .for_each(|(name, value)| holds(&whole[name], value, &format!("{at}/{name}")));
        }
        Value::Array(elements) => {
            assert_eq!(whole.as_array().map(Vec::len), Some(elements.len()), "{at}");
            elements
                .iter()
                .enumerate()
                .for_each(|(n, value)| holds(&whole[n], value, &format!("{at}/{n}")));
        }
        plain => assert_eq!(whole, plain, "{at}"),
    }
}

fn indexing() -> IndexingPolicy {
    IndexingPolicy::default()
        .with_indexing_mode(IndexingMode::Consistent)
        .with_included_path("/*")
        .with_excluded_path(r#"/"_etag"/?"#)
        .with_excluded_path("/notes/*")
}

#[tokio::test]
async fn create_read_query_delete() {
    let server = Server::start(&[]);
    let database = server.database().await;
    let properties = properties();
    let name = properties.id.to_string();
    let container = make(&database, properties).await;
    let read = container
        .read(None)
        .await
        .expect("read")
        .into_model()
        .expect("a body");
    assert_eq!(read.id, name);
    assert_eq!(read.partition_key.paths(), ["/pk"]);
    assert_eq!(read.default_ttl, TimeToLive::Forever);
    let again = ContainerProperties::new(name.clone(), "/pk".into());
    assert_eq!(status(database.create_container(again, None).await), 409);
    let query = Query::from("SELECT * FROM root r WHERE r.id = @id")
        .with_parameter("@id", &name)
        .expect("a query");
    let found: Vec<_> = database
        .query_containers(query, None)
        .await
        .expect("a query")
        .try_collect()
        .await
        .expect("rows");
    assert_eq!(found.len(), 1);
    container.delete(None).await.expect("deleted");
    assert_eq!(status(container.read(None).await), 404);
}

#[tokio::test]
async fn partition_keys_of_every_kind() {
    let server = Server::start(&[]);
    let database = server.database().await;
    for version in [PartitionKeyVersion::V1, PartitionKeyVersion::V2] {
        let key = PartitionKeyDefinition::from("/pk").with_version(version);
        let container = make(&database, ContainerProperties::new(fresh("c"), key)).await;
        let read = container
            .read(None)
            .await
            .expect("read")
            .into_model()
            .expect("a body");
        assert_eq!(read.partition_key.version(), version);
        container
            .create_item("a", "1", json!({"id": "1", "pk": "a"}), None)
            .await
            .expect("created");
        assert_eq!(crate::read(&container, "a", "1").await["pk"], "a");
    }
    let key = ("/tenant", "/user", "/session").into();
    let container = make(&database, ContainerProperties::new(fresh("c"), key)).await;
    let read = container
        .read(None)
        .await
        .expect("read")
        .into_model()
        .expect("a body");
    assert_eq!(read.partition_key.kind(), PartitionKeyKind::MultiHash);
    assert_eq!(read.partition_key.paths(), ["/tenant", "/user", "/session"]);
}

#[tokio::test]
async fn settings_are_told_again() {
    let server = Server::start(&[]);
    let database = server.database().await;
    let composite = CompositeIndex::default()
        .with_property(CompositeIndexProperty::new(
            "/a",
            CompositeIndexOrder::Ascending,
        ))
        .with_property(CompositeIndexProperty::new(
            "/b",
            CompositeIndexOrder::Descending,
        ));
    let spatial = SpatialIndex::new("/loc/*")
        .with_type(SpatialType::Point)
        .with_type(SpatialType::Polygon);
    let embedding = VectorEmbedding::new(
        "/v",
        VectorDataType::Float32,
        3,
        VectorDistanceFunction::Cosine,
    );
    let unique = UniqueKeyPolicy::default()
        .with_unique_key(UniqueKey::default().with_path("/email"))
        .with_unique_key(UniqueKey::default().with_path("/first").with_path("/last"));
    let full_text = FullTextPolicy::new("en-US")
        .with_full_text_path(FullTextPath::new("/t").with_language("en-US"));
    let conflicts = ConflictResolutionPolicy::new(ConflictResolutionMode::LastWriterWins)
        .with_resolution_path("/stamp");
    let feed = ChangeFeedPolicy::default().with_retention_duration(Duration::from_secs(600));
    for properties in [
        properties().with_indexing_policy(
            indexing()
                .with_composite_index(composite)
                .with_spatial_index(spatial),
        ),
        properties().with_unique_key_policy(unique),
        properties()
            .with_vector_embedding_policy(
                VectorEmbeddingPolicy::default().with_embedding(embedding),
            )
            .with_indexing_policy(
                indexing()
                    .with_vector_index(VectorIndex::new("/v", VectorIndexType::QuantizedFlat)),
            ),
        properties()
            .with_full_text_policy(full_text)
            .with_indexing_policy(indexing().with_full_text_index("/t")),
        properties().with_conflict_resolution_policy(conflicts),
        properties().with_change_feed_policy(feed),
        properties().with_default_ttl(3600),
        properties().with_default_ttl(TimeToLive::NoDefault),
        properties().with_analytical_storage_ttl(TimeToLive::NoDefault),
    ] {
        told_again(&database, properties).await;
    }
}

#[tokio::test]
async fn replace_changes_what_it_should() {
    let server = Server::start(&[]);
    let database = server.database().await;
    let container = make(&database, properties().with_default_ttl(60)).await;
    let mut read = container
        .read(None)
        .await
        .expect("read")
        .into_model()
        .expect("a body");
    read.default_ttl = TimeToLive::Forever;
    let replaced = container
        .replace(read.clone(), None)
        .await
        .expect("replaced")
        .into_model()
        .expect("a body");
    assert_eq!(replaced.default_ttl, TimeToLive::Forever);
    assert_ne!(replaced.system_properties.etag, read.system_properties.etag);
    read.default_ttl = TimeToLive::Seconds(0);
    assert_eq!(status(container.replace(read.clone(), None).await), 400);
    read.default_ttl = TimeToLive::Forever;
    read.partition_key = "/other".into();
    assert_eq!(status(container.replace(read, None).await), 400);
}

#[tokio::test]
async fn unique_keys_are_held() {
    let server = Server::start(&[]);
    let unique =
        UniqueKeyPolicy::default().with_unique_key(UniqueKey::default().with_path("/email"));
    let container = make(
        &server.database().await,
        properties().with_unique_key_policy(unique),
    )
    .await;
    container
        .create_item("a", "1", json!({"id": "1", "pk": "a", "email": "x"}), None)
        .await
        .expect("created");
    let clash = json!({"id": "2", "pk": "a", "email": "x"});
    assert_eq!(
        status(container.create_item("a", "2", &clash, None).await),
        409
    );
    container
        .create_item("b", "2", json!({"id": "2", "pk": "b", "email": "x"}), None)
        .await
        .expect("created");
    container
        .delete_item("a", "1", None)
        .await
        .expect("deleted");
    container
        .create_item("a", "2", &clash, None)
        .await
        .expect("created");
}

#[tokio::test]
async fn ranges_cover_everything() {
    let server = Server::start(&[]);
    let container = server.container().await;
    assert!(
        !container
            .read_feed_ranges(None)
            .await
            .expect("ranges")
            .is_empty()
    );
}
