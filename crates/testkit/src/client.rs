//! A plain HTTP/1.1 client that shows everything: it can send what no library would.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::binary_json;
use crate::sign::{Signer, http_date};

/// The version the client libraries name.
const API_VERSION: &str = "2020-07-15";
/// An answer that takes longer is a failure.
const ANSWER_SECONDS_MAX: u64 = 300;
/// A header line beyond this is no header.
const HEADER_LINE_BYTES_MAX: usize = 1 << 20;

/// One connection, opened when needed and kept.
pub struct Client {
    address: String,
    signer: Signer,
    stream: Option<BufReader<TcpStream>>,
}

/// What to send.
#[derive(Clone)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What came back.
#[derive(Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Header lines, as sent.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Client {
    /// A client of a server, with a key in base64.
    #[must_use]
    pub fn new(address: &str, key: &str) -> Client {
        Client {
            address: address.to_owned(),
            signer: Signer::new(key),
            stream: None,
        }
    }

    /// A signed request, ready for more headers and a body.
    #[must_use]
    pub fn request(&self, method: &str, path: &str) -> Request {
        let date = http_date(0);
        let authorization = self.signer.authorization(method, path, &date);
        Request::bare(method, path)
            .header("x-ms-date", &date)
            .header("x-ms-version", API_VERSION)
            .header("authorization", &authorization)
    }

    /// A request signed for another date.
    #[must_use]
    pub fn request_dated(&self, method: &str, path: &str, seconds_from_now: i64) -> Request {
        let date = http_date(seconds_from_now);
        let authorization = self.signer.authorization(method, path, &date);
        self.request(method, path)
            .header("x-ms-date", &date)
            .header("authorization", &authorization)
    }

    /// Sends a request and reads its answer. A connection that the server has closed while it lay idle is opened again.
    ///
    /// # Errors
    /// When no whole answer came: whether the request was carried out is not known then.
    pub fn send(&mut self, request: Request) -> io::Result<Reply> {
        let bytes = request.to_bytes(&self.address);
        let head = request.method == "HEAD";
        if let Some(stream) = self.stream.take()
            && let Ok(reply) = self.exchange(stream, &bytes, head)
        {
            return Ok(reply);
        }
        let stream = self.connect()?;
        self.exchange(stream, &bytes, head)
    }

    /// Sends a request that must be answered.
    pub fn must(&mut self, request: Request) -> Reply {
        let line = format!("{} {}", request.method, request.path);
        match self.send(request) {
            Ok(reply) => reply,
            Err(error) => panic!("{line} was not answered: {error}"),
        }
    }

    /// Sends bytes as they are on a connection of their own; none if the server closed it without an answer.
    #[must_use]
    pub fn raw(&self, bytes: &[u8]) -> Option<Reply> {
        let mut stream = self.connect().ok()?;
        // The server may close in the middle of what it refuses; its answer may still be there to read.
        let _refused = stream.get_mut().write_all(bytes);
        let _half_closed = stream.get_ref().shutdown(std::net::Shutdown::Write);
        read_reply(&mut stream, false).ok().map(|(reply, _)| reply)
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX)))?;
        stream.set_write_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX)))?;
        Ok(BufReader::new(stream))
    }

    fn exchange(
        &mut self,
        mut stream: BufReader<TcpStream>,
        bytes: &[u8],
        head: bool,
    ) -> io::Result<Reply> {
        // A server that refuses a body early answers before it has read all of it.
        let written = stream.get_mut().write_all(bytes);
        let (reply, reusable) = match read_reply(&mut stream, head) {
            Ok(answer) => answer,
            Err(error) => return Err(written.err().unwrap_or(error)),
        };
        if reusable && written.is_ok() {
            self.stream = Some(stream);
        }
        Ok(reply)
    }
}

impl Request {
    /// A request without any header of its own.
    #[must_use]
    pub fn bare(method: &str, path: &str) -> Request {
        Request {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Sets a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a line of a header that may be there already.
    #[must_use]
    pub fn another_header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Takes a header away.
    #[must_use]
    pub fn without(mut self, name: &str) -> Request {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// The partition key header: a JSON array as text.
    #[must_use]
    pub fn partition(self, key: &str) -> Request {
        self.header("x-ms-documentdb-partitionkey", key)
    }

    /// A JSON body.
    #[must_use]
    pub fn json(self, body: &Value) -> Request {
        self.body(body.to_string())
    }

    /// Any body, said to be JSON.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self.header("content-type", "application/json")
    }

    /// The admin API's authorisation.
    #[must_use]
    pub fn bearer(self, key: &str) -> Request {
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// The bytes on the wire.
    #[must_use]
    pub fn to_bytes(&self, host: &str) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\nhost: {host}\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
        let has_length = self
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if !has_length
            && (!self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH"))
        {
            out.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        out.push_str("\r\n");
        let mut bytes = out.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl Reply {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Whether the body is in binary JSON.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        binary_json::is_binary(&self.body)
    }

    /// The body as JSON, be it text or binary; null if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        if self.is_binary() {
            return binary_json::read(&self.body).unwrap_or(Value::Null);
        }
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The sub-status; 0 if there is none.
    #[must_use]
    pub fn sub_status(&self) -> u32 {
        self.header("x-ms-substatus")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    }

    /// An error's text: the sentences in it, and if it has none the message as it is.
    #[must_use]
    pub fn message(&self) -> String {
        let body = self.json();
        let message = body["message"].as_str().unwrap_or_default();
        let inner = message
            .strip_prefix("Message: ")
            .and_then(|rest| rest.split("\r\n").next())
            .and_then(|text| serde_json::from_str::<Value>(text).ok());
        let errors = inner.as_ref().and_then(|inner| inner["Errors"].as_array());
        match errors {
            Some(errors) => errors
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" "),
            None => message.to_owned(),
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(&self.body);
        let shown: String = text.chars().take(600).collect();
        write!(f, "{}/{} {shown}", self.status, self.sub_status())
    }
}

/// Reads one answer, and says whether the connection can be used again.
fn read_reply(stream: &mut BufReader<TcpStream>, head: bool) -> io::Result<(Reply, bool)> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    loop {
        let line = read_line(stream)?;
        let status: u16 = line
            .strip_prefix("HTTP/1.1 ")
            .or_else(|| line.strip_prefix("HTTP/1.0 "))
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| broken("not a status line"))?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(stream)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| broken("not a header"))?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut reply = Reply {
            status,
            headers,
            body: Vec::new(),
        };
        // An interim answer: the real one follows.
        if (100..200).contains(&status) {
            continue;
        }
        let close = reply
            .header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if head || status == 204 || status == 304 {
            return Ok((reply, !close));
        }
        if let Some(length) = reply.header("content-length") {
            let length: usize = length.parse().map_err(|_| broken("a bad length"))?;
            reply.body = vec![0; length];
            stream.read_exact(&mut reply.body)?;
            return Ok((reply, !close));
        }
        if reply.header("transfer-encoding").is_some() {
            reply.body = read_chunks(stream)?;
            return Ok((reply, !close));
        }
        stream.read_to_end(&mut reply.body)?;
        return Ok((reply, false));
    }
}

fn read_chunks(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(stream)?;
        let length = usize::from_str_radix(line.split(';').next().unwrap_or_default(), 16)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a bad chunk"))?;
        let at = body.len();
        body.resize(at + length, 0);
        stream.read_exact(&mut body[at..])?;
        let _end = read_line(stream)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = Vec::new();
    stream
        .take(HEADER_LINE_BYTES_MAX as u64)
        .read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}
