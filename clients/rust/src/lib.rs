//! Starts real servers for the tests and opens clients to them. Knows nothing of the server but its command line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use azure_data_cosmos::clients::{ContainerClient, DatabaseClient};
use azure_data_cosmos::models::{ContainerProperties, ThroughputProperties};
use azure_data_cosmos::options::{
    ConnectionPoolOptionsBuilder, CreateContainerOptions, ServerCertificateValidation,
};
use azure_data_cosmos::{
    AccountReference, CosmosClient, CosmosError, CosmosRuntime, RoutingStrategy,
};

/// The key every emulator publishes; a server on a loopback address takes it by default.
pub const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
/// A key that may only read, for servers started with it.
pub const READ_ONLY_KEY: &str =
    "cmVhZCBvbmx5IGtleSBvZiB0aGUgY2xpZW50IHRlc3RzLCBub3QgYSBzZWNyZXQgYXQgYWxsLCA2NCBieXRlcyE=";
/// Enough that no test is throttled unless it wants to be.
const ROOMY_THROUGHPUT: u64 = 100_000;
const STOP_MAX: Duration = Duration::from_secs(20);

/// One server process on a free port. Its store outlives `stop`, so that it can be started again.
pub struct Server {
    flags: Vec<String>,
    store: PathBuf,
    process: Option<Child>,
    port: u16,
    mongo_port: Option<u16>,
}

impl Server {
    /// Starts a server with a new store.
    pub fn start(flags: &[&str]) -> Self {
        let mut server = Self {
            flags: flags.iter().map(|flag| flag.to_string()).collect(),
            store: std::env::temp_dir().join(format!(
                "lapsedb-{}-{}",
                std::process::id(),
                number()
            )),
            process: None,
            port: 0,
            mongo_port: None,
        };
        server.start_again();
        server
    }

    /// Starts the server again on the store it had.
    pub fn start_again(&mut self) {
        let binary = std::env::var("LAPSEDB_BIN")
            .expect("LAPSEDB_BIN names the server; `make test` sets it");
        let mongo: &[&str] = match self.flags.iter().any(|flag| flag == "--mongo-port") {
            true => &[],
            false => &["--mongo-port", "off"],
        };
        let mut process = Command::new(binary)
            .args(["--port", "0", "--log-level", "error", "--data-path"])
            .arg(&self.store)
            .args(mongo)
            .args(&self.flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("a ready line");
        let door = |name: &str| {
            let mut words = line.trim().strip_prefix("ready ")?.split(' ');
            let port = words.find_map(|word| word.strip_prefix(name)?.strip_prefix("=127.0.0.1:"));
            port?.parse().ok()
        };
        self.port = door("nosql").unwrap_or_else(|| panic!("not ready: {line:?}"));
        self.mongo_port = door("mongo");
        self.process = Some(process);
    }

    /// Asks the server to stop as an operator would, and holds it to exit code 0.
    pub fn stop(&mut self) {
        let mut process = self.process.take().expect("a running server");
        let asked = Command::new("kill").arg(process.id().to_string()).status();
        assert!(asked.expect("kill runs").success());
        let asked_at = Instant::now();
        let status = loop {
            if let Some(status) = process.try_wait().expect("a status") {
                break status;
            }
            assert!(asked_at.elapsed() < STOP_MAX, "the server does not stop");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(status.success(), "{status}");
    }

    /// Where the server listens.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}/", self.port)
    }

    /// Where the Mongo door listens, on a server started with `--mongo-port 0`.
    pub fn mongo_url(&self) -> String {
        let port = self.mongo_port.expect("a Mongo door");
        format!("mongodb://127.0.0.1:{port}/")
    }

    /// A client as a user would build it: HTTP/2 and binary bodies by default.
    pub async fn client(&self) -> CosmosClient {
        self.client_with(KEY, "http").await.expect("a client")
    }

    /// A client with another key or scheme. In a runtime of its own: clients of one runtime share the first one's key.
    pub async fn client_with(
        &self,
        key: &'static str,
        scheme: &str,
    ) -> Result<CosmosClient, CosmosError> {
        let account = AccountReference::with_authentication_key(
            self.url(scheme).parse().expect("an endpoint"),
            key,
        );
        let pool = ConnectionPoolOptionsBuilder::new()
            .with_server_certificate_validation(ServerCertificateValidation::RequiredUnlessEmulator)
            .build()
            .expect("a pool");
        let runtime = CosmosRuntime::builder()
            .with_connection_pool(pool)
            .build()
            .await?;
        CosmosClient::builder()
            .with_runtime(runtime)
            .build(account, RoutingStrategy::ProximityTo("East US".into()))
            .await
    }

    /// A database with a name nobody has used.
    pub async fn database(&self) -> DatabaseClient {
        let client = self.client().await;
        let name = fresh("db");
        client
            .create_database(&name, None)
            .await
            .expect("a database");
        client.database_client(name)
    }

    /// A container by `/pk` in a database of its own.
    pub async fn container(&self) -> ContainerClient {
        make(&self.database().await, properties()).await
    }

    /// Calls the server's own API; returns the status and the body.
    pub fn admin(&self, method: &str, path: &str, body: &str) -> (u16, serde_json::Value) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("a status");
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    /// Moves the virtual clock ("30d", "1ms") and says what it shows, in milliseconds.
    pub fn advance(&self, span: &str) -> u64 {
        let (status, body) = self.admin(
            "POST",
            "/_lapsedb/clock",
            &format!(r#"{{"advance":"{span}"}}"#),
        );
        assert_eq!(status, 200, "{body}");
        body["nowMillis"].as_u64().expect("a time")
    }

    /// Moves the virtual clock to the start of a second, so that `_ts` is exact.
    pub fn align(&self) -> u64 {
        let now = self.admin("GET", "/_lapsedb/clock", "").1["nowMillis"]
            .as_u64()
            .expect("a time");
        self.advance(&format!("{}ms", 1000 - now % 1000))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // The test is over; nobody waits for a graceful end.
            let _ = process.kill();
            let _ = process.wait();
        }
        let _ = std::fs::remove_dir_all(&self.store);
    }
}

/// Properties of a container by `/pk`, with a name nobody has used.
pub fn properties() -> ContainerProperties {
    ContainerProperties::new(fresh("c"), "/pk".into())
}

/// Creates the container and opens it.
pub async fn make(database: &DatabaseClient, properties: ContainerProperties) -> ContainerClient {
    let name = properties.id.to_string();
    let throughput = ThroughputProperties::manual(ROOMY_THROUGHPUT);
    let options = CreateContainerOptions::default().with_throughput(throughput);
    database
        .create_container(properties, Some(options))
        .await
        .expect("a container");
    database
        .container_client(name, None)
        .await
        .expect("a container client")
}

/// A name nobody has used.
pub fn fresh(prefix: &str) -> String {
    format!("{prefix}-{}-{}", std::process::id(), number())
}

fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The HTTP status of a refusal.
#[track_caller]
pub fn status<T>(result: Result<T, CosmosError>) -> u16 {
    match result {
        Ok(_) => panic!("went through"),
        Err(error) => error.status().status_code().into(),
    }
}
