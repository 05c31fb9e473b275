//! A connection that can be looked at while somebody else reads and writes it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// One end of a connection, shared with those who only want to know whether the other end is still there.
pub struct Socket(Arc<TcpStream>);

impl Socket {
    /// Shares a stream.
    pub fn new(stream: TcpStream) -> Socket {
        Socket(Arc::new(stream))
    }

    /// Says whether the other end has closed the connection. To be asked only while nobody waits for bytes to read: the one who
    /// does is woken by nobody else. Who has gone and left bytes behind is found out when they have been read. Who asks does not
    /// keep the connection open: a cursor outlives the connection that it was begun on.
    pub fn gone(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let stream = Arc::downgrade(&self.0);
        move || {
            let Some(stream) = stream.upgrade() else {
                return true;
            };
            let mut byte = [0];
            let mut peeked = ReadBuf::new(&mut byte);
            let mut context = Context::from_waker(Waker::noop());
            match stream.poll_peek(&mut context, &mut peeked) {
                Poll::Ready(Ok(bytes)) => bytes == 0,
                Poll::Ready(Err(_)) => true,
                Poll::Pending => false,
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            match self.0.try_read_buf(buffer) {
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
        loop {
            ready!(self.0.poll_write_ready(context))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The connection is closed when the last one who shares it lets it go, which is at once.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
