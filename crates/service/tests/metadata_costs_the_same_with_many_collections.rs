//! What making, indexing, watching and dropping a collection costs has nothing to do with how many others there are, or were:
//! counted in catalog records that are read, and entries of the catalog that are looked through.

use lapsedb_service::documents::{self, Work};
use lapsedb_service::{collections, databases};

use crate::support::mongo::{Client, collection};
use crate::support::{ALWAYS, Bench, definition, object};

/// What lies beside the collections that are counted.
#[derive(Clone, Copy, Debug)]
enum Others {
    /// So many collections.
    Collections(usize),
    /// So many collections that were watched and then dropped, and are remembered for their changes.
    Dropped(usize),
}

impl Others {
    async fn make(self, bench: &Bench) {
        let mut client = Client::new(bench, 1);
        match self {
            Others::Collections(many) => {
                for number in 0..many {
                    make(bench, &format!("other{number}")).await;
                }
            }
            Others::Dropped(many) => {
                for number in 0..many {
                    let name = format!("other{number}");
                    make(bench, &name).await;
                    watch(&mut client, &name).await;
                    drop_one(bench, &name).await;
                }
                make(bench, "left").await;
            }
        }
        settle(bench).await;
    }
}

async fn make(bench: &Bench, name: &str) {
    let made = documents::make_plain(&bench.ctx, &collection(name)).await;
    assert!(made.unwrap());
}

async fn watch(client: &mut Client<'_>, name: &str) {
    let stages = r#"[{"$changeStream":{}}]"#;
    Box::pin(client.aggregate(name, stages, Some(0)))
        .await
        .unwrap();
}

async fn drop_one(bench: &Bench, name: &str) {
    let mut work = Work::new(bench.ctx.clone());
    let dropped = documents::drop_collection(&mut work, &collection(name)).await;
    assert_ne!(dropped.unwrap(), documents::Dropped::Nothing);
}

/// Lets the background remove what drops have left, and look at everything once.
async fn settle(bench: &Bench) {
    for _ in 0..30 {
        bench.service.clock().advance(1000).unwrap();
        Box::pin(bench.service.tick()).await;
    }
}

struct Counter<'b> {
    bench: &'b Bench,
    before: (u64, u64),
    all: Vec<(&'static str, (u64, u64))>,
}

impl Counter<'_> {
    /// Notes what was done since the last time, and what the next request has to do for it.
    async fn count(&mut self, name: &'static str) {
        let found = Client::new(self.bench, 3).find("nowhere", "{}").await;
        assert!(found.unwrap().is_empty());
        let (read, listed) = self.bench.service.catalog_work();
        let cost = (read - self.before.0, listed - self.before.1);
        self.all.push((name, cost));
        self.before = (read, listed);
    }
}

/// What each step costs, by its name.
async fn costs(others: Others) -> Vec<(&'static str, (u64, u64))> {
    let bench = Bench::at(lapsedb_service::Place::Memory, true).await;
    others.make(&bench).await;
    let mut client = Client::new(&bench, 2);
    let mut counter = Counter {
        bench: &bench,
        before: (0, 0),
        all: Vec::new(),
    };
    counter.count("all before").await;
    counter.all.clear();
    make(&bench, "made").await;
    counter.count("create").await;
    client
        .indexes("made", &[r#"{"key":{"x":1},"name":"x"}"#])
        .await;
    counter.count("createIndexes").await;
    let insert = client.insert("implicit", object(r#"{"_id":1}"#));
    Box::pin(insert).await.unwrap();
    counter.count("insert into a new collection").await;
    let insert = client.insert("implicit", object(r#"{"_id":2}"#));
    Box::pin(insert).await.unwrap();
    counter.count("insert").await;
    watch(&mut client, "made").await;
    counter.count("watch").await;
    watch(&mut client, "not there").await;
    counter.count("watch a name").await;
    Box::pin(bench.service.tick()).await;
    counter.count("tick").await;
    drop_one(&bench, "made").await;
    counter.count("drop a watched collection").await;
    drop_one(&bench, "implicit").await;
    counter.count("drop").await;
    let body = object(r#"{"id":"nosql"}"#);
    databases::create(&bench.ctx, &body, None).await.unwrap();
    let body = definition("c", None);
    collections::create(&bench.ctx, "nosql", &body, None)
        .await
        .unwrap();
    counter.count("create a container").await;
    collections::delete(&bench.ctx, ("nosql", "c"), &ALWAYS)
        .await
        .unwrap();
    counter.count("delete a container").await;
    settle(&bench).await;
    counter.count("what is left to the background").await;
    counter.all
}

#[test]
fn each_step_reads_and_lists_as_much_whatever_else_there_is_or_was() {
    lapsedb_testkit::run(async {
        let few = Box::pin(costs(Others::Collections(10))).await;
        assert!(few[0].1.0 > 0, "making one is seen in the catalog");
        assert_eq!(few, Box::pin(costs(Others::Collections(1000))).await);
        assert_eq!(few, Box::pin(costs(Others::Dropped(200))).await);
    });
}
