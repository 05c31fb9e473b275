//! A request that would compute for ever or hold everything ends, and while it runs everybody else is served.

use std::io::Write;
use std::thread::JoinHandle;

use lapsedb_testkit::{Engine, MongoClient, Options, Request, Server};
use serde_json::{Value, json};

const EXCEEDED_MEMORY_LIMIT: i64 = 146;
const MAX_TIME_MS_EXPIRED: i64 = 50;
const INTERRUPTED: i64 = 11_601;
const INTERRUPTED_AT_SHUTDOWN: i64 = 11_600;

/// Loops within loops: 10^15 steps over one document.
const ENDLESS: &str = r#"{"aggregate":"c","cursor":{},"pipeline":[{"$project":{"a":{"$map":{"input":{"$range":[0,1000000]},"as":"a",
    "in":{"$size":{"$filter":{"input":{"$range":[0,1000000]},"as":"b","cond":{"$gt":[{"$size":{"$range":[0,1000]}},
    {"$add":["$$a","$$b"]}]}}}}}}}}]}"#;

/// A text that doubles 60 times.
const DOUBLING: &str = r#"{"aggregate":"c","cursor":{},"pipeline":[{"$project":{"a":{"$strLenBytes":{"$reduce":{"input":{"$range":[0,60]},
    "initialValue":"x","in":{"$concat":["$$value","$$value"]}}}}}}]}"#;

fn start(flags: &[&str]) -> Server {
    let options = Options::new(Engine::Memory).flag("--mongo-port").flag("0");
    let options = flags
        .iter()
        .fold(options, |options, flag| options.flag(flag));
    let server = Server::start(&options);
    let inserted = mongo(&server).command("d", r#"{"insert":"c","documents":[{"_id":1}]}"#);
    assert_eq!(inserted.unwrap()["ok"], json!(1.0));
    server
}

fn mongo(server: &Server) -> MongoClient {
    MongoClient::new(server.mongo_address().expect("a Mongo address"))
}

/// Sends a command on a connection of its own.
fn send(server: &Server, command: &str) -> JoinHandle<Result<Value, String>> {
    let (mut client, command) = (mongo(server), command.to_owned());
    std::thread::spawn(move || client.command("d", &command))
}

/// The numbers of the aggregations that run, once there are so many.
fn running(client: &mut MongoClient, count: usize) -> Vec<i64> {
    loop {
        let reply = client.command("admin", r#"{"currentOp":1}"#).unwrap();
        let all = reply["inprog"].as_array().expect("a list");
        let found = all
            .iter()
            .filter(|operation| operation["command"].get("aggregate").is_some())
            .filter_map(|operation| operation["opid"].as_i64());
        let found: Vec<i64> = found.collect();
        if found.len() == count {
            return found;
        }
        std::thread::yield_now();
    }
}

fn code(reply: &Value) -> i64 {
    reply["code"].as_i64().unwrap_or_default()
}

#[test]
fn endless_expressions_leave_the_others_their_turn_until_they_are_killed() {
    let server = start(&[]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let count = 2 * threads;
    let endless: Vec<_> = (0..count).map(|_| send(&server, ENDLESS)).collect();
    let mut client = mongo(&server);
    let operations = running(&mut client, count);
    // More than once around all threads: whoever is served must be served by one that is free.
    for _ in 0..4 * count {
        let pong = mongo(&server).command("admin", r#"{"ping":1}"#).unwrap();
        assert_eq!(pong["ok"], json!(1.0));
        let mut nosql = server.client();
        let request = nosql.request("GET", "/dbs");
        assert_eq!(nosql.must(request).status, 200);
    }
    for operation in operations {
        let killed = client.command("admin", &format!(r#"{{"killOp":1,"op":{operation}}}"#));
        assert_eq!(killed.unwrap()["ok"], json!(1.0));
    }
    for thread in endless {
        assert_eq!(code(&thread.join().unwrap().unwrap()), INTERRUPTED);
    }
}

#[test]
fn an_endless_expression_ends_with_its_time() {
    let server = start(&[]);
    let limited = ENDLESS.replace(r#""cursor":{}"#, r#""cursor":{},"maxTimeMS":50"#);
    let reply = mongo(&server).command("d", &limited).unwrap();
    assert_eq!(code(&reply), MAX_TIME_MS_EXPIRED, "{reply}");
    let filter =
        r#"{"$expr":{"$size":{"$map":{"input":{"$range":[0,1000000]},"in":{"$range":[0,1000]}}}}}"#;
    for command in [
        format!(r#"{{"find":"c","filter":{filter},"maxTimeMS":50}}"#),
        format!(r#"{{"count":"c","query":{filter},"maxTimeMS":50}}"#),
        format!(r#"{{"delete":"c","deletes":[{{"q":{filter},"limit":0}}],"maxTimeMS":50}}"#),
    ] {
        let reply = mongo(&server).command("d", &command).unwrap();
        let code = reply["writeErrors"][0]["code"]
            .as_i64()
            .unwrap_or(code(&reply));
        assert!(
            [MAX_TIME_MS_EXPIRED, EXCEEDED_MEMORY_LIMIT].contains(&code),
            "{reply}"
        );
    }
}

#[test]
fn every_request_has_a_time_limit() {
    let server = start(&["--request-time-max-seconds", "1"]);
    let reply = mongo(&server).command("d", ENDLESS).unwrap();
    assert_eq!(code(&reply), MAX_TIME_MS_EXPIRED, "{reply}");
}

#[test]
fn nobody_computes_for_a_client_that_has_gone() {
    let server = start(&[]);
    let address = server.mongo_address().expect("a Mongo address");
    let stream = std::net::TcpStream::connect(address).unwrap();
    let mut gone = MongoClient::over(stream.try_clone().unwrap());
    let waiting = std::thread::spawn(move || gone.command("d", ENDLESS));
    let mut client = mongo(&server);
    running(&mut client, 1);
    stream.shutdown(std::net::Shutdown::Both).unwrap();
    assert!(waiting.join().unwrap().is_err());
    running(&mut client, 0);
}

/// How queries of the NoSQL API were answered so far, as the metrics page counts them.
fn answered_queries(server: &Server) -> Vec<String> {
    let mut client = server.client();
    let page = client.must(Request::bare("GET", "/metrics"));
    let text = String::from_utf8(page.body).unwrap();
    let counted =
        |line: &&str| line.starts_with("lapsedb_requests_total{") && line.contains("query_items");
    text.lines().filter(counted).map(str::to_owned).collect()
}

/// By its time limit the query would end with 408, after a minute.
#[test]
fn nobody_computes_for_a_nosql_client_that_has_gone() {
    let server = start(&[]);
    server.database("d2");
    let mut container = server.container("d2", "c", "/pk", &json!({}));
    let list: Vec<usize> = (0..100).collect();
    for id in 0..100 {
        container.put(&json!({"id": id.to_string(), "pk": "p", "list": list}));
    }
    // The groups that it holds show in the metrics that it is being evaluated.
    let text = "SELECT c.id, COUNT(1) AS n FROM c JOIN x IN c.list JOIN y IN c.list JOIN z IN c.list GROUP BY c.id";
    let request = container
        .on_items("POST")
        .header("x-ms-documentdb-isquery", "true")
        .json(&json!({"query": text}));
    let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    stream
        .write_all(&request.to_bytes(server.address()))
        .unwrap();
    while server.metric("lapsedb_request_memory_bytes") == Some(0) {
        std::thread::yield_now();
    }
    assert_eq!(answered_queries(&server), Vec::<String>::new());
    drop(stream);
    let answered = loop {
        match answered_queries(&server) {
            answered if answered.is_empty() => std::thread::yield_now(),
            answered => break answered,
        }
    };
    assert!(answered[0].contains("status=\"503\""), "{answered:?}");
}

#[test]
fn the_server_stops_although_it_computes() {
    let mut server = start(&[]);
    let endless = send(&server, ENDLESS);
    running(&mut mongo(&server), 1);
    assert_eq!(server.stop(), Some(0));
    if let Ok(reply) = endless.join().unwrap() {
        assert_eq!(code(&reply), INTERRUPTED_AT_SHUTDOWN, "{reply}");
    }
}

#[test]
fn a_value_that_grows_without_end_is_refused() {
    let server = start(&[]);
    let mut client = mongo(&server);
    for _ in 0..3 {
        let reply = client.command("d", DOUBLING).unwrap();
        assert_eq!(code(&reply), EXCEEDED_MEMORY_LIMIT, "{reply}");
    }
    assert_eq!(
        client.command("admin", r#"{"ping":1}"#).unwrap()["ok"],
        json!(1.0)
    );
}
