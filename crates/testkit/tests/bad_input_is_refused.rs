//! Bad input that cannot be written as a line of text: too much, too deep, not UTF-8, not a protocol. It gets a 4xx,
//! changes nothing, and the server answers the next request. What is text lies in `spec/http/`.

use lapsedb_testkit::{Client, Container, EMULATOR_KEY, Engine, Reply, Request, Server};
use serde_json::{Value, json};

/// The largest request body, and the largest item.
const BODY_BYTES_MAX: usize = 2 << 20;
/// The deepest nesting of an item.
const DEPTH_MAX: usize = 128;

/// A server with a container that holds two items, and what they looked like at first.
struct Room {
    server: Server,
    container: Container,
    before: Vec<Value>,
}

impl Room {
    fn new() -> Room {
        let server = Server::plain(Engine::Memory);
        server.database("d");
        let mut container = server.container("d", "c", "/pk", &json!({ "defaultTtl": 1000 }));
        container.put(&json!({ "id": "a", "pk": "p", "n": 1 }));
        container.put(&json!({ "id": "b", "pk": "p", "ttl": 50 }));
        let before = container.all();
        Room {
            server,
            container,
            before,
        }
    }

    fn client(&self) -> Client {
        self.server.client()
    }

    fn create(&mut self, body: impl Into<Vec<u8>>) -> Reply {
        let request = self
            .container
            .on_items("POST")
            .partition("[\"p\"]")
            .body(body);
        self.container.send(request)
    }

    /// The answer is this refusal, nothing has changed, and the server is as well as before.
    fn refused(&mut self, what: &str, reply: &Reply, status: u16, says: &str) {
        assert_eq!(reply.status, status, "{what}: {reply:?}");
        assert!(
            reply.message().contains(says),
            "{what} should say {says:?}: {reply:?}"
        );
        self.unharmed(what);
    }

    fn unharmed(&mut self, what: &str) {
        assert!(self.server.is_running(), "{what}: {}", self.server.log());
        assert_eq!(self.container.all(), self.before, "{what}");
    }
}

fn item_of(bytes: usize) -> String {
    let frame = r#"{"id":"big","pk":"p","s":""}"#;
    format!(
        r#"{{"id":"big","pk":"p","s":"{}"}}"#,
        "x".repeat(bytes - frame.len())
    )
}

#[test]
fn a_body_of_two_megabytes_and_one_byte_is_413() {
    let mut room = Room::new();
    let whole = room.create(item_of(BODY_BYTES_MAX));
    assert_eq!(whole.status, 201, "{whole:?}");
    let gone = room.container.on_item("DELETE", "big").partition("[\"p\"]");
    assert_eq!(room.container.send(gone).status, 204);
    let reply = room.create(item_of(BODY_BYTES_MAX + 1));
    room.refused("2 MB + 1", &reply, 413, "Request size is too large");
    let reply = room.create(item_of(4 * BODY_BYTES_MAX));
    room.refused("8 MB", &reply, 413, "Request size is too large");
    // Clients compare the text.
    let body = reply.json();
    let message = body["message"].as_str().unwrap();
    let exactly = r#"Message: {"Errors":["Request size is too large"]}"#;
    assert!(message.starts_with(exactly), "{message}");
}

#[test]
fn a_length_that_is_only_announced_is_refused_before_it_comes() {
    let mut room = Room::new();
    for length in ["2097153", "999999999999", "18446744073709551615"] {
        let request = room
            .container
            .on_items("POST")
            .partition("[\"p\"]")
            .header("content-length", length);
        let bytes = request.to_bytes(room.server.address());
        let reply = room.client().raw(&bytes).expect("an answer");
        // A number at the end of 64 bits is refused before it is a length.
        assert!((400..500).contains(&reply.status), "{length}: {reply:?}");
        room.unharmed(length);
    }
}

#[test]
fn a_batch_of_more_than_a_hundred_operations_is_400() {
    let mut room = Room::new();
    let operation = |index: usize| json!({"operationType":"Create","resourceBody":{"id":format!("n{index}"),"pk":"p"}});
    let many: Vec<_> = (0..101).map(operation).collect();
    let reply = room.container.batch("[\"p\"]", &json!(many));
    room.refused(
        "101 operations",
        &reply,
        400,
        "Batch request has more operations than what is supported.",
    );
    let all: Vec<_> = (0..100).map(operation).collect();
    let reply = room.container.batch("[\"p\"]", &json!(all));
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(room.container.check_counts(), 102);
}

#[test]
fn a_batch_of_more_than_two_megabytes_is_413() {
    let mut room = Room::new();
    let text = "x".repeat(900_000);
    let operations: Vec<_> = (0..3)
        .map(|index| json!({"operationType":"Create","resourceBody":{"id":format!("n{index}"),"pk":"p","s":text}}))
        .collect();
    let reply = room.container.batch("[\"p\"]", &json!(operations));
    room.refused("a large batch", &reply, 413, "Request size is too large");
}

#[test]
fn nesting_beyond_the_limit_is_400() {
    let mut room = Room::new();
    let nested = |open: &str, close: &str, depth: usize| {
        format!(
            r#"{{"id":"deep","pk":"p","v":{}1{}}}"#,
            open.repeat(depth),
            close.repeat(depth)
        )
    };
    // The item itself is the first level.
    let reply = room.create(nested("[", "]", DEPTH_MAX - 1));
    assert_eq!(reply.status, 201, "{reply:?}");
    let gone = room
        .container
        .on_item("DELETE", "deep")
        .partition("[\"p\"]");
    assert_eq!(room.container.send(gone).status, 204);
    for depth in [DEPTH_MAX, DEPTH_MAX + 1, 1000, 100_000] {
        let reply = room.create(nested("[", "]", depth));
        room.refused(&format!("{depth} arrays"), &reply, 400, "");
        let reply = room.create(nested("{\"a\":", "}", depth));
        room.refused(&format!("{depth} objects"), &reply, 400, "");
    }
    let reply = room.create("[".repeat(1_000_000));
    room.refused("a million brackets", &reply, 400, "");
}

#[test]
fn nesting_by_patch_beyond_the_limit_is_400() {
    let mut room = Room::new();
    let deep = format!("{}1{}", "[".repeat(127), "]".repeat(127));
    let patch = |room: &Room, path: &str| {
        room.container
            .on_item("PATCH", "a")
            .partition("[\"p\"]")
            .body(format!(
                r#"{{"operations":[{{"op":"set","path":"{path}","value":{deep}}}]}}"#
            ))
    };
    let request = patch(&room, "/n/m");
    let reply = room.container.send(request);
    room.refused("a path below a number", &reply, 400, "");
    let request = room
        .container
        .on_item("PATCH", "a")
        .partition("[\"p\"]")
        .body(format!(
            r#"{{"operations":[{{"op":"set","path":"/o","value":{{}}}},{{"op":"set","path":"/o/o","value":{deep}}}]}}"#
        ));
    let reply = room.container.send(request);
    room.refused("one level too deep", &reply, 400, "");
}

#[test]
fn bytes_that_are_not_utf_8_are_400() {
    let mut room = Room::new();
    for bytes in [
        &b"\xff\xfe"[..],
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
        b"\xc0\xaf",
    ] {
        let body = [&b"{\"id\":\"x\",\"pk\":\"p\",\"s\":\""[..], bytes, b"\"}"].concat();
        let reply = room.create(body);
        room.refused("not UTF-8", &reply, 400, "");
    }
    let reply = room.create("{\"id\":\"x\u{0}\",\"pk\":\"p\"}");
    room.refused("a NUL in an id", &reply, 400, "");
    let reply = room.create(r#"{"id":"x","pk":"p","s":"\ud800"}"#);
    assert!(reply.status == 400 || reply.status == 201, "{reply:?}");
}

#[test]
fn control_characters_need_an_escape_only_outside_of_strings() {
    let mut room = Room::new();
    let reply = room.create("{\"id\":\"x\",\u{1}\"pk\":\"p\"}");
    room.refused("between members", &reply, 400, "0x01");
    let text: String = (0..0x20u8).map(char::from).collect();
    let reply = room.create(format!(
        "{{\"id\":\"With\nLine\tFeed\r\",\"pk\":\"p\",\"s\u{1f}\":\"{text}\"}}"
    ));
    assert_eq!(reply.status, 201, "{reply:?}");
    // They are answered escaped, which every parser takes.
    assert_eq!(reply.json()["s\u{1f}"], text);
    let read = room
        .container
        .on_item("GET", "With%0ALine%09Feed%0D")
        .partition("[\"p\"]");
    assert_eq!(room.container.send(read).json()["s\u{1f}"], text);
    let query = json!({ "query": "SELECT * FROM c WHERE c.s = @s" }).to_string();
    let query = query.replace(
        '}',
        &format!(",\"parameters\":[{{\"name\":\"@s\",\"value\":\"{text}\"}}]}}"),
    );
    let asked = room
        .container
        .on_items("POST")
        .header("x-ms-documentdb-isquery", "True")
        .body(query.replace("c.s ", "c[\\\"s\\u001f\\\"] "));
    let found = room.container.send(asked);
    assert_eq!(found.json()["_count"], 1, "{found:?}");
}

#[test]
fn ids_beyond_their_length_are_400() {
    let mut room = Room::new();
    let with_id = |id: &str| json!({ "id": id, "pk": "p" }).to_string();
    let longest = "i".repeat(1023);
    let reply = room.create(with_id(&longest));
    assert_eq!(reply.status, 201, "{reply:?}");
    let gone = room
        .container
        .on_item("DELETE", &longest)
        .partition("[\"p\"]");
    assert_eq!(room.container.send(gone).status, 204);
    for id in ["i".repeat(1024), "i".repeat(100_000), "é".repeat(512)] {
        let reply = room.create(with_id(&id));
        room.refused("a long id", &reply, 400, "The input name '");
    }
    for name in ["n".repeat(256), "n".repeat(5000)] {
        let mut client = room.client();
        let request = client.request("POST", "/dbs").json(&json!({ "id": name }));
        let reply = client.must(request);
        room.refused("a long database name", &reply, 400, "The input name '");
        let request = client.request("POST", "/dbs/d/colls").json(&json!({
            "id": name,
            "partitionKey": { "paths": ["/pk"], "kind": "Hash", "version": 2 },
        }));
        let reply = client.must(request);
        room.refused("a long container name", &reply, 400, "The input name '");
    }
}

#[test]
fn a_partition_key_beyond_its_length_is_400() {
    let mut room = Room::new();
    for length in [2049, 20_000] {
        let key = "k".repeat(length);
        let body = json!({ "id": "x", "pk": key });
        let request = room
            .container
            .on_items("POST")
            .partition(&json!([key]).to_string())
            .json(&body);
        let reply = room.container.send(request);
        room.refused("a long partition key", &reply, 400, "");
    }
}

#[test]
fn dates_outside_the_window_are_403() {
    let mut room = Room::new();
    for seconds in [-901, 901, -86_400, 10 * 365 * 86_400, -50 * 365 * 86_400] {
        let mut client = room.client();
        let request = client.request_dated("GET", "/dbs/d", seconds);
        let reply = client.must(request);
        room.refused(
            &format!("{seconds} s off"),
            &reply,
            403,
            "The authorization token is not valid at the current time.",
        );
    }
    for seconds in [-890, 890] {
        let mut client = room.client();
        let request = client.request_dated("GET", "/dbs/d", seconds);
        assert_eq!(client.must(request).status, 200, "{seconds} s off");
    }
}

#[test]
fn a_signature_for_another_request_is_401() {
    let mut room = Room::new();
    let mut client = room.client();
    let says = "The input authorization token can't serve the request";
    let signed = |verb: &str, path: &str| {
        let date = lapsedb_testkit::http_date(0);
        let text = lapsedb_testkit::Signer::new(EMULATOR_KEY).authorization(verb, path, &date);
        (date, text)
    };
    for (verb, path) in [
        ("GET", "/dbs/other"),
        ("POST", "/dbs/d"),
        ("GET", "/dbs"),
        ("GET", "/"),
    ] {
        let (date, authorization) = signed(verb, path);
        let request = client
            .request("GET", "/dbs/d")
            .header("x-ms-date", &date)
            .header("authorization", &authorization);
        let reply = client.must(request);
        room.refused(&format!("signed for {verb} {path}"), &reply, 401, says);
    }
    let other = Client::new(room.server.address(), "b3RoZXIga2V5");
    let request = other.request("DELETE", "/dbs/d");
    let reply = client.must(request);
    room.refused("another key", &reply, 401, says);
}

/// `{"id":"x","pk":"p","v":[2,3]}` in Cosmos binary JSON, as the Rust SDK sends it.
fn binary_item() -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in [("id", "x"), ("pk", "p")] {
        body.push(0x80 | u8::try_from(name.len()).unwrap());
        body.extend_from_slice(name.as_bytes());
        body.push(0x80 | u8::try_from(value.len()).unwrap());
        body.extend_from_slice(value.as_bytes());
    }
    body.extend_from_slice(&[0x81, b'v', 0xe5, 0x02, 0x02, 0x02, 0x03]);
    let mut bytes = vec![0x80, 0xed, u8::try_from(body.len()).unwrap(), 3];
    bytes.extend_from_slice(&body);
    bytes
}

#[test]
fn binary_json_cut_short_or_bent_is_400() {
    let mut room = Room::new();
    let whole = binary_item();
    let reply = room.create(whole.clone());
    assert_eq!(reply.status, 201, "{reply:?}");
    assert_eq!(reply.json()["v"], json!([2, 3]));
    let gone = room.container.on_item("DELETE", "x").partition("[\"p\"]");
    assert_eq!(room.container.send(gone).status, 204);
    for length in 1..whole.len() {
        let reply = room.create(&whole[..length]);
        room.refused(&format!("{length} bytes of it"), &reply, 400, "");
    }
    for (what, bytes) in [
        ("bytes after the end", [&whole[..], &[0]].concat()),
        (
            "a length beyond the end",
            vec![0x80, 0xec, 0xff, 0xff, 0xff, 0xff],
        ),
        (
            "a string beyond the end",
            vec![0x80, 0xea, 0x03, 0xc2, 0xff, 0xff],
        ),
        (
            "a reference to itself",
            vec![0x80, 0xea, 0x04, 0xc3, 0x03, 0xc3, 0x03],
        ),
        ("a user string", vec![0x80, 0xea, 0x02, 0x40, 0x01]),
        ("an unknown marker", vec![0x80, 0xff]),
        ("not an object", vec![0x80, 0xe2, 0x01, 0x05]),
    ] {
        let reply = room.create(bytes);
        room.refused(what, &reply, 400, "");
    }
    let deep = [&[0x80][..], &[0xe1].repeat(100_000), &[0x01]].concat();
    let reply = room.create(deep);
    room.refused("deep binary JSON", &reply, 400, "");
}

#[test]
fn hybrid_row_garbage_is_400() {
    let mut room = Room::new();
    let header = b"\x81\xf0\xd8\xff\x7f\x01\x0a\x00\x00\x00";
    let record = b"\x81\xf1\xd8\xff\x7f";
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("one byte", vec![0x81]),
        ("half a header", header[..6].to_vec()),
        ("a header alone", header.to_vec()),
        (
            "another schema",
            [b"\x81\x01\x02\x03\x04", &header[5..]].concat(),
        ),
        ("half a record", [&header[..], record].concat()),
        (
            "a record beyond the end",
            [&header[..], record, b"\xff\xff\xff\x7f\x00\x00\x00\x00"].concat(),
        ),
        (
            "a negative length",
            [&header[..], record, b"\xff\xff\xff\xff\x00\x00\x00\x00"].concat(),
        ),
        (
            "a wrong checksum",
            [
                &header[..],
                record,
                b"\x05\x00\x00\x00\x01\x02\x03\x04",
                b"\x81\x70\x54\xe1\x7f",
            ]
            .concat(),
        ),
        ("noise", [&header[..], &[0xa5; 300]].concat()),
    ];
    for (what, body) in bodies {
        let request = room
            .container
            .on_items("POST")
            .partition("[\"p\"]")
            .header("x-ms-cosmos-is-batch-request", "true")
            .header("x-ms-cosmos-batch-atomic", "true")
            .body(body);
        let reply = room.container.send(request);
        room.refused(what, &reply, 400, "");
    }
}

/// What is not HTTP gets a 4xx or a closed connection; and a closed connection is all it may break.
#[test]
fn what_is_not_http_harms_nobody() {
    let mut room = Room::new();
    let long = format!(
        "GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "a".repeat(200_000)
    );
    let many = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n",
        "a: b\r\n".repeat(2000)
    );
    for bytes in [
        &b"\r\n\r\n"[..],
        b"nonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: \x00\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /dbs/%zz HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /dbs/%ff%fe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcde",
        b"POST /dbs HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /dbs HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"PRI * HTTP/2.0\r\n\r\nnonsense",
        b"\x16\x03\x01\xff\xff\x01\x00",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        long.as_bytes(),
        many.as_bytes(),
    ] {
        let what = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        if let Some(reply) = room.client().raw(bytes) {
            assert!(reply.status < 500, "{what}: {reply:?}");
        }
        room.unharmed(&what);
    }
}

#[test]
fn ids_in_paths_that_are_not_utf_8_are_4xx() {
    let mut room = Room::new();
    for id in ["%ff%fe", "%zz", "%", "%2", "a%00b", "%2f", "a%2fb"] {
        let path = format!("{}/docs/{id}", room.container.path());
        let mut client = room.client();
        let request: Request = client.request("GET", &path).partition("[\"p\"]");
        let reply = client.must(request);
        assert!((400..500).contains(&reply.status), "{id}: {reply:?}");
        room.unharmed(id);
    }
}
