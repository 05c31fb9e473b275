//! One connection that speaks OP_MSG, as a worker holds it.

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::bson::{self, Doc, Member};

const OP_MSG: i32 = 2013;
const HEADER_BYTES: usize = 16;
/// Flags and the kind of the first section.
const BODY_AT: usize = HEADER_BYTES + 5;
/// A server that answers more than this is not one we know.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// How much of a wrong answer is shown.
const SHOWN_BYTES_MAX: usize = 300;

/// A connection.
pub struct Client {
    stream: TcpStream,
    out: Vec<u8>,
    input: Vec<u8>,
    request_id: i32,
}

impl Client {
    /// Connects.
    pub async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await;
        let stream = stream.with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            out: Vec::new(),
            input: Vec::new(),
            request_id: 0,
        })
    }

    /// Sends a command, with documents behind it if any are given, and gives the answer's document: one that says `ok`.
    pub async fn call(&mut self, command: Doc, documents: &[&[u8]]) -> Result<&[u8]> {
        self.request_id += 1;
        self.out.clear();
        for number in [0, self.request_id, 0, OP_MSG, 0] {
            self.out.extend_from_slice(&number.to_le_bytes());
        }
        self.out.push(0);
        self.out.extend_from_slice(&command.finish());
        if !documents.is_empty() {
            self.sequence(documents);
        }
        let length = i32::try_from(self.out.len())?.to_le_bytes();
        self.out[..4].copy_from_slice(&length);
        self.stream.write_all(&self.out).await?;
        self.receive().await?;
        let answer = &self.input[BODY_AT..];
        let ok = bson::find(answer, &["ok"])?.and_then(Member::as_i64);
        if ok != Some(1) || bson::find(answer, &["writeErrors"])?.is_some() {
            let text = bson::find(answer, &["errmsg"])?.and_then(Member::as_text);
            let shown = String::from_utf8_lossy(&answer[..answer.len().min(SHOWN_BYTES_MAX)]);
            bail!("a command failed: {}", text.unwrap_or(&shown));
        }
        Ok(answer)
    }

    fn sequence(&mut self, documents: &[&[u8]]) {
        const NAME: &[u8] = b"documents\0";
        self.out.push(1);
        let bytes: usize = documents.iter().map(|document| document.len()).sum();
        let size = i32::try_from(4 + NAME.len() + bytes).unwrap_or(i32::MAX);
        self.out.extend_from_slice(&size.to_le_bytes());
        self.out.extend_from_slice(NAME);
        for document in documents {
            self.out.extend_from_slice(document);
        }
    }

    /// Takes in one whole message.
    async fn receive(&mut self) -> Result<()> {
        self.input.clear();
        loop {
            if let Some(length) = self.input.first_chunk::<4>() {
                let length = usize::try_from(i32::from_le_bytes(*length))?;
                if !(BODY_AT..=MESSAGE_BYTES_MAX).contains(&length) {
                    bail!("an answer says it has {length} bytes");
                }
                if self.input.len() >= length {
                    break;
                }
                self.input.reserve(length - self.input.len());
            }
            self.input.reserve(4096);
            if self.stream.read_buf(&mut self.input).await? == 0 {
                bail!("the connection broke");
            }
        }
        let number = |at: usize| {
            let four = self.input.get(at..).and_then(<[u8]>::first_chunk);
            four.map_or(0, |four| i32::from_le_bytes(*four))
        };
        if number(8) != self.request_id || number(12) != OP_MSG {
            bail!("the answer is to another request, or no OP_MSG");
        }
        Ok(())
    }
}
