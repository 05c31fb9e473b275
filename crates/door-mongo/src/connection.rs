//! One connection: a message in, a message out, until one side has enough.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::BytesMut;
use lapsedb_service::documents::{Fault, Gone};
use lapsedb_service::operations::Line;
use lapsedb_service::remote::Pace;
use lapsedb_service::{Clock, Counting, Service, caught};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::auth::{Login, Session};
use crate::awaiting;
use crate::call::{self, Answered};
use crate::door::{Counted, Door};
use crate::noted::Noted;
use crate::transfer::{End, Limits, Received, receive, send};
use crate::unwinding;
use crate::wire::{self, Compressor, Incoming, MESSAGE_BYTES_MAX, Message, OpMsg, ReplyForm};

/// Bytes of a message before its sender has logged in, where that is asked.
const MESSAGE_BYTES_MAX_BEFORE_LOGIN: usize = 16 * 1024;
/// How long a connection without a login may be silent, where a login is asked. Drivers that watch the server never log in, but
/// greet every ten seconds unless they are told otherwise.
const SILENT_SECONDS_MAX_BEFORE_LOGIN: u64 = 180;
/// How long a client may read nothing of a reply that waits for it.
const STALLED_SECONDS_MAX: u64 = 180;

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
    /// What counts its messages.
    pub(crate) counting: Counting,
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

impl Connection {
    fn new(door: &Door, peer: Peer, gone: Option<Gone>) -> Connection {
        let number = door.connections.made.fetch_add(1, Ordering::Relaxed) + 1;
        let number = i32::try_from(number & 0x7FFF_FFFF).unwrap_or(i32::MAX);
        let operations = &door.service.documents_state().operations;
        Connection {
            number,
            peer,
            login: None,
            sasl: None,
            app_name: None,
            closing: false,
            line: operations.open(number, peer.client.to_string()),
            gone,
            counting: Counting::new(&door.service),
        }
    }

    /// Counts its messages by a budget of which nothing was said yet.
    fn count_anew_if_stopped(&mut self, service: &Service) {
        if self.counting.budget().stopped().is_some() {
            self.counting = Counting::new(service);
        }
    }

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
        let operations = &self.service.documents_state().operations;
        let mut connection = Connection::new(self, peer, gone);
        let _open = Open::new(self, &connection.line);
        let mut stop = std::pin::pin!(stop);
        let mut inbox = BytesMut::new();
        // A message to be executed again, unasked: the next batch of a cursor.
        let mut again = None;
        while !connection.closing {
            let limits = connection.limits(self);
            let next = async {
                match again.take() {
                    Some(message) => Ok(Received::Whole(message)),
                    None => receive(&mut stream, &mut inbox, &limits, &connection.counting).await,
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
                    let wait = self.wait_before(&message, &mut stream, &mut inbox);
                    let stays = tokio::select! {
                        biased;
                        () = stop.as_mut() => false,
                        stays = wait => stays,
                    };
                    if !stays {
                        break;
                    }
                    let quiet = inbox.is_empty();
                    self.answer(&mut stream, &mut connection, message, quiet)
                        .await
                }
                Ok(Received::Refused(number, why)) => {
                    connection.counting = Counting::new(&self.service);
                    let counting = &connection.counting;
                    let refused = self.refuse(&mut stream, number, &why, counting).await;
                    refused.map(|()| None)
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

    /// Puts the answer to a message off as long as it asks for; false, if its client has gone meanwhile.
    async fn wait_before(
        &self,
        message: &Incoming,
        stream: &mut (impl AsyncRead + Unpin),
        inbox: &mut BytesMut,
    ) -> bool {
        match awaiting::pause(self, message) {
            Some(pause) => awaiting::idle(stream, inbox, pause).await,
            None => true,
        }
    }

    /// Answers a message; says what is to be executed again, if its client takes several answers and there is more. A client that
    /// is not quiet, because it has sent the next message already, is greeted once.
    async fn answer(
        self: &Arc<Self>,
        stream: &mut (impl AsyncWrite + Unpin),
        connection: &mut Connection,
        mut incoming: Box<Incoming>,
        quiet: bool,
    ) -> Result<Option<Box<Incoming>>, End> {
        let start = Clock::monotonic();
        let compressor = incoming.compressor;
        let compressed = incoming.bytes.saturating_sub(wire::COMPRESSED_HEADER_BYTES);
        self.compression
            .decompressed(compressor, (compressed, incoming.unpacked));
        let noted = Noted::begin(self, connection, &mut incoming);
        let wanted = incoming.awaited_reply() != ReplyForm::Nothing;
        let (again, greeting) = match &incoming.message {
            Message::Msg(msg) => (
                fetches_all(msg).then(|| msg.clone()),
                awaiting::repeated(self, msg).filter(|_| quiet),
            ),
            Message::Query(_) => (None, None),
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
        noted.recorded(self, connection, (command, &document), took);
        noted.answered(command, code.is_none(), took);
        (self.count)(Counted {
            command,
            code,
            took,
        });
        if !wanted || connection.closing {
            connection.counting.clear();
            return Ok(None);
        }
        // A command that was stopped has ended by it; what follows is counted anew.
        connection.count_anew_if_stopped(&self.service);
        let reply_id = self.reply_id();
        let again = again.filter(|_| more);
        let again = again.or_else(|| greeting.filter(|_| code.is_none()));
        let numbers = (incoming.request_id, reply_id);
        let bytes = self.framed(form, numbers, (compressor, again.is_some()), document);
        self.send(stream, connection, &bytes).await?;
        // The next answer answers this one.
        Ok(again.map(|msg| {
            Box::new(Incoming {
                bytes: 0,
                unpacked: 0,
                request_id: reply_id,
                compressor,
                message: Message::Msg(msg),
            })
        }))
    }

    /// A reply as it goes over the wire, with the numbers of the message and its own; packed, if it is to be, and counted so.
    fn framed(
        &self,
        form: call::Form,
        (request_id, reply_id): (i32, i32),
        (compressor, more): (Option<Compressor>, bool),
        document: Vec<u8>,
    ) -> Vec<u8> {
        match form {
            call::Form::Msg => {
                let before = document.len().saturating_sub(wire::HEADER_BYTES);
                let bytes = wire::reply(request_id, reply_id, compressor, more, document);
                let after = bytes.len().saturating_sub(wire::COMPRESSED_HEADER_BYTES);
                self.compression.compressed(compressor, (before, after));
                bytes
            }
            call::Form::Old { failed } => wire::old_reply(request_id, reply_id, failed, document),
        }
    }

    /// Sends a reply, which is counted until it is sent.
    async fn send(
        &self,
        stream: &mut (impl AsyncWrite + Unpin),
        connection: &mut Connection,
        bytes: &[u8],
    ) -> Result<(), End> {
        let went = u64::try_from(bytes.len()).unwrap_or(0);
        let traffic = &self.service.documents_state().operations.traffic;
        traffic.went.fetch_add(went, Ordering::Relaxed);
        connection.counting.clear();
        connection.counting.put(bytes.len());
        let stalled = self.patience.stalled;
        send(stream, bytes, stalled, &connection.counting).await?;
        connection.counting.clear();
        // Or too late: all is sent, and nothing is held any more.
        connection.count_anew_if_stopped(&self.service);
        Ok(())
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
            let fault = unwinding::fault(&panicked, "other");
            call::failed(self, "other", &fault, form)
        })
    }

    /// Answers a frame that held more than is allowed.
    async fn refuse(
        self: &Arc<Self>,
        stream: &mut (impl AsyncWrite + Unpin),
        request_id: i32,
        why: &wire::Malformed,
        counting: &Counting,
    ) -> Result<(), End> {
        let Some(refusal) = why.refusal else {
            return Ok(());
        };
        let form = match refusal.reply {
            ReplyForm::Nothing => return Ok(()),
            ReplyForm::Msg => call::Form::Msg,
            ReplyForm::Old => call::Form::Old { failed: false },
        };
        let fault = Fault::new(refusal.code, why.text.as_str());
        let answered = call::failed(self, "other", &fault, form);
        (self.count)(Counted {
            command: answered.command,
            code: answered.code,
            took: Duration::ZERO,
        });
        let id = self.reply_id();
        let bytes = match answered.form {
            call::Form::Msg => wire::reply(request_id, id, None, false, answered.document),
            call::Form::Old { failed } => {
                wire::old_reply(request_id, id, failed, answered.document)
            }
        };
        send(stream, &bytes, self.patience.stalled, counting).await
    }
}

/// Whether a message asks for all batches of a cursor, one after the other.
fn fetches_all(msg: &OpMsg) -> bool {
    let getting = msg.body.keys().next().is_some_and(|name| name == "getMore");
    msg.exhaust_allowed && !msg.more_to_come && getting
}
