//! A service in memory whose clock stands still, and short ways to its verbs.

pub mod mongo;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lapsedb_kv::{AnyEngine, Engine, EngineKind, Scan, Snapshot, Space};
use lapsedb_service::collections;
use lapsedb_service::databases;
use lapsedb_service::feed::{Ask, Page};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::reply::{Conditions, Reply};
use lapsedb_service::{Config, Ctx, Kind, PartitionKey, Place, Result, Service, Who};
use lapsedb_value::{Object, Value, json};

pub const KEY: &[u8] = b"a master key of tests";
/// Any condition: none.
pub const ALWAYS: Conditions = Conditions {
    if_match: None,
    if_none_match: None,
};

pub struct Bench {
    pub service: Arc<Service>,
    pub ctx: Ctx,
}

impl Bench {
    /// A service with nothing in it.
    pub async fn new() -> Bench {
        Bench::at(Place::Memory, false).await
    }

    /// The same, where it is wanted; its dead go at the next tick, or stay.
    pub async fn at(place: Place, purge: bool) -> Bench {
        let config = Config {
            place,
            purge,
            ..Config::in_memory(KEY.to_vec())
        };
        let service = Service::open(config).await.unwrap();
        let ctx = Ctx::new(Arc::clone(&service), Who::Master);
        Bench { service, ctx }
    }

    /// Moves the clock to the beginning of the next second.
    pub fn at_a_second(&self) {
        let clock = self.service.clock();
        clock.advance(1000 - clock.now().0 % 1000).unwrap();
    }

    /// The same service as someone else sees it.
    pub fn by(&self, who: Who) -> Ctx {
        Ctx::new(Arc::clone(&self.service), who)
    }

    pub async fn database(&self, id: &str) -> Reply {
        let body = object(&format!("{{\"id\":\"{id}\"}}"));
        databases::create(&self.ctx, &body, None).await.unwrap()
    }

    pub async fn collection(&self, db: &str, id: &str, default_ttl: Option<i64>) -> Reply {
        let body = definition(id, default_ttl);
        collections::create(&self.ctx, db, &body, None)
            .await
            .unwrap()
    }

    pub async fn set_ttl(&self, db: &str, id: &str, default_ttl: Option<i64>) -> Result<Reply> {
        let body = definition(id, default_ttl);
        let replaced = collections::replace(&self.ctx, (db, id), &body, &ALWAYS).await?;
        Ok(replaced.reply)
    }
}

pub fn definition(id: &str, default_ttl: Option<i64>) -> Value {
    let ttl = default_ttl.map_or_else(String::new, |ttl| format!(",\"defaultTtl\":{ttl}"));
    let key = "{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}";
    value(&format!("{{\"id\":\"{id}\",\"partitionKey\":{key}{ttl}}}"))
}

/// Writes an item `{"id": id, "pk": "p"}`.
pub async fn write(ctx: &Ctx, db: &str, coll: &str, id: &str) -> Result<()> {
    let body = object(&format!("{{\"id\":\"{id}\",\"pk\":\"p\"}}"));
    let op = ItemOp {
        action: Action::Upsert(Document::new(body)?),
        partition: Some(partition()),
        if_match: None,
        if_none_match: None,
        minimal: false,
    };
    let ran = items::run(ctx, (db, coll), None, &[op], Mode::Each).await?;
    ran.results.into_iter().next().unwrap().map(|_| ())
}

/// Whether an item can be read.
pub async fn visible(ctx: &Ctx, db: &str, coll: &str, id: &str) -> Result<bool> {
    match items::read::read(ctx, (db, coll), None, Some(&partition()), id).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind == Kind::ItemNotFound => Ok(false),
        Err(error) => Err(error),
    }
}

pub fn partition() -> PartitionKey {
    PartitionKey::parse("[\"p\"]").unwrap()
}

pub fn value(text: &str) -> Value {
    let limits = json::Limits {
        depth_max: 32,
        duplicates_refused: &[],
    };
    json::parse(text.as_bytes(), &limits).unwrap()
}

pub fn object(text: &str) -> Object {
    value(text).into_object().unwrap()
}

pub fn text(reply: &Reply, name: &str) -> String {
    reply.value.get(name).as_str().unwrap().to_owned()
}

pub fn ids(page: &Page) -> Vec<String> {
    page.values
        .iter()
        .map(|value| value.get("id").as_str().unwrap().to_owned())
        .collect()
}

/// A whole feed.
pub fn all<'a>() -> Ask<'a> {
    Ask::default()
}

pub fn kind<T>(result: Result<T>) -> Kind {
    match result {
        Ok(_) => panic!("a failure is expected"),
        Err(error) => error.kind,
    }
}

/// The engine of a store that is not open.
pub fn engine(folder: &Path) -> AnyEngine {
    let kind = EngineKind::Rocksdb {
        path: folder.to_path_buf(),
        relaxed: false,
    };
    lapsedb_kv::open(lapsedb_kv::OpenOptions::new(kind)).unwrap()
}

/// Every key of a store that is not open, with its value.
pub async fn stored(folder: &Path) -> BTreeMap<(Space, Vec<u8>), Vec<u8>> {
    let engine = engine(folder);
    let snapshot = engine.snapshot().await.unwrap();
    let mut all = BTreeMap::new();
    for space in Space::ALL {
        let page = snapshot.scan(Scan::prefix(space, &[])).await.unwrap();
        assert!(!page.more);
        for (key, value) in page.rows {
            all.insert((space, key.to_vec()), value.to_vec());
        }
    }
    drop(snapshot);
    engine.close().await.unwrap();
    all
}
