//! Queries made to keep the server busy: each ends, with rows or with a refusal, and while they run others are served.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lapsedb_testkit::{Container, Engine, Options, Reply, Server};
use serde_json::{Value, json};

/// Heavy queries at once beyond the number of processors, which is that of the threads that serve connections.
const HEAVY_BEYOND_PROCESSORS: usize = 4;
/// Point reads that must be answered before as many heavy queries have ended as there are at once. On a busy machine of two processors
/// it is some 30000 that are.
const READS: usize = 1000;

fn container(server: &Server) -> Container {
    server.database("db");
    let mut container = server.container("db", "c", "/pk", &json!({}));
    let numbers: Vec<usize> = (0..100).collect();
    let text = "ab".repeat(50_000);
    container.put(&json!({"id": "big", "pk": "p", "list": numbers, "text": text}));
    container.put(&json!({"id": "small", "pk": "p"}));
    container
}

fn query(container: &mut Container, text: &str, params: &[Value]) -> Reply {
    let request = container
        .on_items("POST")
        .header("x-ms-documentdb-isquery", "true")
        .json(&json!({"query": text, "parameters": params}));
    container.send(request)
}

/// A product of all elements with each other, seven times over: no machine sees its end.
fn product() -> String {
    let joins: String = (0..7).map(|at| format!(" JOIN x{at} IN c.list")).collect();
    format!("SELECT VALUE COUNT(1) FROM c{joins} WHERE x0 + x1 + x2 + x3 + x4 + x5 + x6 < 0")
}

/// Has the clients stop, also when a test fails: it would wait for them otherwise.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Keeps asking for a product until it is told to stop; counts those that ended.
fn ask_for_products(server: &Server, begin: &Barrier, ended: &AtomicUsize, stop: &AtomicBool) {
    let mut container = server.existing("db", "c", "/pk");
    begin.wait();
    while !stop.load(Ordering::SeqCst) {
        let reply = query(&mut container, &product(), &[]);
        assert!(
            [400, 408].contains(&reply.status),
            "{}: {}",
            reply.status,
            reply.message()
        );
        ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// If the products had the threads that serve connections, a read would be answered when one of them ends, and not sooner. Counts are
/// compared, and not times: a busy machine makes both longer.
#[test]
fn point_reads_are_answered_while_products_run() {
    let server = Server::start(&Options::new(Engine::Memory));
    drop(container(&server));
    let processors = std::thread::available_parallelism().unwrap().get();
    let heavy = processors + HEAVY_BEYOND_PROCESSORS;
    let (begin, ended) = (Barrier::new(heavy + 1), AtomicUsize::new(0));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..heavy {
            scope.spawn(|| ask_for_products(&server, &begin, &ended, &stop));
        }
        let _stop = StopOnDrop(&stop);
        let mut reader = server.existing("db", "c", "/pk");
        begin.wait();
        let mut reads = 0;
        while reads < READS && ended.load(Ordering::SeqCst) < heavy {
            let request = reader.on_item("GET", "small").partition("[\"p\"]");
            assert_eq!(reader.send(request).status, 200);
            reads += 1;
        }
        assert_eq!(reads, READS, "answered before {heavy} products had ended");
    });
}

#[test]
fn what_is_too_much_is_refused_and_the_server_lives() {
    let server = Server::start(&Options::new(Engine::Memory));
    let mut container = container(&server);
    let deep = format!("SELECT VALUE {}1{}", "(".repeat(5000), ")".repeat(5000));
    let long = format!("SELECT VALUE '{}'", "x".repeat(600 * 1024));
    let ors: Vec<String> = (0..2500).map(|at| format!("c.n = {at}")).collect();
    let joins: String = (0..11).map(|at| format!(" JOIN x{at} IN c.list")).collect();
    for text in [
        deep,
        long,
        format!("SELECT * FROM c WHERE {}", ors.join(" OR ")),
        format!("SELECT VALUE 1 FROM c{joins}"),
        product(),
        "SELECT VALUE x FROM c JOIN x IN c.list JOIN y IN c.list JOIN z IN c.list JOIN w IN c.list WHERE ToString(c) = ''".to_owned(),
    ] {
        let reply = query(&mut container, &text, &[]);
        let shown = text.chars().take(60).collect::<String>();
        assert_eq!(reply.status, 400, "{shown}: {}", reply.message());
    }
    let list: Vec<String> = (0..50_000).map(|at| at.to_string()).collect();
    let bomb = "REPLICATE(".repeat(20) + "'x'" + &", 10000)".repeat(20);
    for text in [
        format!("SELECT VALUE c.id FROM c WHERE c.n IN ({})", list.join(",")),
        format!("SELECT VALUE LENGTH({bomb}) FROM c"),
        "SELECT VALUE REGEXMATCH(c.text, '(a|b|ab)*c') FROM c".to_owned(),
        "SELECT VALUE REGEXMATCH(c.text, '(((a*)*)*)*$') FROM c".to_owned(),
        "SELECT VALUE CONTAINS(REPLACE(c.text, 'a', 'aaaaaaaaaa'), 'zz') FROM c".to_owned(),
    ] {
        let reply = query(&mut container, &text, &[]);
        let shown = text.chars().take(60).collect::<String>();
        assert!(
            [200, 400].contains(&reply.status),
            "{shown}: {}",
            reply.message()
        );
    }
    let request = container.on_item("GET", "small").partition("[\"p\"]");
    assert_eq!(container.send(request).status, 200);
}
