//! A container and the calls on it, as short as a test wants them.

use serde_json::{Value, json};

use crate::client::{Client, Reply, Request};
use crate::sign::EMULATOR_KEY;

/// A container of a running server, on a connection of its own.
pub struct Container {
    client: Client,
    database: String,
    id: String,
    /// The member that holds the partition key: containers under test have keys of one level at the top.
    key: String,
}

impl Container {
    pub(crate) fn new(client: Client, database: &str, id: &str, partition_key: &str) -> Container {
        Container {
            client,
            database: database.to_owned(),
            id: id.to_owned(),
            key: partition_key.trim_start_matches('/').to_owned(),
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/dbs/{}/colls/{}", self.database, self.id)
    }

    /// The connection, for calls that are not here.
    pub const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Sends a request that must be answered.
    pub fn send(&mut self, request: Request) -> Reply {
        self.client.must(request)
    }

    /// The partition key header of a document: its member as a JSON array, `[{}]` if it has none.
    #[must_use]
    pub fn key_of(&self, document: &Value) -> String {
        match document.get(&self.key) {
            Some(value) => json!([value]).to_string(),
            None => "[{}]".to_owned(),
        }
    }

    /// A signed request to the feed of items.
    #[must_use]
    pub fn on_items(&self, method: &str) -> Request {
        self.client
            .request(method, &format!("{}/docs", self.path()))
    }

    /// A signed request to one item; the partition is that of a container keyed by id unless set otherwise.
    #[must_use]
    pub fn on_item(&self, method: &str, id: &str) -> Request {
        self.client
            .request(method, &format!("{}/docs/{id}", self.path()))
            .partition(&json!([id]).to_string())
    }

    /// Creates an item.
    pub fn create(&mut self, document: &Value) -> Reply {
        let request = self
            .on_items("POST")
            .partition(&self.key_of(document))
            .json(document);
        self.send(request)
    }

    /// Creates an item that must be created.
    pub fn put(&mut self, document: &Value) -> Reply {
        let reply = self.create(document);
        assert_eq!(reply.status, 201, "create {document}: {reply:?}");
        reply
    }

    /// Upserts an item.
    pub fn upsert(&mut self, document: &Value) -> Reply {
        let request = self
            .on_items("POST")
            .partition(&self.key_of(document))
            .header("x-ms-documentdb-is-upsert", "true")
            .json(document);
        self.send(request)
    }

    /// Replaces an item.
    pub fn replace(&mut self, document: &Value) -> Reply {
        let id = document["id"].as_str().unwrap_or_default();
        let request = self
            .on_item("PUT", id)
            .partition(&self.key_of(document))
            .json(document);
        self.send(request)
    }

    /// Reads an item of a container keyed by id.
    pub fn read(&mut self, id: &str) -> Reply {
        let request = self.on_item("GET", id);
        self.send(request)
    }

    /// Deletes an item of a container keyed by id.
    pub fn delete(&mut self, id: &str) -> Reply {
        let request = self.on_item("DELETE", id);
        self.send(request)
    }

    /// Patches an item of a container keyed by id.
    pub fn patch(&mut self, id: &str, operations: &Value) -> Reply {
        let request = self
            .on_item("PATCH", id)
            .json(&json!({ "operations": operations }));
        self.send(request)
    }

    /// A transactional batch in one partition, given as the header's text.
    pub fn batch(&mut self, partition: &str, operations: &Value) -> Reply {
        let request = self.batch_request(partition, operations);
        self.send(request)
    }

    /// The request of a transactional batch.
    #[must_use]
    pub fn batch_request(&self, partition: &str, operations: &Value) -> Request {
        self.on_items("POST")
            .partition(partition)
            .header("x-ms-cosmos-is-batch-request", "true")
            .header("x-ms-cosmos-batch-atomic", "true")
            .json(operations)
    }

    /// A bulk request: every operation for itself, with its own partition key.
    pub fn bulk(&mut self, operations: &Value) -> Reply {
        let request = self
            .on_items("POST")
            .header("x-ms-documentdb-partitionkeyrangeid", "0")
            .header("x-ms-cosmos-is-batch-request", "true")
            .header("x-ms-cosmos-batch-atomic", "false")
            .header("x-ms-cosmos-batch-continue-on-error", "true")
            .json(operations);
        self.send(request)
    }

    /// Changes the container's definition: the one it has, with these members set (null takes one away).
    pub fn alter(&mut self, changes: &Value) -> Reply {
        let path = self.path();
        let request = self.client.request("GET", &path);
        let mut body = self.send(request).json();
        if let Some(members) = body.as_object_mut() {
            members.retain(|name, _| !name.starts_with('_'));
            for (name, value) in changes.as_object().into_iter().flatten() {
                members.remove(name);
                if !value.is_null() {
                    members.insert(name.clone(), value.clone());
                }
            }
        }
        let request = self.client.request("PUT", &path).json(&body);
        self.send(request)
    }

    /// All living items, by reading the whole feed page by page.
    pub fn all(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        let mut continuation: Option<String> = None;
        loop {
            let mut request = self.on_items("GET").header("x-ms-max-item-count", "1000");
            if let Some(token) = &continuation {
                request = request.header("x-ms-continuation", token);
            }
            let reply = self.send(request);
            assert_eq!(reply.status, 200, "read feed: {reply:?}");
            let body = reply.json();
            all.extend(body["Documents"].as_array().cloned().unwrap_or_default());
            match reply.header("x-ms-continuation") {
                Some(token) => continuation = Some(token.to_owned()),
                None => return all,
            }
        }
    }

    /// The TTL report of the admin API.
    pub fn ttl_report(&mut self) -> Value {
        let request = self
            .client
            .request("GET", &format!("/_lapsedb{}/ttl", self.path()))
            .bearer(EMULATOR_KEY);
        let reply = self.send(request);
        assert_eq!(reply.status, 200, "ttl report: {reply:?}");
        reply.json()
    }

    /// `documentsCount` of the container's usage header.
    pub fn documents_count(&mut self) -> u64 {
        let request = self
            .client
            .request("GET", &self.path())
            .header("x-ms-documentdb-populatequotainfo", "true");
        let reply = self.send(request);
        let usage = reply.header("x-ms-resource-usage").unwrap_or_default();
        usage
            .split(';')
            .find_map(|part| part.trim().strip_prefix("documentsCount="))
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no documentsCount in `{usage}`: {reply:?}"))
    }

    /// Asserts that report, usage header and a full read agree, and says how many items live.
    pub fn check_counts(&mut self) -> u64 {
        let all = self.all().len() as u64;
        let report = self.ttl_report();
        assert_eq!(
            report["live"]["items"].as_u64(),
            Some(all),
            "ttl report: {report}"
        );
        assert_eq!(self.documents_count(), all, "usage header");
        all
    }
}
