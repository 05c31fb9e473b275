//! A connection that can be looked at while somebody else reads and writes it, and whose client has to read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use lapsedb_record::Clock;
use lapsedb_service::documents::Gone;
use lapsedb_service::remote::PACE_BYTES_PER_SECOND;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep_until};

/// How long a client may take to read what it must read at least, in seconds.
const READING_SECONDS: u64 = 180;
/// How often the kernel is asked whether a client has gone, in milliseconds.
const GONE_MILLIS: u64 = 5;

/// What the kernel says of a connection whose other end has closed it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOSED: PollFlags = PollFlags::RDHUP.union(PollFlags::HUP);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOSED: PollFlags = PollFlags::HUP;

/// How much of what waits for it a client must read, in how much time. Without it, a client that reads a byte a minute holds
/// its connection, and the memory of its answer, as long as it likes.
#[derive(Clone, Copy, Debug)]
struct LeastRate {
    time: Duration,
    bytes: usize,
}

impl Default for LeastRate {
    fn default() -> LeastRate {
        let bytes = READING_SECONDS * PACE_BYTES_PER_SECOND;
        LeastRate {
            time: Duration::from_secs(READING_SECONDS),
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        }
    }
}

/// One end of a connection, shared with those who only want to know whether the other end is still there.
pub struct Socket {
    stream: Arc<TcpStream>,
    rate: LeastRate,
    /// Since a write had to wait.
    waiting: Option<Waiting>,
}

/// A client that has not yet read all that was written for it.
struct Waiting {
    until: Pin<Box<Sleep>>,
    /// What it has read since.
    bytes: usize,
}

impl Socket {
    /// Shares a stream with who wants to know whether the client has gone.
    pub fn watched(stream: TcpStream) -> (Socket, Option<Gone>) {
        let stream = Arc::new(stream);
        let gone: Gone = Arc::new(gone(&stream));
        let socket = Socket {
            stream,
            rate: LeastRate::default(),
            waiting: None,
        };
        (socket, Some(gone))
    }

    /// What follows from a write of so many bytes that could take part or all of them.
    fn wrote(&mut self, bytes: usize, all: usize) {
        match &mut self.waiting {
            Some(_) if bytes >= all => self.waiting = None,
            Some(waiting) => {
                waiting.bytes += bytes;
                if waiting.bytes >= self.rate.bytes {
                    self.waiting = None;
                }
            }
            None => {}
        }
    }

    /// A write has to wait: for how long?
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let time = self.rate.time;
        let waiting = self.waiting.get_or_insert_with(|| Waiting {
            until: Box::pin(sleep_until((Clock::monotonic() + time).into())),
            bytes: 0,
        });
        ready!(waiting.until.as_mut().poll(context));
        let text = format!(
            "the client reads too slowly: at least {} bytes are expected in {} seconds",
            self.rate.bytes,
            time.as_secs()
        );
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }

    fn poll_written(
        &mut self,
        context: &mut Context<'_>,
        all: usize,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            if self.stream.poll_write_ready(context)?.is_pending() {
                return self.wait(context);
            }
            match write(&self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(bytes) => {
                    self.wrote(bytes, all);
                    return Poll::Ready(Ok(bytes));
                }
            }
        }
    }
}

/// Says whether the other end has closed the connection, even if bytes of it are left to read. The kernel is asked, because who waits
/// for bytes of the stream must not lose its place. Who asks does not keep the connection open: a cursor outlives
/// the connection that it was begun on.
fn gone(stream: &Arc<TcpStream>) -> impl Fn() -> bool + Send + Sync + 'static {
    let stream = Arc::downgrade(stream);
    let (began, asked) = (Clock::monotonic(), AtomicU64::new(0));
    move || {
        let now = millis_since(began);
        if now < asked.load(Ordering::Relaxed) {
            return false;
        }
        asked.store(now + GONE_MILLIS, Ordering::Relaxed);
        let Some(stream) = stream.upgrade() else {
            return true;
        };
        let mut asked = [PollFd::new(&*stream, CLOSED)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // Who cannot be asked is there.
        poll(&mut asked, Some(&now)).is_ok_and(|found| found > 0)
    }
}

fn millis_since(began: Instant) -> u64 {
    let passed = Clock::monotonic().saturating_duration_since(began);
    u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read_buf(buffer) {
                Ok(_) => return Poll::Ready(Ok(())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let write = |stream: &TcpStream| stream.try_write(bytes);
        self.get_mut().poll_written(context, bytes.len(), write)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all = parts.iter().map(|part| part.len()).sum();
        let write = |stream: &TcpStream| stream.try_write_vectored(parts);
        self.get_mut().poll_written(context, all, write)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The connection itself is closed when the last one who shares it lets it go, which is at once.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = rustix::net::shutdown(&*self.stream, rustix::net::Shutdown::Write);
        Poll::Ready(socket.map_err(io::Error::from))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (Socket, Option<Gone>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (socket, gone) = Socket::watched(accepted.unwrap().0);
        (socket, gone, client.unwrap())
    }

    #[test]
    fn who_reads_nothing_is_given_up() {
        lapsedb_testkit::run(async {
            let (mut socket, _, client) = pair().await;
            socket.rate.time = Duration::from_millis(50);
            let whole = vec![0; 1 << 20];
            let late = loop {
                if let Err(error) = socket.write_all(&whole).await {
                    break error;
                }
            };
            assert_eq!(late.kind(), io::ErrorKind::TimedOut);
            drop(client);
        });
    }

    #[test]
    fn who_reads_enough_gets_all() {
        lapsedb_testkit::run(async {
            let (mut socket, _, mut client) = pair().await;
            let whole = vec![7; 64 << 20];
            let written = async {
                socket.write_all(&whole).await.unwrap();
                drop(socket);
            };
            let mut read = Vec::new();
            let (_, bytes) = tokio::join!(written, client.read_to_end(&mut read));
            assert_eq!(bytes.unwrap(), whole.len());
        });
    }

    #[test]
    fn a_client_that_has_gone_is_seen_behind_what_it_has_left() {
        lapsedb_testkit::run(async {
            let (_socket, gone, mut client) = pair().await;
            let gone = gone.unwrap();
            client.write_all(b"left behind").await.unwrap();
            assert!(!gone());
            drop(client);
            while !gone() {
                tokio::task::yield_now().await;
            }
        });
    }
}
