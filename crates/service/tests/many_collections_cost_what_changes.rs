//! What is asked of all collections at once, and what is done between requests, looks at the collections of which something has
//! changed, and at no others: counted in entries of the catalog that are looked at.

use lapsedb_service::documents::{self, Work};
use lapsedb_service::feed::Ask;
use lapsedb_service::{collections, databases, offers};
use lapsedb_value::Object;

use crate::support::mongo::{Client, Stream, collection};
use crate::support::{Bench, object};

/// An index whose documents end in years.
const EXPIRES: &str = r#"{"key":{"at":1},"name":"at","expireAfterSeconds":1000000000}"#;

async fn make(bench: &Bench, name: &str) {
    let made = documents::make_plain(&bench.ctx, &collection(name)).await;
    assert!(made.unwrap());
}

struct Counter<'b> {
    bench: &'b Bench,
    before: (u64, u64),
    all: Vec<(&'static str, (u64, u64))>,
}

impl Counter<'_> {
    fn count(&mut self, name: &'static str) {
        let (read, listed) = self.bench.service.catalog_work();
        let cost = (read - self.before.0, listed - self.before.1);
        self.all.push((name, cost));
        self.before = (read, listed);
    }
}

/// What each request costs with so many collections that are watched and whose documents can expire, by its name.
async fn costs(many: usize) -> Vec<(&'static str, (u64, u64))> {
    let bench = Bench::at(lapsedb_service::Place::Memory, true).await;
    let mut client = Client::new(&bench, 1);
    for number in 0..many {
        let name = format!("c{number}");
        make(&bench, &name).await;
        if number < 500 {
            client.indexes(&name, &[EXPIRES]).await;
        }
    }
    // The first who asks looks at everything.
    let own = Stream::open(&bench, "d", Object::new()).await;
    let all = || object(r#"{"allChangesForCluster":true}"#);
    let everything = Stream::open(&bench, "admin", all()).await;
    let _ = bench.service.gauges().await.unwrap();
    for _ in 0..10 {
        bench.service.clock().advance(1000).unwrap();
        Box::pin(bench.service.tick()).await;
    }
    own.batch().await;
    everything.batch().await;
    let mut counter = Counter {
        bench: &bench,
        before: bench.service.catalog_work(),
        all: Vec::new(),
    };
    Box::pin(bench.service.tick()).await;
    counter.count("an idle tick");
    Stream::open(&bench, "d", Object::new()).await;
    counter.count("opening a stream of a database");
    Stream::open(&bench, "admin", all()).await;
    counter.count("opening a stream of everything");
    own.batch().await;
    counter.count("an empty batch of a database");
    everything.batch().await;
    counter.count("an empty batch of everything");
    let insert = client.insert("c3", object(r#"{"_id":1}"#));
    Box::pin(insert).await.unwrap();
    assert_eq!(own.events().await.len(), 1);
    counter.count("an event of a database");
    assert_eq!(everything.events().await.len(), 1);
    counter.count("an event of everything");
    Box::pin(bench.service.tick()).await;
    counter.count("a tick after a write");
    figures(&bench, &mut counter).await;
    counter.all
}

async fn figures(bench: &Bench, counter: &mut Counter<'_>) {
    let mut work = Work::new(bench.ctx.clone());
    let listed = documents::list_databases(&mut work, true).await.unwrap();
    assert_eq!(listed.len(), 1);
    counter.count("databases with their sizes");
    documents::list_databases(&mut work, false).await.unwrap();
    counter.count("databases by name");
    let stats = documents::database_stats(&mut work, "d").await.unwrap();
    assert_eq!(stats.total.live.items, 1);
    counter.count("figures of a database");
    assert_eq!(bench.service.gauges().await.unwrap().items_live, 1);
    counter.count("figures of all");
    let ask = Ask {
        size: Some(2),
        ..Ask::default()
    };
    let page = databases::list(&bench.ctx, &ask).await.unwrap();
    assert_eq!(page.values.len(), 1);
    counter.count("a page of databases");
    let page = collections::list(&bench.ctx, "d", &ask).await.unwrap();
    assert_eq!(page.values.len(), 2);
    let next = Ask {
        continuation: page.continuation.as_deref(),
        ..ask.clone()
    };
    let page = collections::list(&bench.ctx, "d", &next).await.unwrap();
    assert_eq!(page.values.len(), 2);
    counter.count("two pages of containers");
    let page = offers::list(&bench.ctx, &ask).await.unwrap();
    assert_eq!(page.values.len(), 2);
    counter.count("a page of offers");
}

#[test]
fn each_request_looks_at_what_has_changed() {
    lapsedb_testkit::run(async {
        let few = Box::pin(costs(10)).await;
        let event = few
            .iter()
            .find(|(name, _)| *name == "an event of a database");
        assert!(event.unwrap().1.1 > 0, "what has changed is looked at");
        assert_eq!(few, Box::pin(costs(800)).await);
    });
}
