//! Carries out one file's commands against a server.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::script::{Line, span_ms, word};
use super::{Difference, expected};
use crate::client::{Client, Reply, Request};
use crate::container::Container;
use crate::mongo::MongoClient;
use crate::server::Server;
use crate::sign::EMULATOR_KEY;

/// A container as a case has made it.
#[derive(Clone)]
struct Made {
    key: String,
    members: String,
}

/// One file under way.
pub(crate) struct Runner<'a> {
    server: &'a Server,
    client: Client,
    mongo: Option<MongoClient>,
    file: String,
    case: String,
    cases: usize,
    database: String,
    /// The engine time at which the case began: a whole second.
    zero_ms: u64,
    made: HashMap<String, Made>,
    names: HashMap<String, String>,
    last: Option<Reply>,
}

pub(super) type Outcome = Result<(), Difference>;

impl<'a> Runner<'a> {
    pub(crate) fn new(server: &'a Server, file: &str) -> Runner<'a> {
        Runner {
            server,
            client: server.client(),
            mongo: server.mongo_address().map(MongoClient::new),
            file: file.to_owned(),
            case: String::new(),
            cases: 0,
            database: String::new(),
            zero_ms: 0,
            made: HashMap::new(),
            names: HashMap::new(),
            last: None,
        }
    }

    /// The case under way.
    pub(crate) fn case(&self) -> &str {
        &self.case
    }

    /// The case's own database.
    pub(super) fn database(&self) -> &str {
        &self.database
    }

    /// The engine time at which the case began.
    pub(super) const fn zero_ms(&self) -> u64 {
        self.zero_ms
    }

    pub(super) fn mongo_client(&mut self) -> Option<&mut MongoClient> {
        self.mongo.as_mut()
    }

    /// What a name stands for from now on.
    pub(super) fn set_name(&mut self, name: &str, value: String) {
        self.names.insert(name.to_owned(), value);
    }

    /// How many cases were begun.
    pub(crate) const fn cases(&self) -> usize {
        self.cases
    }

    /// Carries out one command.
    pub(crate) fn step(&mut self, line: &Line) -> Outcome {
        let rest = self.filled(&line.rest);
        match line.verb.as_str() {
            "case" => self.begin(&rest),
            "server" => Ok(()),
            "clock" => self.clock(&rest),
            "collection" => self.collection(line, &rest, true),
            "alter" => self.collection(line, &rest, false),
            "create" | "upsert" => self.write(line, &rest),
            "replace" | "patch" => self.change(line, &rest),
            "read" | "delete" => self.look(line, &rest),
            "batch" | "bulk" => self.together(line, &rest),
            "list" => self.list(line, &rest),
            "usage" => self.usage(line, &rest),
            "http" | "admin" => self.http(line, &rest),
            "mongo" => self.mongo(line, &rest),
            "date" => self.date(&rest),
            "seconds" => self.seconds(&rest),
            "let" => self.name(&rest),
            "expect" => self.compare(&rest),
            other => Err(Difference::new(format!("`{other}` is not a command"))),
        }
    }

    /// A case begins with a database of its own, at a whole second.
    fn begin(&mut self, title: &str) -> Outcome {
        self.cases += 1;
        self.case = title.to_owned();
        self.database = format!("{}-{}", self.file, self.cases);
        self.made.clear();
        self.names.clear();
        self.names.insert("db".to_owned(), self.database.clone());
        let now = self.server.now_ms();
        self.zero_ms = match now % 1000 {
            0 => now,
            part => self.server.advance_ms(1000 - part),
        };
        self.server.database(&self.database);
        Ok(())
    }

    fn clock(&mut self, rest: &str) -> Outcome {
        let bad = || Difference::new(format!("`{rest}` is neither `=10s` nor `+10s`"));
        let (sign, span) = rest.split_at_checked(1).ok_or_else(bad)?;
        let span = span_ms(span).ok_or_else(bad)?;
        match sign {
            "=" => self.server.set_ms(self.zero_ms + span),
            "+" => self.server.advance_ms(span),
            _ => return Err(bad()),
        };
        Ok(())
    }

    /// `collection c pk=/pk default_ttl=10 unique=/email +"any":"member"`, and the same for `alter`.
    fn collection(&mut self, line: &Line, rest: &str, fresh: bool) -> Outcome {
        let (id, rest) = word(rest);
        let (words, raw) = match rest.split_once('+') {
            Some((words, raw)) => (words, raw.trim()),
            None => (rest, ""),
        };
        let mut made = match self.made.get(id) {
            Some(made) if !fresh => made.clone(),
            _ => Made {
                key: "/id".to_owned(),
                members: String::new(),
            },
        };
        let mut ttl = String::new();
        for option in words.split_whitespace() {
            match option.split_once('=') {
                Some(("pk", path)) => made.key = path.to_owned(),
                Some(("default_ttl", "off")) => ttl.clear(),
                Some(("default_ttl", value)) => ttl = format!(",\"defaultTtl\":{value}"),
                Some(("unique", path)) => {
                    made.members = format!(
                        ",\"uniqueKeyPolicy\":{{\"uniqueKeys\":[{{\"paths\":[\"{path}\"]}}]}}"
                    );
                }
                _ => return Err(Difference::new(format!("`{option}` is not an option"))),
            }
        }
        let raw = if raw.is_empty() {
            String::new()
        } else {
            format!(",{raw}")
        };
        let body = format!(
            "{{\"id\":\"{id}\",\"partitionKey\":{{\"paths\":[\"{}\"],\"kind\":\"Hash\",\"version\":2}}{}{ttl}{raw}}}",
            made.key, made.members
        );
        let (method, path) = if fresh {
            ("POST", format!("/dbs/{}/colls", self.database))
        } else {
            ("PUT", format!("/dbs/{}/colls/{id}", self.database))
        };
        self.made.insert(id.to_owned(), made);
        let request = self.client.request(method, &path).body(body);
        let wanted = if fresh { "201" } else { "200" };
        self.finish(line, request, wanted)
    }

    fn write(&mut self, line: &Line, rest: &str) -> Outcome {
        let (id, body) = word(rest);
        let mut request = self
            .client
            .request("POST", &format!("{}/docs", self.path(id)))
            .partition(&self.key_in(id, body))
            .body(body);
        if line.verb == "upsert" {
            request = request.header("x-ms-documentdb-is-upsert", "true");
        }
        self.finish(line, request, "201")
    }

    fn change(&mut self, line: &Line, rest: &str) -> Outcome {
        let (id, rest) = word(rest);
        let (item, body) = word(rest);
        let (path, key) = self.item(id, item);
        let request = if line.verb == "replace" {
            self.client.request("PUT", &path).body(body)
        } else if body.starts_with('[') {
            self.client
                .request("PATCH", &path)
                .body(format!("{{\"operations\":{body}}}"))
        } else {
            self.client.request("PATCH", &path).body(body)
        };
        self.finish(line, request.partition(&key), "200")
    }

    fn look(&mut self, line: &Line, rest: &str) -> Outcome {
        let (id, item) = word(rest);
        let (path, key) = self.item(id, item);
        let (method, wanted) = match line.verb.as_str() {
            "delete" => ("DELETE", "204"),
            _ => ("GET", "200"),
        };
        let request = self.client.request(method, &path).partition(&key);
        self.finish(line, request, wanted)
    }

    /// `batch c@p [operations]` and `bulk c [operations]`; a list after the status is the operations' statuses.
    fn together(&mut self, line: &Line, rest: &str) -> Outcome {
        let (id, body) = word(rest);
        let (id, partition) = id.split_once('@').unwrap_or((id, ""));
        let atomic = line.verb == "batch";
        let request = self
            .client
            .request("POST", &format!("{}/docs", self.path(id)))
            .header("x-ms-cosmos-is-batch-request", "true")
            .header(
                "x-ms-cosmos-batch-atomic",
                if atomic { "true" } else { "false" },
            )
            .body(body);
        let request = if atomic {
            request.partition(&json!([partition]).to_string())
        } else {
            request
                .header("x-ms-documentdb-partitionkeyrangeid", "0")
                .header("x-ms-cosmos-batch-continue-on-error", "true")
        };
        let reply = self.send(line, request)?;
        let body = reply.json();
        let statuses = body
            .as_array()
            .into_iter()
            .flatten()
            .map(|result| result["statusCode"].clone())
            .collect();
        self.judge(line, reply, &Value::Array(statuses), "200")
    }

    /// `list c -> 200 ["a","b"]`: the ids of all living items, sorted.
    fn list(&mut self, line: &Line, rest: &str) -> Outcome {
        let (id, _) = word(rest);
        let request = self
            .client
            .request("GET", &format!("{}/docs", self.path(id)))
            .header("x-ms-max-item-count", "1000");
        let reply = self.send(line, request)?;
        let body = reply.json();
        let mut ids: Vec<_> = body["Documents"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| Some(item["id"].as_str()?.to_owned()))
            .collect();
        ids.sort_unstable();
        self.judge(line, reply, &json!(ids), "200")
    }

    /// `usage c -> 200 {"live":2,"expired":1}`: the report's counts, which must agree with the header and the feed.
    fn usage(&mut self, line: &Line, rest: &str) -> Outcome {
        let (id, _) = word(rest);
        let request = self
            .client
            .request("GET", &format!("/_lapsedb{}/ttl", self.path(id)))
            .bearer(EMULATOR_KEY);
        let reply = self.send(line, request)?;
        let report = reply.json();
        let seen = json!({
            "defaultTtl": report["defaultTtl"],
            "live": report["live"]["items"],
            "expired": report["expired"]["items"],
        });
        let mut container: Container = self.server.existing(&self.database, id, "/id");
        let all = container.all().len() as u64;
        let counted = container.documents_count();
        if report["live"]["items"].as_u64() != Some(all) || counted != all {
            return Err(Difference::new(format!(
                "the feed has {all} items, the usage header says {counted}, the report {report}"
            )));
        }
        self.judge(line, reply, &seen, "200")
    }

    /// `http METHOD path [body]`, signed unless a header line says otherwise (`> authorization: none`);
    /// `admin METHOD path [body]` with the master key.
    fn http(&mut self, line: &Line, rest: &str) -> Outcome {
        let (method, rest) = word(rest);
        let (path, body) = word(rest);
        let mut request = match line.verb.as_str() {
            "admin" => self
                .client
                .request(method, &format!("/_lapsedb{path}"))
                .bearer(EMULATOR_KEY),
            _ => self.client.request(method, path),
        };
        if !body.is_empty() {
            request = request.body(body);
        }
        self.finish(line, request, "200")
    }

    /// `let x = body._rid` or `let x = header etag`, of the last answer.
    fn name(&mut self, rest: &str) -> Outcome {
        let (name, what) = rest
            .split_once('=')
            .ok_or_else(|| Difference::new("written `let name = body.member`"))?;
        let value = self.part(what.trim())?;
        self.names.insert(name.trim().to_owned(), value);
        Ok(())
    }

    /// `expect body._rid != $x`, of the last answer.
    fn compare(&mut self, rest: &str) -> Outcome {
        let (what, wanted, equal) = match rest.split_once(" != ") {
            Some((what, wanted)) => (what, wanted, false),
            None => match rest.split_once(" = ") {
                Some((what, wanted)) => (what, wanted, true),
                None => return Err(Difference::new("written `expect body.member = value`")),
            },
        };
        let value = self.part(what.trim())?;
        if (value == wanted.trim()) == equal {
            Ok(())
        } else {
            Err(Difference::new(format!("{what} is {value}")))
        }
    }

    /// A part of the last answer as text.
    fn part(&self, what: &str) -> Result<String, Difference> {
        let reply = self
            .last
            .as_ref()
            .ok_or_else(|| Difference::new("there is no answer yet"))?;
        if let Some(name) = what.strip_prefix("header ") {
            return Ok(reply.header(name.trim()).unwrap_or("absent").to_owned());
        }
        if what == "format" {
            let format = if reply.is_binary() { "binary" } else { "text" };
            return Ok(format.to_owned());
        }
        let Some(path) = what.strip_prefix("body") else {
            return Err(Difference::new(format!(
                "`{what}` is neither body, header nor format"
            )));
        };
        let body = reply.json();
        let pointer = path.replace('.', "/");
        Ok(match body.pointer(&pointer) {
            None => "absent".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        })
    }

    fn finish(&mut self, line: &Line, request: Request, wanted: &str) -> Outcome {
        let reply = self.send(line, request)?;
        let body = reply.json();
        self.judge(line, reply, &body, wanted)
    }

    fn send(&mut self, line: &Line, mut request: Request) -> Result<Reply, Difference> {
        for (at, (name, value)) in line.send.iter().enumerate() {
            let value = self.filled(value);
            let said = |(other, _): &(String, String)| other.eq_ignore_ascii_case(name);
            let again = line.send.iter().take(at).any(said);
            request = match value.as_str() {
                "none" => request.without(name),
                value if again => request.another_header(name, value),
                value => request.header(name, value),
            };
        }
        self.client
            .send(request)
            .map_err(|error| Difference::new(format!("no answer: {error}")))
    }

    /// Compares an answer with what its line says; a line without an arrow expects success.
    pub(super) fn judge(
        &mut self,
        line: &Line,
        reply: Reply,
        seen: &Value,
        wanted: &str,
    ) -> Outcome {
        let mut line = line.clone();
        line.expected = match line.expected.as_str() {
            "" => wanted.to_owned(),
            text => self.filled(text),
        };
        let outcome = expected(&line)?.check(&reply, seen);
        for (name, value) in &line.find {
            let value = self.filled(value);
            let found = reply.header(name).unwrap_or("absent");
            if found != value {
                return Err(Difference::new(format!("the header {name} is {found}")));
            }
        }
        self.last = Some(reply);
        outcome
    }

    fn path(&self, id: &str) -> String {
        format!("/dbs/{}/colls/{id}", self.database)
    }

    /// Path and partition key of `a` (keyed by id) or `a@p`.
    fn item(&self, id: &str, item: &str) -> (String, String) {
        let (item, partition) = item.split_once('@').unwrap_or((item, item));
        (
            format!("{}/docs/{item}", self.path(id)),
            json!([partition]).to_string(),
        )
    }

    /// The partition key header that fits a body, even one that is not JSON.
    fn key_in(&self, id: &str, body: &str) -> String {
        let key = self
            .made
            .get(id)
            .map_or("id", |made| made.key.trim_start_matches('/'));
        if let Ok(document) = serde_json::from_str::<Value>(body) {
            return match document.get(key) {
                Some(value) => json!([value]).to_string(),
                None => "[{}]".to_owned(),
            };
        }
        let after = body
            .split_once(&format!("\"{key}\":\""))
            .map(|(_, rest)| rest);
        let value = after.and_then(|rest| rest.split('"').next());
        value.map_or_else(|| "[{}]".to_owned(), |value| json!([value]).to_string())
    }

    /// The text with `$names` replaced; the longest name first, so that `$ab` is not taken for `$a`.
    fn filled(&self, text: &str) -> String {
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let mut text = text.to_owned();
        for (name, value) in names {
            text = text.replace(&format!("${name}"), value);
        }
        text
    }
}
