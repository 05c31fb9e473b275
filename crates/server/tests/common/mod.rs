//! A server as a process of its own, and just enough HTTP to talk to it.

pub mod faulty_disk;
pub mod machine;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapsedb_testkit::TimeLimit;

/// The key that a server on a loopback address has by default.
pub const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// A key of an operator's own: 39 bytes that nobody publishes.
pub const OWN_KEY: &str = "b3duIGtleSBvd24ga2V5IG93biBrZXkgb3duIGtleSBvd24ga2V5";

/// How long a server may take for anything before a test gives up.
const PATIENCE: Duration = Duration::from_secs(300);

/// The program without any setting of the environment.
pub fn program() -> Command {
    let mut command = Command::new(lapsedb_testkit::binary());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LAPSEDB_")) {
        command.env_remove(name);
    }
    command
}

/// Runs the program to its end.
pub fn run(args: &[&str]) -> Output {
    let mut program = program();
    program.args(args);
    output(program)
}

/// Runs a command to its end. One that never ends is ended with the test.
pub fn output(mut command: Command) -> Output {
    let limit = TimeLimit::start();
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    limit.set_child(Some(child.id()));
    child.wait_with_output().unwrap()
}

/// A running server; killed when the test forgets it.
pub struct Server {
    child: Child,
    /// The NoSQL door.
    pub address: SocketAddr,
    /// The line that said so.
    pub ready: String,
    _limit: TimeLimit,
}

impl Server {
    /// Starts a server on any free port and waits until it is ready.
    pub fn start(args: &[&str]) -> Server {
        let mut command = program();
        command.args(["--log-level", "warn"]);
        Server::start_by(command, args)
    }

    /// Starts a server by a command that already has some of its settings.
    pub fn start_by(mut command: Command, args: &[&str]) -> Server {
        let limit = TimeLimit::start();
        if !args.contains(&"--mongo-port") {
            command.args(["--mongo-port", "off"]);
        }
        let mut child = command
            .args(["--port", "0"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        limit.set_child(Some(child.id()));
        let mut ready = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut ready).unwrap();
        // The rest is read by the test that asks whether there is more.
        child.stdout = Some(out.into_inner());
        let address = ready
            .trim_end()
            .strip_prefix("ready nosql=")
            .unwrap_or_else(|| panic!("{ready:?}"));
        let address = address.split(' ').next().unwrap().parse().unwrap();
        Server {
            child,
            address,
            ready,
            _limit: limit,
        }
    }

    /// Starts a server on a folder.
    pub fn on(folder: &Path, args: &[&str]) -> Server {
        Server::start(&[&["--data-path", folder.to_str().unwrap()], args].concat())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([format!("-{name}"), self.pid().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Waits for the end; gives the exit status and what was printed after the ready line.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut rest)
            .unwrap();
        (self.child.wait().unwrap(), rest)
    }

    /// Ends the server at once, as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Calls the admin API with the master key.
    pub fn admin(&self, method: &str, path: &str, body: &str) -> Reply {
        let authorization = format!("authorization: Bearer {KEY}");
        self.call(method, path, &[&authorization], body)
    }

    /// Calls the NoSQL door, signed with the master key.
    pub fn cosmos(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        self.cosmos_after(0, method, path, headers, body)
    }

    /// The same, signed with a date so many seconds from the present.
    pub fn cosmos_after(
        &self,
        seconds: i64,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &str,
    ) -> Reply {
        let own = signature(method, path, &http_date(seconds));
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        self.call(method, path, &[&own, headers].concat(), body)
    }

    /// One plain request on a connection of its own.
    pub fn call(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        let mut stream = self.connect();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
            self.address
        )
        .unwrap();
        for header in headers {
            write!(stream, "{header}\r\n").unwrap();
        }
        write!(stream, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        Reply::read(stream)
    }

    /// A plain connection.
    pub fn connect(&self) -> TcpStream {
        connect(self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// The lines before the body.
    pub head: String,
    pub body: String,
}

impl Reply {
    /// Reads until the other side closes.
    pub fn read(mut stream: impl Read) -> Reply {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply {
            status,
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    /// The text of a member of a flat JSON object.
    pub fn member(&self, name: &str) -> &str {
        let (_, rest) = self
            .body
            .split_once(&format!("\"{name}\":"))
            .unwrap_or_else(|| panic!("{self:?}"));
        rest.split([',', '}']).next().unwrap()
    }
}

/// The headers that sign a request with the master key.
pub fn signature(method: &str, path: &str, date: &str) -> [String; 4] {
    use hmac::{Hmac, KeyInit, Mac};
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (kind, link) = match parts.len() {
        0 => ("", String::new()),
        odd if odd % 2 == 1 => (parts[odd - 1], parts[..odd - 1].join("/")),
        even => (parts[even - 2], parts.join("/")),
    };
    let payload = format!(
        "{}\n{kind}\n{link}\n{}\n\n",
        method.to_lowercase(),
        date.to_lowercase()
    );
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&STANDARD.decode(KEY).unwrap()).unwrap();
    mac.update(payload.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let signature = signature
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D");
    [
        format!("authorization: type%3Dmaster%26ver%3D1.0%26sig%3D{signature}"),
        format!("x-ms-date: {date}"),
        "x-ms-version: 2018-12-31".to_owned(),
        "content-type: application/json".to_owned(),
    ]
}

/// The wall's time so many seconds from now, as request signatures write it.
pub fn http_date(seconds: i64) -> String {
    let output = Command::new("date")
        .args(["-u", "-d", &format!("{seconds} seconds")])
        .arg("+%a, %d %b %Y %H:%M:%S GMT")
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
