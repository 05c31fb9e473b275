//! Reads a request's body: no longer than allowed, and no slower.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use lapsedb_service::remote::Pace;
use lapsedb_service::{Clock, Counting};
use lapsedb_value::budget::Stop;
use tokio::time::timeout_at;

/// Bytes of a refused body that are still read, so that the client hears the answer.
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long a refused body is still read.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);

/// Why there is no body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is longer than allowed.
    TooLong,
    /// It came more slowly than allowed.
    TooSlow,
    /// All requests together hold as much memory as they may: what is said of it.
    NoMemory(String),
    /// The connection broke.
    Broken(String),
}

impl Unread {
    /// What a client hears whose body came too slowly.
    pub const SLOW: &'static str = "The request's body came too slowly: after 10 seconds, at least 4096 bytes a second are expected.";
}

/// The body. What is longer than allowed is refused without being kept, but read to its end: a client that is still
/// sending when the connection closes sees a broken pipe, not the answer.
///
/// What comes is counted, if it is to be counted; where memory is short it is given up, whether or not more comes.
///
/// # Errors
/// When it is too long or too slow, there is no memory for it, or the connection breaks.
pub async fn read_body(
    body: &mut Incoming,
    bytes_max: usize,
    pace: Pace,
    counting: Option<&Counting>,
) -> Result<Bytes, Unread> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > bytes_max as u64 {
        drain(body).await;
        return Err(Unread::TooLong);
    }
    let began = Clock::monotonic();
    let mut first = Bytes::new();
    // Most bodies come in one piece, which is taken as it is.
    let mut whole = BytesMut::new();
    let mut length = 0;
    loop {
        let deadline = pace.deadline(began, length);
        let frame = tokio::select! {
            frame = timeout_at(deadline.into(), body.frame()) => frame,
            stop = stopped(counting) => {
                drop((first, whole));
                return no_memory(body, counting, stop).await;
            }
        };
        let frame = match frame {
            Err(_) => return Err(Unread::TooSlow),
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(Unread::Broken(error.to_string())),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        length += data.len();
        if length > bytes_max {
            drain(body).await;
            return Err(Unread::TooLong);
        }
        if let Some(Err(stop)) = counting.map(|counting| counting.set(length)) {
            drop((first, whole, data));
            return no_memory(body, counting, stop).await;
        }
        if first.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            let announced = usize::try_from(body.size_hint().lower()).unwrap_or(0);
            whole.reserve(length.saturating_add(announced).min(bytes_max));
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
}

/// Resolves when what has come is to be given up.
async fn stopped(counting: Option<&Counting>) -> Stop {
    match counting {
        Some(counting) => counting.stopped().await,
        None => std::future::pending().await,
    }
}

/// Refuses a body for which there is no memory. Nothing of it is held any more while the rest of it comes.
async fn no_memory(
    body: &mut Incoming,
    counting: Option<&Counting>,
    stop: Stop,
) -> Result<Bytes, Unread> {
    if let Some(counting) = counting {
        counting.clear();
    }
    drain(body).await;
    Err(Unread::NoMemory(stop.to_string()))
}

/// Reads what is left of a refused body and forgets it, as far as is reasonable.
async fn drain(body: &mut Incoming) {
    let rest = async {
        let mut left = DRAIN_BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            let len = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(len) {
                Some(less) => left = less,
                None => break,
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIME_MAX, rest).await;
}
