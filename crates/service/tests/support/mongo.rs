//! Short ways to the verbs of the MongoDB API, in and outside of transactions. A failure is its code.

use std::time::Duration;

use lapsedb_service::cursors::{self, Batch, GetMore};
use lapsedb_service::documents::{
    self, Aggregate, Change, Delete, Fault, Find, Insert, Namespace, Terms, Work, Wrote,
};
use lapsedb_service::sessions::{self, Asked, SessionId};
use lapsedb_value::{Object, Value, bson};

use super::{Bench, object};

/// Code of a key that another document has.
pub const DUPLICATE_KEY: i32 = 11_000;
/// Code of a transaction whose changes no longer hold.
pub const WRITE_CONFLICT: i32 = 112;
/// Code of a state of a collection that can no longer be read.
pub const SNAPSHOT_UNAVAILABLE: i32 = 246;

/// A client: its session, and the transaction it is in.
pub struct Client<'b> {
    pub bench: &'b Bench,
    session: SessionId,
    number: i64,
    /// Whether it is in a transaction, and whether that has begun.
    open: Option<bool>,
}

fn code(fault: &Fault) -> i32 {
    fault.code().unwrap_or_else(|| panic!("{fault:?}"))
}

fn written(wrote: Wrote) -> Result<u64, i32> {
    match wrote.faults.first() {
        Some(failed) => Err(code(&failed.fault)),
        None => Ok(wrote.n),
    }
}

pub fn collection(name: &str) -> Namespace {
    Namespace::pseudo("d", name)
}

impl<'b> Client<'b> {
    pub fn new(bench: &'b Bench, id: u8) -> Client<'b> {
        let session = SessionId {
            id: vec![id; 16],
            user: SessionId::nobody(),
        };
        Client {
            bench,
            session,
            number: 0,
            open: None,
        }
    }

    /// From now on every command belongs to a new transaction.
    pub fn start(&mut self) {
        self.number += 1;
        self.open = Some(false);
    }

    fn asked(&mut self) -> Asked {
        let Some(begun) = self.open.replace(true) else {
            self.open = None;
            return Asked::default();
        };
        Asked {
            session: Some(self.session.clone()),
            number: Some(self.number),
            start: !begun,
            in_transaction: true,
            ..Asked::default()
        }
    }

    pub async fn work(&mut self) -> Result<Work, i32> {
        let asked = self.asked();
        let work = sessions::begin(self.bench.ctx.clone(), &asked).await;
        work.map_err(|fault| code(&fault))
    }

    /// Commits the transaction.
    pub async fn commit(&mut self) -> Result<(), i32> {
        let asked = self.asked();
        self.open = None;
        let done = sessions::commit(&self.bench.ctx, &asked).await;
        done.map_err(|fault| code(&fault))
    }

    /// Leaves the transaction, which a failure has ended.
    pub fn leave(&mut self) {
        self.open = None;
    }

    pub async fn insert(&mut self, name: &str, document: Object) -> Result<u64, i32> {
        let mut work = self.work().await?;
        let insert = Insert {
            documents: vec![document.into()],
            ordered: true,
        };
        let result = documents::insert(&mut work, &collection(name), insert).await;
        let wrote = work.end_writes(result).await;
        written(wrote.map_err(|fault| code(&fault))?)
    }

    pub async fn update(&mut self, name: &str, filter: &str, update: Value) -> Result<u64, i32> {
        let mut work = self.work().await?;
        let change = Change {
            filter: object(filter),
            update,
            many: false,
            upsert: false,
            supplied: false,
            array_filters: Vec::new(),
            terms: Terms::default(),
        };
        let result = documents::update(&mut work, &collection(name), &[change], true).await;
        let wrote = work.end_writes(result).await;
        written(wrote.map_err(|fault| code(&fault))?)
    }

    pub async fn delete(&mut self, name: &str, filter: &str) -> Result<u64, i32> {
        let mut work = self.work().await?;
        let delete = Delete {
            filter: object(filter),
            many: false,
            terms: Terms::default(),
        };
        let result = documents::delete(&mut work, &collection(name), &[delete], true).await;
        let wrote = work.end_writes(result).await;
        written(wrote.map_err(|fault| code(&fault))?)
    }

    pub async fn find(&mut self, name: &str, filter: &str) -> Result<Vec<Object>, i32> {
        let find = Find {
            filter: object(filter),
            ..Find::default()
        };
        let batch = self.first(name, &find).await?;
        assert_eq!(batch.cursor, 0, "a small collection");
        Ok(read(&batch))
    }

    /// The first batch of a find.
    pub async fn first(&mut self, name: &str, find: &Find) -> Result<Batch, i32> {
        let mut work = self.work().await?;
        let result = documents::find(&mut work, &collection(name), find).await;
        work.end(result).await.map_err(|fault| code(&fault))
    }

    /// The first batch of a pipeline.
    pub async fn aggregate(
        &mut self,
        name: &str,
        stages: &str,
        batch_size: Option<usize>,
    ) -> Result<Batch, i32> {
        let mut work = self.work().await?;
        let aggregate = Aggregate {
            pipeline: super::value(stages).as_array().unwrap().to_vec(),
            batch_size,
            ..Aggregate::default()
        };
        let result = documents::aggregate(&mut work, &collection(name), &aggregate).await;
        work.end(result).await.map_err(|fault| code(&fault))
    }

    /// The next batch of a cursor.
    pub async fn more(
        &mut self,
        name: &str,
        cursor: i64,
        batch_size: Option<usize>,
    ) -> Result<Batch, i32> {
        let mut work = self.work().await?;
        let more = GetMore {
            cursor,
            batch_size,
            is_timed: false,
        };
        let result = cursors::get_more(&mut work, &collection(name), &more).await;
        work.end(result).await.map_err(|fault| code(&fault))
    }

    /// Makes indexes of a collection, and waits until they are whole.
    pub async fn indexes(&mut self, name: &str, specs: &[&str]) {
        let mut work = Work::new(self.bench.ctx.clone());
        let specs = specs.iter().map(|spec| object(spec)).collect();
        let made = documents::create_indexes(&mut work, &collection(name), specs).await;
        made.unwrap();
    }
}

/// A change stream over a database, or over all of them.
pub struct Stream<'b> {
    bench: &'b Bench,
    namespace: Namespace,
    cursor: i64,
}

impl<'b> Stream<'b> {
    /// How long a batch waits where there may be nothing: what has happened comes without waiting.
    const QUIET: Duration = Duration::from_millis(1);

    /// Opens one with the options of its stage.
    pub async fn open(bench: &'b Bench, database: &str, options: Object) -> Stream<'b> {
        let mut stage = Object::new();
        stage.push("$changeStream", Value::Object(options));
        let aggregate = Aggregate {
            pipeline: vec![Value::Object(stage)],
            batch_size: Some(0),
            ..Aggregate::default()
        };
        let namespace = Namespace::pseudo(database, "$cmd.aggregate");
        let mut work = Work::new(bench.ctx.clone());
        let opened = Box::pin(documents::aggregate(&mut work, &namespace, &aggregate)).await;
        let cursor = work.end(opened).await.unwrap().cursor;
        Stream {
            bench,
            namespace,
            cursor,
        }
    }

    /// The next batch, which may be empty.
    pub async fn batch(&self) -> Batch {
        let work = sessions::begin(self.bench.ctx.clone(), &Asked::default()).await;
        let mut work = work.unwrap().within(Some(Stream::QUIET));
        let more = GetMore {
            cursor: self.cursor,
            batch_size: None,
            is_timed: true,
        };
        let batch = Box::pin(cursors::get_more(&mut work, &self.namespace, &more)).await;
        work.end(batch).await.unwrap()
    }

    /// The next events; there must be some.
    pub async fn events(&self) -> Vec<Object> {
        loop {
            let events = read(&self.batch().await);
            if !events.is_empty() {
                return events;
            }
        }
    }

    /// All events there are by now, and where the stream then stands.
    pub async fn drain(&self) -> (Vec<Object>, Object) {
        let mut all = Vec::new();
        loop {
            let batch = self.batch().await;
            let events = read(&batch);
            if events.is_empty() {
                return (all, batch.resume_token.unwrap());
            }
            all.extend(events);
        }
    }

    /// The same of a stream that may end meanwhile.
    pub async fn drain_until_ended(&self) -> (Vec<Object>, Object) {
        let mut all = Vec::new();
        loop {
            let batch = self.batch().await;
            let events = read(&batch);
            let is_quiet = events.is_empty();
            all.extend(events);
            if is_quiet || batch.cursor == 0 {
                return (all, batch.resume_token.unwrap());
            }
        }
    }
}

/// The documents of a batch.
pub fn read(batch: &Batch) -> Vec<Object> {
    let documents = batch.documents.iter();
    documents
        .map(|document| bson::read_document(document).unwrap())
        .collect()
}

/// The `_id`s of documents, which are numbers.
pub fn ids(documents: &[Object]) -> Vec<i64> {
    let id = |document: &Object| document.get("_id").and_then(Value::as_i64).unwrap();
    documents.iter().map(id).collect()
}
