//! One connection: a message in, a message out, until one side has enough.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Buf, BytesMut};
use lapsedb_service::Clock;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::auth::{Login, Session};
use crate::call::{self, Answered};
use crate::door::{Counted, Door};
use crate::wire::{self, HEADER_BYTES, Header, Incoming, MESSAGE_BYTES_MAX, Message};

/// Bytes of a message before its sender has logged in, where that is asked.
const MESSAGE_BYTES_MAX_BEFORE_LOGIN: usize = 16 * 1024;

/// Room that is made for what comes: most messages fit, and come with one read.
const INBOX_STEP_BYTES: usize = 4 * 1024;
/// The same for a long message.
const INBOX_STEP_BYTES_MAX: usize = 256 * 1024;
/// Memory an idle connection keeps for its next message.
const INBOX_BYTES_KEPT: usize = 64 * 1024;

/// The two ends of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Where the client is.
    pub client: SocketAddr,
    /// Where it came to.
    pub server: SocketAddr,
    /// Whether nobody can listen in.
    pub tls: bool,
}

/// What a connection knows of itself.
pub(crate) struct Connection {
    pub(crate) number: i32,
    pub(crate) peer: Peer,
    pub(crate) login: Option<Login>,
    pub(crate) sasl: Option<Session>,
    /// What the client's program calls itself.
    pub(crate) app_name: Option<String>,
    /// Closes after the answer.
    pub(crate) closing: bool,
}

impl Connection {
    fn message_bytes_max(&self, door: &Door) -> usize {
        if door.settings.auth && self.login.is_none() {
            MESSAGE_BYTES_MAX_BEFORE_LOGIN
        } else {
            MESSAGE_BYTES_MAX
        }
    }
}

/// Why a connection ended.
enum End {
    /// The client went, or the server stops.
    Done,
    /// What came was no message.
    Malformed(wire::Malformed),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> End {
        End::Done
    }
}

impl From<wire::Malformed> for End {
    fn from(malformed: wire::Malformed) -> End {
        End::Malformed(malformed)
    }
}

impl Door {
    /// Serves one connection to its end; `stop` ends it between two messages.
    pub async fn serve(
        self: &Arc<Self>,
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Peer,
        stop: impl Future<Output = ()>,
    ) {
        let number = self.connections.made.fetch_add(1, Ordering::Relaxed) + 1;
        self.connections.open.fetch_add(1, Ordering::Relaxed);
        let mut connection = Connection {
            number: i32::try_from(number & 0x7FFF_FFFF).unwrap_or(i32::MAX),
            peer,
            login: None,
            sasl: None,
            app_name: None,
            closing: false,
        };
        let mut stop = std::pin::pin!(stop);
        let mut inbox = BytesMut::new();
        while !connection.closing {
            let ended = tokio::select! {
                message = receive(&mut stream, &mut inbox, self, &connection) => match message {
                    Ok(message) => self.answer(&mut stream, &mut connection, message).await,
                    Err(end) => Err(end),
                },
                () = stop.as_mut() => break,
            };
            match ended {
                Ok(()) => {}
                Err(End::Done) => break,
                Err(End::Malformed(error)) => {
                    tracing::warn!(client = %peer.client, %error, "a Mongo connection is closed: what came is no message");
                    break;
                }
            }
        }
        let _ = stream.shutdown().await;
        self.connections.open.fetch_sub(1, Ordering::Relaxed);
    }

    async fn answer(
        self: &Arc<Self>,
        stream: &mut (impl AsyncWrite + Unpin),
        connection: &mut Connection,
        incoming: Incoming,
    ) -> Result<(), End> {
        let start = Clock::monotonic();
        let wanted = match &incoming.message {
            Message::Msg(msg) => !msg.more_to_come,
            Message::Query(_) => true,
        };
        let answered = match incoming.message {
            Message::Msg(msg) => call::run(self, connection, msg).await,
            Message::Query(query) => call::run_old(self, connection, query).await,
        };
        let Answered {
            command,
            code,
            document,
            form,
        } = answered;
        (self.count)(Counted {
            command,
            code,
            took: start.elapsed(),
        });
        if !wanted || connection.closing {
            return Ok(());
        }
        let bytes = match form {
            call::Form::Msg => wire::reply(
                incoming.request_id,
                self.reply_id(),
                incoming.compressor,
                document,
            ),
            call::Form::Old { failed } => {
                wire::old_reply(incoming.request_id, self.reply_id(), failed, document)
            }
        };
        stream.write_all(&bytes).await?;
        stream.flush().await?;
        Ok(())
    }
}

/// The next message. What came with it beyond its end stays in the inbox.
async fn receive(
    stream: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    door: &Door,
    connection: &Connection,
) -> Result<Incoming, End> {
    fill(stream, inbox, HEADER_BYTES).await?;
    let Some((header, _)) = inbox.split_first_chunk::<HEADER_BYTES>() else {
        return Err(End::Done);
    };
    let header = Header::read(header, connection.message_bytes_max(door))?;
    let whole = HEADER_BYTES + header.payload_bytes;
    fill(stream, inbox, whole).await?;
    let payload = inbox.get(HEADER_BYTES..whole).unwrap_or_default();
    let incoming = wire::read(&header, payload)?;
    inbox.advance(whole);
    if inbox.is_empty() && inbox.capacity() > INBOX_BYTES_KEPT {
        // One large message must not cost its memory for as long as the connection lives.
        *inbox = BytesMut::new();
    }
    Ok(incoming)
}

/// Reads until so many bytes are there. Memory is taken only as bytes come, whatever was claimed.
async fn fill(
    stream: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    wanted: usize,
) -> Result<(), End> {
    while inbox.len() < wanted {
        let lacking = wanted - inbox.len();
        inbox.reserve(lacking.clamp(INBOX_STEP_BYTES, INBOX_STEP_BYTES_MAX));
        if stream.read_buf(inbox).await? == 0 {
            return Err(End::Done);
        }
    }
    Ok(())
}
