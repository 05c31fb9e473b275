//! Random statements in a transaction against a simple model that applies them in order, while the clock moves. As long as it
//! stands, the same statements outside of a transaction must answer and leave the same.

use lapsedb_service::documents::{self, Aggregate, Work};
use lapsedb_testkit::Random;
use lapsedb_value::{Object, Value};

use crate::support::mongo::{Client, DUPLICATE_KEY, WRITE_CONFLICT, collection};
use crate::support::{Bench, object, value};

const SEEDS: u64 = 200;
/// Seeds that share a store: the catalog grows with each.
const SEEDS_OF_STORE: u64 = 20;
const STATEMENTS: usize = 12;
/// Documents and unique values there are.
const NUMBERS: usize = 4;
const DEFAULT_SECONDS: u64 = 5;
const INDEXES: [&str; 3] = [
    r#"{"key":{"_ts":1},"name":"t","expireAfterSeconds":5}"#,
    r#"{"key":{"d":1},"name":"d","expireAfterSeconds":0}"#,
    r#"{"key":{"u":1},"name":"u","unique":true}"#,
];

#[derive(Clone, Debug, PartialEq)]
struct Doc {
    id: usize,
    u: usize,
    v: usize,
    ttl: Option<u64>,
    /// When its date ends it, in milliseconds.
    date: Option<u64>,
}

impl Doc {
    fn random(random: &mut Random, id: usize, now: u64) -> Doc {
        Doc {
            id,
            u: random.below(NUMBERS),
            v: 0,
            ttl: random.percent(30).then(|| 1 + random.number() % 8),
            date: random.percent(20).then(|| now + random.number() % 5000),
        }
    }

    fn object(&self) -> Object {
        let Doc { id, u, v, .. } = self;
        let mut object = object(&format!(r#"{{"_id":{id},"u":{u},"v":{v}}}"#));
        if let Some(ttl) = self.ttl {
            object.push("ttl", i64::try_from(ttl).unwrap());
        }
        if let Some(date) = self.date {
            object.push("d", date_value(date));
        }
        object
    }

    /// When it expires, if it was written at a time.
    fn end(&self, written: u64) -> u64 {
        let by_ttl = (written / 1000 + self.ttl.unwrap_or(DEFAULT_SECONDS)) * 1000;
        self.date.map_or(by_ttl, |date| by_ttl.min(date))
    }
}

fn date_value(at: u64) -> Value {
    Value::Date(i64::try_from(at).unwrap())
}

#[derive(Clone, Debug)]
enum Statement {
    Insert(Doc),
    SetU(usize, usize),
    SetV(usize, usize),
    SetDate(usize, u64),
    Delete(usize),
}

fn statement(random: &mut Random, now: u64, at: usize) -> Statement {
    let id = random.below(NUMBERS);
    match random.below(6) {
        0 | 1 => Statement::Insert(Doc::random(random, id, now)),
        2 => Statement::SetU(id, random.below(NUMBERS)),
        3 => Statement::SetV(id, at + 1),
        4 => Statement::SetDate(id, now + random.number() % 5000),
        _ => Statement::Delete(id),
    }
}

async fn run(client: &mut Client<'_>, name: &str, statement: &Statement) -> Result<u64, i32> {
    let filter = |id: &usize| format!(r#"{{"_id":{id}}}"#);
    match statement {
        Statement::Insert(doc) => client.insert(name, doc.object()).await,
        Statement::SetU(id, u) => {
            let update = value(&format!(r#"{{"$set":{{"u":{u}}}}}"#));
            client.update(name, &filter(id), update).await
        }
        Statement::SetV(id, v) => {
            let update = value(&format!(r#"{{"$set":{{"v":{v}}}}}"#));
            client.update(name, &filter(id), update).await
        }
        Statement::SetDate(id, date) => {
            let mut set = Object::new();
            set.push("d", date_value(*date));
            let mut update = Object::new();
            update.push("$set", Value::Object(set));
            client
                .update(name, &filter(id), Value::Object(update))
                .await
        }
        Statement::Delete(id) => client.delete(name, &filter(id)).await,
    }
}

/// A document of the collection as the transaction has it.
#[derive(Clone, Debug)]
struct Entry {
    id: usize,
    /// None, once the transaction has deleted it.
    doc: Option<Doc>,
    /// When the stored record ends that the transaction found live; none, if there was none.
    stored_end: Option<u64>,
    changed: bool,
}

impl Entry {
    fn shown(&self, now: u64) -> Option<&Doc> {
        let live = self.stored_end.is_none_or(|end| now < end);
        let doc = self.doc.as_ref()?;
        (live && doc.date.is_none_or(|date| now < date)).then_some(doc)
    }
}

/// In the order of creation.
#[derive(Clone, Debug, Default)]
struct Model(Vec<Entry>);

impl Model {
    fn stored(docs: &[(Doc, u64)]) -> Model {
        let entry = |(doc, written): &(Doc, u64)| Entry {
            id: doc.id,
            doc: Some(doc.clone()),
            stored_end: Some(doc.end(*written)),
            changed: false,
        };
        Model(docs.iter().map(entry).collect())
    }

    fn shown(&self, now: u64) -> Vec<Doc> {
        let shown = self.0.iter().filter_map(|entry| entry.shown(now));
        shown.cloned().collect()
    }

    /// Whether a document that was changed has expired since.
    fn is_doomed(&self, now: u64) -> bool {
        let mut changed = self.0.iter().filter(|entry| entry.changed);
        changed.any(|entry| entry.stored_end.is_some_and(|end| end <= now))
    }

    fn apply(&mut self, statement: &Statement, now: u64) -> Result<u64, i32> {
        if self.is_doomed(now) {
            return Err(WRITE_CONFLICT);
        }
        let new = match statement {
            Statement::Insert(doc) => return self.insert(doc, now),
            Statement::SetU(id, u) => self.find(*id, now).map(|doc| Doc { u: *u, ..doc }),
            Statement::SetV(id, v) => self.find(*id, now).map(|doc| Doc { v: *v, ..doc }),
            Statement::SetDate(id, date) => self.find(*id, now).map(|doc| Doc {
                date: Some(*date),
                ..doc
            }),
            Statement::Delete(id) => {
                let found = self.find(*id, now).is_some();
                if let Some(entry) = self.0.iter_mut().find(|entry| found && entry.id == *id) {
                    entry.doc = None;
                    entry.changed = true;
                }
                return Ok(u64::from(found));
            }
        };
        let Some(new) = new else {
            return Ok(0);
        };
        self.unique(&new, now)?;
        for entry in self.0.iter_mut().filter(|entry| entry.id == new.id) {
            entry.changed |= entry.doc.as_ref() != Some(&new);
            entry.doc = Some(new.clone());
        }
        Ok(1)
    }

    fn find(&self, id: usize, now: u64) -> Option<Doc> {
        self.shown(now).into_iter().find(|doc| doc.id == id)
    }

    fn unique(&self, new: &Doc, now: u64) -> Result<(), i32> {
        let live = new.date.is_none_or(|date| now < date);
        let taken = |doc: &Doc| doc.u == new.u && doc.id != new.id;
        match live && self.shown(now).iter().any(taken) {
            true => Err(DUPLICATE_KEY),
            false => Ok(()),
        }
    }

    fn insert(&mut self, doc: &Doc, now: u64) -> Result<u64, i32> {
        if self.find(doc.id, now).is_some() {
            return Err(DUPLICATE_KEY);
        }
        self.unique(doc, now)?;
        let old = self.0.iter().position(|entry| entry.id == doc.id);
        let old = old.map(|at| self.0.remove(at));
        let live = |end: &u64| now < *end;
        self.0.push(Entry {
            id: doc.id,
            doc: Some(doc.clone()),
            stored_end: old.and_then(|old| old.stored_end).filter(live),
            changed: true,
        });
        Ok(1)
    }
}

async fn contents(client: &mut Client<'_>, name: &str) -> Vec<String> {
    let found = client.find(name, "{}").await.unwrap();
    let shown = |document: Object| Value::Object(document).to_string();
    found.into_iter().map(shown).collect()
}

fn texts(docs: &[Doc]) -> Vec<String> {
    let text = |doc: &Doc| {
        // A date that is set later stands where it was put.
        Value::Object(doc.object()).to_string()
    };
    docs.iter().map(text).collect()
}

/// Has every change of a collection be told, so that transactions are committed step by step.
async fn follow(bench: &Bench, name: &str) {
    let mut work = Work::new(bench.ctx.clone());
    let aggregate = Aggregate {
        pipeline: vec![value(r#"{"$changeStream":{}}"#)],
        ..Aggregate::default()
    };
    documents::aggregate(&mut work, &collection(name), &aggregate)
        .await
        .unwrap();
}

async fn one(bench: &Bench, alone: &mut Client<'_>, client: &mut Client<'_>, seed: u64) {
    let (name, twin) = (format!("c{seed}"), format!("w{seed}"));
    let mut random = Random::new(seed);
    let now = || bench.service.clock().now().0;
    for name in [&name, &twin] {
        alone.indexes(name, &INDEXES).await;
        if seed % 2 == 1 {
            follow(bench, name).await;
        }
    }
    let mut stored = Vec::new();
    for id in 0..NUMBERS - 1 {
        let doc = Doc {
            u: id,
            ..Doc::random(&mut random, id, now() + 2000)
        };
        for name in [&name, &twin] {
            assert_eq!(alone.insert(name, doc.object()).await, Ok(1));
        }
        stored.push((doc, now()));
        bench
            .service
            .clock()
            .advance(random.number() % 1500)
            .unwrap();
    }
    client.start();
    // The first statement fixes what the transaction sees.
    let before = contents(client, &name).await;
    let mut model = Model::stored(&stored);
    model.0.retain(|entry| entry.shown(now()).is_some());
    let untouched = model.clone();
    assert_eq!(before, texts(&model.shown(now())), "{seed}: before");
    let mut stands = true;
    for at in 0..STATEMENTS {
        if random.percent(15) {
            bench
                .service
                .clock()
                .advance(random.number() % 3000)
                .unwrap();
            stands = false;
        }
        let statement = statement(&mut random, now(), at);
        let expected = model.apply(&statement, now());
        let done = run(client, &name, &statement).await;
        assert_eq!(done, expected, "{seed}: {statement:?}");
        if stands {
            let alone = run(alone, &twin, &statement).await;
            assert_eq!(alone, expected, "{seed}: {statement:?} alone");
        }
        if done.is_err() {
            client.leave();
            let left = texts(&untouched.shown(now()));
            assert_eq!(contents(client, &name).await, left, "{seed}: aborted");
            return;
        }
        let shown = texts(&model.shown(now()));
        assert_eq!(
            contents(client, &name).await,
            shown,
            "{seed}: {statement:?}"
        );
    }
    let expected = match model.is_doomed(now()) {
        true => Err(WRITE_CONFLICT),
        false => Ok(()),
    };
    assert_eq!(client.commit().await, expected, "{seed}: commit");
    let left = match expected {
        Ok(()) => texts(&model.shown(now())),
        Err(_) => texts(&untouched.shown(now())),
    };
    assert_eq!(contents(client, &name).await, left, "{seed}: committed");
    if stands {
        assert_eq!(contents(alone, &twin).await, left, "{seed}: alone");
    }
}

#[test]
fn a_transaction_does_what_its_statements_say_in_their_order() {
    lapsedb_testkit::run(async {
        for first in (0..SEEDS).step_by(usize::try_from(SEEDS_OF_STORE).unwrap()) {
            let bench = Bench::new().await;
            let (mut alone, mut client) = (Client::new(&bench, 1), Client::new(&bench, 2));
            for seed in first..first + SEEDS_OF_STORE {
                one(&bench, &mut alone, &mut client, seed).await;
            }
        }
    });
}

#[test]
fn a_unique_value_passes_from_one_document_to_another() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        let mut client = Client::new(&bench, 1);
        client.indexes("c", &[INDEXES[2]]).await;
        for text in [r#"{"_id":1,"u":1}"#, r#"{"_id":2,"u":2}"#] {
            client.insert("c", object(text)).await.unwrap();
        }
        client.start();
        let one = r#"{"_id":1}"#;
        client
            .update("c", one, value(r#"{"$set":{"v":1}}"#))
            .await
            .unwrap();
        client.delete("c", r#"{"_id":2}"#).await.unwrap();
        client
            .update("c", one, value(r#"{"$set":{"u":2}}"#))
            .await
            .unwrap();
        assert_eq!(client.commit().await, Ok(()));
        assert_eq!(
            contents(&mut client, "c").await,
            [r#"{"_id":1,"u":2,"v":1}"#]
        );
    });
}
