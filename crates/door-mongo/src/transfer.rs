//! Messages on their way: from a client's bytes, no slower than allowed, and to a client that reads them.

use std::io;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use lapsedb_service::remote::Pace;
use lapsedb_service::{COUNTED_BYTES_MIN, Clock, Counting, out_of_the_way};
use lapsedb_value::budget::Stop;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{timeout, timeout_at};

use crate::codes;
use crate::wire::{self, HEADER_BYTES, Header, Incoming, Refusal};

/// Room that is made for what comes: most messages fit, and come with one read.
const INBOX_STEP_BYTES: usize = 4 * 1024;
/// The same for a long message.
const INBOX_STEP_BYTES_MAX: usize = 256 * 1024;
/// Memory an idle connection keeps for its next message.
const INBOX_BYTES_KEPT: usize = 64 * 1024;

/// Bytes of a message whose reading takes milliseconds.
const LONG_MESSAGE_BYTES: usize = 1024 * 1024;

/// What a message may be, and how long it may take.
pub(crate) struct Limits {
    pub(crate) bytes: usize,
    pub(crate) pace: Pace,
    pub(crate) silence: Option<Duration>,
}

/// Why a connection ended.
pub(crate) enum End {
    /// The client went, or the server stops.
    Done,
    /// What came was no message, or it did not come in time.
    Malformed(wire::Malformed),
}

/// What a client has sent.
pub(crate) enum Received {
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

/// Sends a reply. A client that stops reading it is given up after a while: it would hold its connection for ever.
pub(crate) async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    stalled: Duration,
    counting: &Counting,
) -> Result<(), End> {
    let late = |_| End::from(slow("a reply was not read", stalled));
    while !bytes.is_empty() {
        let sent = tokio::select! {
            sent = timeout(stalled, stream.write(bytes)) => sent.map_err(late)??,
            stop = counting.stopped() => return Err(unread(stop).into()),
        };
        if sent == 0 {
            return Err(End::Done);
        }
        bytes.advance(sent);
    }
    timeout(stalled, stream.flush()).await.map_err(late)??;
    Ok(())
}

/// What is logged of a connection that is closed because its client does not read while memory is short.
fn unread(stop: Stop) -> wire::Malformed {
    wire::Malformed {
        text: format!("a reply was not read: {stop}"),
        refusal: None,
    }
}

/// The next message. What came with it beyond its end stays in the inbox.
pub(crate) async fn receive(
    stream: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    limits: &Limits,
    counting: &Counting,
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
            let whole = HEADER_BYTES + header.payload_bytes;
            let filled = fill_counted(stream, inbox, (whole, pace), counting).await?;
            if let Err(stop) = filled {
                counting.clear();
                return refused(stream, inbox, (&header, limits.pace), stop).await;
            }
            header
        }
    };
    let whole = HEADER_BYTES + header.payload_bytes;
    let payload = inbox.get(HEADER_BYTES..whole).unwrap_or_default();
    let bytes = whole + wire::unpacked_bytes(&header, payload);
    let admit = |more: usize| counting.set(bytes.saturating_add(more));
    let read = match counting.set(bytes) {
        Ok(()) if whole >= LONG_MESSAGE_BYTES => {
            out_of_the_way(|| wire::read(&header, payload, &admit))
        }
        Ok(()) => wire::read(&header, payload, &admit),
        Err(stop) => Err(no_memory(&header, payload, stop)),
    };
    inbox.advance(whole);
    if inbox.is_empty() && inbox.capacity() > INBOX_BYTES_KEPT {
        // One large message must not cost its memory for as long as the connection lives.
        *inbox = BytesMut::new();
    }
    let counted = read.and_then(|incoming| match counting.set(incoming.tree_bytes()) {
        Ok(()) => Ok(incoming),
        Err(stop) => Err(wire::Malformed {
            text: stop.to_string(),
            refusal: Some(Refusal {
                code: codes::EXCEEDED_MEMORY_LIMIT,
                reply: incoming.awaited_reply(),
            }),
        }),
    });
    match counted {
        Ok(incoming) => Ok(Received::Whole(Box::new(incoming))),
        Err(why) if why.refusal.is_some() => Ok(Received::Refused(header.request_id, why)),
        Err(why) => Err(why.into()),
    }
}

/// Refuses a message of which a part has come: the rest is read and forgotten, so that the client hears why.
async fn refused(
    stream: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    (header, pace): (&Header, Pace),
    stop: Stop,
) -> Result<Received, End> {
    let payload = inbox.get(HEADER_BYTES..).unwrap_or_default();
    let why = no_memory(header, payload, stop);
    let mut left = HEADER_BYTES + header.payload_bytes - inbox.len();
    *inbox = BytesMut::new();
    while left > 0 {
        // What has been read is forgotten, so each part has a time of its own.
        let pace = Some((pace, Clock::monotonic()));
        fill(stream, inbox, left.min(INBOX_BYTES_KEPT), pace).await?;
        let skipped = inbox.len().min(left);
        inbox.advance(skipped);
        left -= skipped;
    }
    Ok(Received::Refused(header.request_id, why))
}

/// What is answered to a message for which there is no memory.
fn no_memory(header: &Header, payload: &[u8], stop: Stop) -> wire::Malformed {
    wire::Malformed {
        text: stop.to_string(),
        refusal: Some(Refusal {
            code: codes::EXCEEDED_MEMORY_LIMIT,
            reply: wire::awaited_reply(header, payload),
        }),
    }
}

/// Reads a message to its end, counting what has come of it.
async fn fill_counted(
    stream: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    (wanted, pace): (usize, Option<(Pace, Instant)>),
    counting: &Counting,
) -> Result<Result<(), Stop>, End> {
    if wanted < COUNTED_BYTES_MIN {
        return fill(stream, inbox, wanted, pace).await.map(Ok);
    }
    while inbox.len() < wanted {
        let next = wanted.min(inbox.len() + INBOX_STEP_BYTES_MAX);
        if let Err(stop) = counting.set(next) {
            return Ok(Err(stop));
        }
        tokio::select! {
            filled = fill(stream, inbox, next, pace) => filled?,
            stop = counting.stopped() => return Ok(Err(stop)),
        }
    }
    Ok(Ok(()))
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
