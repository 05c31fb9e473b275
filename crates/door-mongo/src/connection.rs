//! One connection: a message in, a message out, until one side has enough.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use lapsedb_service::Clock;
use lapsedb_service::documents::{Fault, Gone};
use lapsedb_service::operations::Line;
use lapsedb_service::remote::Pace;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{timeout, timeout_at};

use crate::auth::{Login, Session};
use crate::call::{self, Answered};
use crate::door::{Counted, Door};
use crate::noted::Noted;
use crate::unwinding::caught;
use crate::wire::{self, HEADER_BYTES, Header, Incoming, MESSAGE_BYTES_MAX, Message, OpMsg};

/// Bytes of a message before its sender has logged in, where that is asked.
const MESSAGE_BYTES_MAX_BEFORE_LOGIN: usize = 16 * 1024;
/// How long a connection without a login may be silent, where a login is asked. Drivers that watch the server never log in, but
/// greet every ten seconds unless they are told otherwise.
const SILENT_SECONDS_MAX_BEFORE_LOGIN: u64 = 180;
/// How long a client may read nothing of a reply that waits for it.
const STALLED_SECONDS_MAX: u64 = 180;

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
    /// Where others see what it does.
    pub(crate) line: Arc<Line>,
    /// Says whether the client has gone.
    pub(crate) gone: Option<Gone>,
}

/// A connection that is counted and listed, until this is dropped, however the connection ends.
struct Open<'d> {
    door: &'d Door,
    line: Arc<Line>,
}

impl<'d> Open<'d> {
    fn new(door: &'d Door, line: &Arc<Line>) -> Open<'d> {
        door.connections.open.fetch_add(1, Ordering::Relaxed);
        let line = Arc::clone(line);
        Open { door, line }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let operations = &self.door.service.documents_state().operations;
        operations.close(&self.line);
        self.door.connections.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How patient the door is with a connection.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The least rate of a message, from its first byte to its last.
    pub pace: Pace,
    /// How long a connection without a login may be silent, where a login is asked.
    pub silence_before_login: Duration,
    /// How long a client may read nothing of a reply that waits for it.
    pub stalled: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            pace: Pace::default(),
            silence_before_login: Duration::from_secs(SILENT_SECONDS_MAX_BEFORE_LOGIN),
            stalled: Duration::from_secs(STALLED_SECONDS_MAX),
        }
    }
}

/// What a message may be, and how long it may take.
struct Limits {
    bytes: usize,
    pace: Pace,
    silence: Option<Duration>,
}

impl Connection {
    fn limits(&self, door: &Door) -> Limits {
        if self.is_known(door) {
            Limits {
                bytes: MESSAGE_BYTES_MAX,
                pace: door.patience.pace,
                silence: None,
            }
        } else {
            Limits {
                bytes: MESSAGE_BYTES_MAX_BEFORE_LOGIN,
                pace: door.patience.pace,
                silence: Some(door.patience.silence_before_login),
            }
        }
    }

    /// Whether its client has logged in, or need not.
    fn is_known(&self, door: &Door) -> bool {
        !door.settings.auth || self.login.is_some()
    }
}

/// Why a connection ended.
enum End {
    /// The client went, or the server stops.
    Done,
    /// What came was no message, or it did not come in time.
    Malformed(wire::Malformed),
}

/// What a client has sent.
enum Received {
    /// A message.
    Whole(Box<Incoming>),
    /// A frame that was whole, but more than is allowed: the number that is answered.
    Refused(i32, wire::Malformed),
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
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Peer,
        stop: impl Future<Output = ()>,
    ) {
        self.serve_observed(stream, peer, stop, None, |_| ()).await;
    }

    /// The same; a command whose client has gone, as `gone` says, ends where it looks for its time limit, and after every
    /// message `observe` hears whether its client has logged in, or need not.
    pub async fn serve_observed(
        self: &Arc<Self>,
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Peer,
        stop: impl Future<Output = ()>,
        gone: Option<Gone>,
        observe: impl Fn(bool),
    ) {
        let number = self.connections.made.fetch_add(1, Ordering::Relaxed) + 1;
        let number = i32::try_from(number & 0x7FFF_FFFF).unwrap_or(i32::MAX);
        let operations = &self.service.documents_state().operations;
        let mut connection = Connection {
            number,
            peer,
            login: None,
            sasl: None,
            app_name: None,
            closing: false,
            line: operations.open(number, peer.client.to_string()),
            gone,
        };
        let _open = Open::new(self, &connection.line);
        let mut stop = std::pin::pin!(stop);
        let mut inbox = BytesMut::new();
        // A message to be executed again, unasked: the next batch of a cursor.
        let mut again = None;
        while !connection.closing {
            let next = async {
                match again.take() {
                    Some(message) => Ok(Received::Whole(message)),
                    None => receive(&mut stream, &mut inbox, &connection.limits(self)).await,
                }
            };
            let received = tokio::select! {
                biased;
                () = stop.as_mut() => break,
                received = next => received,
            };
            if received.is_ok() {
                observe(connection.is_known(self));
            }
            let ended = match received {
                Ok(Received::Whole(message)) => {
                    let came = u64::try_from(message.bytes).unwrap_or(0);
                    operations.traffic.came.fetch_add(came, Ordering::Relaxed);
                    self.answer(&mut stream, &mut connection, message).await
                }
                Ok(Received::Refused(number, why)) => {
                    self.refuse(&mut stream, number, &why).await.map(|()| None)
                }
                Err(end) => Err(end),
            };
            observe(connection.is_known(self));
            match ended {
                Ok(message) => again = message,
                Err(End::Done) => break,
                Err(End::Malformed(error)) => {
                    tracing::warn!(client = %peer.client, %error, "a Mongo connection is closed: what came is no message");
                    break;
                }
            }
        }
        let _ = stream.shutdown().await;
    }

    /// Answers a message; says what is to be executed again, if its client takes several answers and there is more.
    async fn answer(
        self: &Arc<Self>,
        stream: &mut (impl AsyncWrite + Unpin),
        connection: &mut Connection,
        mut incoming: Box<Incoming>,
    ) -> Result<Option<Box<Incoming>>, End> {
        let start = Clock::monotonic();
        let noted = Noted::begin(self, connection, &mut incoming);
        let (wanted, again) = match &incoming.message {
            Message::Msg(msg) => (!msg.more_to_come, fetches_all(msg).then(|| msg.clone())),
            Message::Query(_) => (true, None),
        };
        let answered = self.run(connection, incoming.message).await;
        let Answered {
            command,
            code,
            document,
            form,
            more,
        } = answered;
        let took = start.elapsed();
        noted.answered(command, code.is_none(), took);
        (self.count)(Counted {
            command,
            code,
            took,
        });
        if !wanted || connection.closing {
            return Ok(None);
        }
        let reply_id = self.reply_id();
        let again = again.filter(|_| more);
        let bytes = match form {
            call::Form::Msg => wire::reply(
                incoming.request_id,
                reply_id,
                incoming.compressor,
                again.is_some(),
                document,
            ),
            call::Form::Old { failed } => {
                wire::old_reply(incoming.request_id, reply_id, failed, document)
            }
        };
        let went = u64::try_from(bytes.len()).unwrap_or(0);
        let traffic = &self.service.documents_state().operations.traffic;
        traffic.went.fetch_add(went, Ordering::Relaxed);
        send(stream, &bytes, self.patience.stalled).await?;
        // The next answer answers this one.
        Ok(again.map(|msg| {
            Box::new(Incoming {
                bytes: 0,
                request_id: reply_id,
                compressor: incoming.compressor,
                message: Message::Msg(msg),
            })
        }))
    }

    /// Runs the command of a message. A panic that nobody has caught before is answered too.
    async fn run(self: &Arc<Self>, connection: &mut Connection, message: Message) -> Answered {
        let (ran, form) = match message {
            Message::Msg(msg) => {
                let ran = caught(call::run(self, connection, msg)).await;
                (ran, call::Form::Msg)
            }
            Message::Query(query) => {
                let ran = caught(call::run_old(self, connection, query)).await;
                (ran, call::Form::Old { failed: false })
            }
        };
        ran.unwrap_or_else(|panicked| {
            let fault = panicked.fault("other");
            call::failed(self, "other", &fault, form)
        })
    }

    /// Answers a frame that held more than is allowed.
    async fn refuse(
        self: &Arc<Self>,
        stream: &mut (impl AsyncWrite + Unpin),
        request_id: i32,
        why: &wire::Malformed,
    ) -> Result<(), End> {
        let Some(refusal) = why.refusal.filter(|refusal| refusal.wanted) else {
            return Ok(());
        };
        let fault = Fault::new(refusal.code, why.text.as_str());
        let answered = call::failed(self, "other", &fault, call::Form::Msg);
        (self.count)(Counted {
            command: answered.command,
            code: answered.code,
            took: Duration::ZERO,
        });
        let id = self.reply_id();
        let bytes = wire::reply(request_id, id, None, false, answered.document);
        send(stream, &bytes, self.patience.stalled).await
    }
}

/// Sends a reply. A client that stops reading it is given up after a while: it would hold its connection for ever.
async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    stalled: Duration,
) -> Result<(), End> {
    let late = |_| End::from(slow("a reply was not read", stalled));
    while !bytes.is_empty() {
        let sent = timeout(stalled, stream.write(bytes))
            .await
            .map_err(late)??;
        if sent == 0 {
            return Err(End::Done);
        }
        bytes.advance(sent);
    }
    timeout(stalled, stream.flush()).await.map_err(late)??;
    Ok(())
}

/// Whether a message asks for all batches of a cursor, one after the other.
fn fetches_all(msg: &OpMsg) -> bool {
    let getting = msg.body.keys().next().is_some_and(|name| name == "getMore");
    msg.exhaust_allowed && !msg.more_to_come && getting
}

/// The next message. What came with it beyond its end stays in the inbox.
async fn receive(
    stream: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    limits: &Limits,
) -> Result<Received, End> {
    if inbox.is_empty() {
        begin(stream, inbox, limits).await?;
    }
    // Most messages come whole with the first read, and need no timer.
    let header = match whole(inbox, limits)? {
        Some(header) => header,
        None => {
            let pace = Some((limits.pace, Clock::monotonic()));
            fill(stream, inbox, HEADER_BYTES, pace).await?;
            let header = header_of(inbox, limits)?.ok_or(End::Done)?;
            fill(stream, inbox, HEADER_BYTES + header.payload_bytes, pace).await?;
            header
        }
    };
    let whole = HEADER_BYTES + header.payload_bytes;
    let payload = inbox.get(HEADER_BYTES..whole).unwrap_or_default();
    let read = wire::read(&header, payload);
    inbox.advance(whole);
    if inbox.is_empty() && inbox.capacity() > INBOX_BYTES_KEPT {
        // One large message must not cost its memory for as long as the connection lives.
        *inbox = BytesMut::new();
    }
    match read {
        Ok(incoming) => Ok(Received::Whole(Box::new(incoming))),
        Err(why) if why.refusal.is_some() => Ok(Received::Refused(header.request_id, why)),
        Err(why) => Err(why.into()),
    }
}

/// Waits for the first bytes of a message.
async fn begin(
    stream: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    limits: &Limits,
) -> Result<(), End> {
    match limits.silence {
        None => fill(stream, inbox, 1, None).await,
        Some(silence) => timeout(silence, fill(stream, inbox, 1, None))
            .await
            .map_err(|_| slow("a client without a login was silent", silence))?,
    }
}

/// The header, if it is there.
fn header_of(inbox: &BytesMut, limits: &Limits) -> Result<Option<Header>, wire::Malformed> {
    match inbox.split_first_chunk::<HEADER_BYTES>() {
        Some((header, _)) => Header::read(header, limits.bytes).map(Some),
        None => Ok(None),
    }
}

/// The header, if the whole message is there.
fn whole(inbox: &BytesMut, limits: &Limits) -> Result<Option<Header>, wire::Malformed> {
    let header = header_of(inbox, limits)?;
    Ok(header.filter(|header| inbox.len() >= HEADER_BYTES + header.payload_bytes))
}

/// Reads until so many bytes are there, no slower than the pace from a time on allows. Memory is taken only as bytes come, whatever was claimed.
async fn fill(
    stream: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    wanted: usize,
    pace: Option<(Pace, Instant)>,
) -> Result<(), End> {
    while inbox.len() < wanted {
        let lacking = wanted - inbox.len();
        inbox.reserve(lacking.clamp(INBOX_STEP_BYTES, INBOX_STEP_BYTES_MAX));
        let deadline = pace.map(|(pace, began)| pace.deadline(began, inbox.len()));
        let read = stream.read_buf(inbox);
        let read = match deadline {
            None => read.await?,
            Some(deadline) => timeout_at(deadline.into(), read)
                .await
                .map_err(|_| too_slow(pace))??,
        };
        if read == 0 {
            return Err(End::Done);
        }
    }
    Ok(())
}

fn too_slow(pace: Option<(Pace, Instant)>) -> wire::Malformed {
    let pace = pace.map_or_else(Pace::default, |(pace, _)| pace);
    wire::Malformed {
        text: format!(
            "a message came too slowly: after {} seconds, at least {} bytes a second are expected",
            pace.grace.as_secs(),
            pace.bytes_per_second
        ),
        refusal: None,
    }
}

fn slow(what: &str, limit: Duration) -> wire::Malformed {
    wire::Malformed {
        text: format!("{what} after {} seconds", limit.as_secs()),
        refusal: None,
    }
}
