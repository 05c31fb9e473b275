//! All requests together hold no more memory than they may: over it the largest fails, and everybody else is served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;

use lapsedb_testkit::{Engine, MongoClient, Options, Server};
use serde_json::{Value, json};

const EXCEEDED_MEMORY_LIMIT: i64 = 146;
const MIB: u64 = 1 << 20;

/// What all requests may hold.
const MEMORY: u64 = 64 * MIB;
/// What the process may take beyond what it had before: what requests hold, and several times as much that is not counted: spare
/// room of lists, what the allocator keeps for its threads, what is read in one step. Without the limit it was 715 MiB for
/// unread answers, 920 for sorts and 1,602 for facets.
const GROWTH_MAX: u64 = 6 * MEMORY;

/// Documents of a kilobyte each.
const DOCUMENTS: usize = 24_000;
const CLIENTS: usize = 20;

fn start(documents: usize) -> Server {
    start_within(MEMORY, documents)
}

fn start_within(memory: u64, documents: usize) -> Server {
    let mib = (memory / MIB).to_string();
    let options = Options::new(Engine::Memory).flag("--mongo-port").flag("0");
    let server = Server::start(&options.flag("--request-memory-max-mib").flag(&mib));
    let mut client = mongo(&server);
    let pad = "x".repeat(1000);
    for from in (0..documents).step_by(2000) {
        let all: Vec<String> = (from..(from + 2000).min(documents))
            .map(|id| json!({"_id": id, "v": (id * 7919) % documents, "pad": pad}).to_string())
            .collect();
        let insert = format!(r#"{{"insert":"c","documents":[{}]}}"#, all.join(","));
        let reply = client.command("d", &insert).unwrap();
        assert_eq!(reply["ok"], json!(1.0), "{reply}");
    }
    server
}

fn mongo(server: &Server) -> MongoClient {
    MongoClient::new(server.mongo_address().expect("a Mongo address"))
}

/// Sends a command on a connection of its own; the connection stays open with its reply.
fn send(server: &Server, command: &str) -> JoinHandle<(MongoClient, Value)> {
    let (mut client, command) = (mongo(server), command.to_owned());
    std::thread::spawn(move || {
        let reply = client.command("d", &command);
        let reply = reply.unwrap_or_else(|error| json!({ "broken": error }));
        (client, reply)
    })
}

/// Everybody else is served.
fn is_served(server: &Server) {
    let mut client = mongo(server);
    let pong = client.command("admin", r#"{"ping":1}"#).unwrap();
    assert_eq!(pong["ok"], json!(1.0), "{pong}");
    let found = client.command(
        "d",
        r#"{"find":"c","filter":{"_id":1},"projection":{"v":1}}"#,
    );
    assert_eq!(found.unwrap()["ok"], json!(1.0));
    let mut nosql = server.client();
    let request = nosql.request("GET", "/dbs");
    assert_eq!(nosql.must(request).status, 200);
}

fn stopped(server: &Server) -> u64 {
    let figure = server.metric("lapsedb_requests_stopped_for_memory_total");
    figure.expect("a figure")
}

/// The process has not taken much more than before.
fn is_small(server: &mut Server, before: u64) {
    assert!(server.is_running(), "{}", server.log());
    let peak = server.peak_memory_bytes().expect("a figure of the kernel");
    let growth = peak.saturating_sub(before) / MIB;
    assert!(growth <= GROWTH_MAX / MIB, "{growth} MiB more than before");
    let max = server.metric("lapsedb_request_memory_max_bytes");
    assert_eq!(max, Some(MEMORY));
}

/// Runs a command by many clients at once. Some of them fail for want of memory, and say so.
fn many(command: &str) {
    let mut server = start(DOCUMENTS);
    let before = server.peak_memory_bytes().expect("a figure of the kernel");
    let running: Vec<_> = (0..CLIENTS).map(|_| send(&server, command)).collect();
    is_served(&server);
    let (mut clients, mut refused) = (Vec::new(), 0);
    for thread in running {
        let (client, reply) = thread.join().unwrap();
        clients.push(client);
        if reply["ok"] == json!(1.0) {
            continue;
        }
        assert_eq!(reply["code"], json!(EXCEEDED_MEMORY_LIMIT), "{reply}");
        let text = reply["errmsg"].as_str().expect("a message");
        assert!(text.contains("--request-memory-max-mib"), "{text}");
        refused += 1;
    }
    is_served(&server);
    assert!(refused + stopped(&server) > 0, "nobody was stopped");
    is_small(&mut server, before);
    drop(clients);
}

#[test]
fn sorts_of_many_clients() {
    many(r#"{"find":"c","filter":{},"sort":{"v":1},"batchSize":1}"#);
}

#[test]
fn facets_of_many_clients() {
    many(
        r#"{"aggregate":"c","cursor":{"batchSize":1},"pipeline":[{"$facet":{"a":[{"$sort":{"v":1}},{"$group":{"_id":null,"n":{"$sum":1}}}],
        "b":[{"$group":{"_id":"$v","all":{"$push":"$$ROOT"}}},{"$count":"n"}]}}]}"#,
    );
}

#[test]
fn lookups_of_everything() {
    many(
        r#"{"aggregate":"c","cursor":{"batchSize":1},"pipeline":[{"$match":{"_id":{"$lt":50}}},
        {"$lookup":{"from":"c","pipeline":[],"as":"all"}},{"$sort":{"v":1}}]}"#,
    );
}

#[test]
fn a_cursor_that_nobody_fetches_from_gives_way() {
    let server = start(DOCUMENTS);
    let sorted = r#"{"find":"c","filter":{},"sort":{"v":1},"batchSize":1}"#;
    let (mut first, reply) = send(&server, sorted).join().unwrap();
    let cursor = &reply["cursor"]["id"];
    assert_eq!(reply["ok"], json!(1.0));
    let mut others = Vec::new();
    while stopped(&server) == 0 {
        let (client, reply) = send(&server, sorted).join().unwrap();
        assert_eq!(reply["ok"], json!(1.0), "{reply}");
        others.push(client);
    }
    let more = format!(r#"{{"getMore":{cursor},"collection":"c"}}"#);
    let reply = first.command("d", &more).unwrap();
    assert_eq!(reply["code"], json!(EXCEEDED_MEMORY_LIMIT), "{reply}");
    is_served(&server);
}

#[test]
fn answers_that_are_not_read() {
    let mut server = start(DOCUMENTS);
    let before = server.peak_memory_bytes().expect("a figure of the kernel");
    let mut unread = Vec::new();
    for _ in 0..2 * CLIENTS {
        let mut client = mongo(&server);
        client
            .send("d", r#"{"find":"c","filter":{},"batchSize":100000}"#)
            .unwrap();
        unread.push(client);
    }
    while stopped(&server) == 0 {
        is_served(&server);
    }
    is_served(&server);
    is_small(&mut server, before);
}

#[test]
fn messages_that_do_not_end() {
    let mut server = start(10);
    let before = server.peak_memory_bytes().expect("a figure of the kernel");
    let address = server.mongo_address().expect("a Mongo address").to_owned();
    let claimed: u32 = 40_000_000;
    let mut header = Vec::new();
    for word in [claimed, 1, 0, 2013, 0] {
        header.extend_from_slice(&word.to_le_bytes());
    }
    let mut begun: Vec<TcpStream> = (0..CLIENTS)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    let senders: Vec<_> = begun
        .iter_mut()
        .map(|stream| {
            let (mut stream, header) = (stream.try_clone().unwrap(), header.clone());
            std::thread::spawn(move || {
                stream.write_all(&header).unwrap();
                // All but the end. Whoever is refused is read to its end all the same.
                for _ in 0..39 {
                    stream.write_all(&vec![0; 1_000_000]).unwrap();
                }
            })
        })
        .collect();
    for sender in senders {
        sender.join().unwrap();
    }
    is_served(&server);
    assert!(stopped(&server) > 0);
    is_small(&mut server, before);
    // The end: whoever was refused hears why.
    let mut refused = 0;
    for mut stream in begun {
        stream.write_all(&vec![0; 999_980]).unwrap();
        let mut reply = Vec::new();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // Whoever was not refused has sent no message, and is closed.
        let _ = stream.read_to_end(&mut reply);
        let text = String::from_utf8_lossy(&reply);
        refused += usize::from(text.contains("--request-memory-max-mib"));
    }
    assert!(refused > 0);
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap().to_le_bytes()
}

fn document(inside: &[u8]) -> Vec<u8> {
    let mut whole = length(inside.len() + 5).to_vec();
    whole.extend_from_slice(inside);
    whole.push(0);
    whole
}

/// A message that inserts documents, which come beside it.
fn insert(documents: &[Vec<u8>], ordered: bool) -> Vec<u8> {
    let section = [b"documents\0".as_slice(), &documents.concat()].concat();
    let body = [
        b"\x02insert\0\x02\0\0\0c\0\x08ordered\0".as_slice(),
        &[u8::from(ordered)],
        b"\x02$db\0\x02\0\0\0d\0",
    ]
    .concat();
    let message = [
        [0; 5].as_slice(),
        &document(&body),
        &[1],
        &length(section.len() + 4),
        &section,
    ]
    .concat();
    let mut frame = Vec::new();
    for word in [message.len() + 16, 1, 0, 2013] {
        frame.extend_from_slice(&length(word));
    }
    frame.extend_from_slice(&message);
    frame
}

/// Sends a message on a connection of its own, and gives the reply.
fn exchange(server: &Server, message: &[u8]) -> Value {
    let address = server.mongo_address().expect("a Mongo address").to_owned();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(message).unwrap();
    MongoClient::over(stream).receive_reply().unwrap()
}

/// An insert of three documents whose members are all null, 48 MB of them. As trees they took 1,485 MiB at once.
fn nulls() -> Vec<u8> {
    let members = document(&[0x0A, 0].repeat(7_900_000));
    let one = document(&[b"\x03a\0".as_slice(), &members].concat());
    insert(&[one.clone(), one.clone(), one], true)
}

#[test]
fn what_is_reported_as_failed_is_not_there() {
    let pad = "x".repeat(900_000);
    let text = [&length(pad.len() + 1), pad.as_bytes(), &[0]].concat();
    let documents: Vec<Vec<u8>> = (0..27_u32)
        .map(|id| {
            let id = [b"\x10_id\0".as_slice(), &id.to_le_bytes()].concat();
            document(&[id.as_slice(), b"\x02pad\0", &text].concat())
        })
        .collect();
    for ordered in [true, false] {
        let server = start(0);
        let reply = exchange(&server, &insert(&documents, ordered));
        let count = r#"{"count":"c"}"#;
        let count = mongo(&server).command("d", count).unwrap();
        assert_eq!(reply["n"], count["n"], "{reply}");
        let failed = reply["writeErrors"].as_array().map_or(0, Vec::len);
        if !ordered {
            let all = reply["n"].as_u64().unwrap_or(0) + failed as u64;
            assert_eq!(all, 27, "{reply}");
        }
    }
}

#[test]
fn a_connection_that_is_idle_holds_nothing() {
    let server = start(0);
    let mut client = mongo(&server);
    let pad = "x".repeat(900_000);
    let insert = format!(r#"{{"insert":"c","documents":[{{"_id":1,"pad":"{pad}"}}]}}"#);
    client.command("d", &insert).unwrap();
    let update = r#"{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"a":1}}}]}"#;
    let reply = client.command("d", update).unwrap();
    assert_eq!(reply["nModified"], json!(1), "{reply}");
    // The reply is on its way before what it took is given back.
    while server.metric("lapsedb_request_memory_bytes") != Some(0) {
        std::thread::yield_now();
    }
    assert_eq!(client.command("d", update).unwrap()["n"], json!(1));
}

#[test]
fn large_documents_are_read_one_after_the_other() {
    // Room for one of them, and not for two.
    let mut server = start_within(768 * MIB, 10);
    let before = server.peak_memory_bytes().expect("a figure of the kernel");
    let reply = exchange(&server, &nulls());
    assert_eq!(reply["n"], json!(3), "{reply}");
    assert!(server.is_running(), "{}", server.log());
    let peak = server.peak_memory_bytes().expect("a figure of the kernel");
    let growth = peak.saturating_sub(before) / MIB;
    assert!(growth <= 800, "{growth} MiB more than before");
}

#[test]
fn a_document_for_which_there_is_no_memory_is_refused_before_it_is_read() {
    let mut server = start(10);
    let before = server.peak_memory_bytes().expect("a figure of the kernel");
    let reply = exchange(&server, &nulls());
    let text = reply.to_string();
    assert!(text.contains("--request-memory-max-mib"), "{text}");
    is_served(&server);
    is_small(&mut server, before);
}

#[test]
fn updates_of_large_documents_are_committed_in_parts() {
    let mib = (MEMORY / MIB).to_string();
    let options = Options::new(Engine::Disk).flag("--mongo-port").flag("0");
    let mut server = Server::start(&options.flag("--request-memory-max-mib").flag(&mib));
    let mut client = mongo(&server);
    let all: Vec<String> = (0..60).map(|id| format!(r#"{{"_id":{id}}}"#)).collect();
    let insert = format!(r#"{{"insert":"c","documents":[{}]}}"#, all.join(","));
    assert_eq!(client.command("d", &insert).unwrap()["n"], json!(60));
    let before = server.peak_memory_bytes().expect("a figure of the kernel");
    // 480 MB: more than one commit of the engine takes, and far more than all requests may hold.
    let large = "y".repeat(8_000_000);
    let update = format!(
        r#"{{"update":"c","updates":[{{"q":{{}},"u":{{"$set":{{"x":"{large}"}}}},"multi":true}}]}}"#
    );
    let reply = client.command("d", &update).unwrap();
    assert_eq!(reply["nModified"], json!(60), "{reply}");
    let delete = r#"{"delete":"c","deletes":[{"q":{},"limit":0}]}"#;
    assert_eq!(client.command("d", delete).unwrap()["n"], json!(60));
    is_small(&mut server, before);
}

#[test]
fn bodies_that_do_not_end_give_way() {
    let server = start(10);
    let nosql = server.client();
    let body = nosql.request("POST", "/dbs").body(vec![b' '; 2_000_000]);
    let bytes = body.to_bytes("127.0.0.1");
    let (begun, _) = bytes.split_at(bytes.len() - 100_000);
    let mut streams = Vec::new();
    // As many as there is memory for, and more.
    while stopped(&server) < 20 {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        // One that is refused may be closed in the middle.
        let _ = stream.write_all(begun);
        streams.push(stream);
    }
    let pad = "x".repeat(200_000);
    let insert = format!(r#"{{"insert":"d","documents":[{{"pad":"{pad}"}}]}}"#);
    // Those that were stopped last are still giving back.
    loop {
        let reply = mongo(&server).command("d", &insert).unwrap();
        if reply["n"] == json!(1) {
            break;
        }
        assert_eq!(reply["code"], json!(EXCEEDED_MEMORY_LIMIT), "{reply}");
    }
    is_served(&server);
}
