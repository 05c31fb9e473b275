//! Sockets: accepts connections, tells TLS from plain by the first byte, serves HTTP/1.1 and HTTP/2 on both.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use lapsedb_door_cosmos::Scheme;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::boot::App;
use crate::config::Protocol;
use crate::route;

/// Connections served at once; more wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 8_192;
/// How long a connection may wait before its first byte, or take for its TLS handshake.
pub(crate) const OPENING_SECONDS_MAX: u64 = 30;
/// How long a request's headers may take; also how long an idle connection is kept.
const HEADERS_SECONDS_MAX: u64 = 180;
/// All headers of one request together. Session tokens and continuations are long.
const HEADERS_BYTES_MAX: u32 = 256 * 1024;
/// Headers of one request.
const HEADERS_MAX: usize = 200;
/// Requests at once on one HTTP/2 connection.
const STREAMS_MAX: u32 = 1_024;
/// What HTTP/2 clients may send before we read it: a whole item, so that a write needs no second round.
const STREAM_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// The pause after a failed accept, which mostly means too many open files.
pub(crate) const ACCEPT_PAUSE_MS: u64 = 100;
/// The first byte of a TLS handshake record; no HTTP request begins with it.
pub(crate) const TLS_HANDSHAKE: u8 = 0x16;
/// How long requests in flight may take to finish at the end.
pub(crate) const DRAIN_SECONDS_MAX: u64 = 10;

/// The sockets of one door, bound but not yet served.
pub struct Listeners {
    pub(crate) sockets: Vec<TcpListener>,
    /// The address to tell.
    pub address: SocketAddr,
}

impl Listeners {
    /// Binds the port; on the default loopback address also on IPv6's, because `localhost` may mean either.
    pub async fn bind(ip: IpAddr, port: u16) -> Result<Listeners, String> {
        let wanted = SocketAddr::new(ip, port);
        let refused = |error: std::io::Error| format!("cannot listen on {wanted}: {error}");
        let first = TcpListener::bind(wanted).await.map_err(refused)?;
        let address = first.local_addr().map_err(refused)?;
        let mut sockets = vec![first];
        if ip == IpAddr::V4(Ipv4Addr::LOCALHOST) {
            let other = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), address.port());
            match TcpListener::bind(other).await {
                Ok(socket) => sockets.push(socket),
                Err(error) => tracing::debug!(%other, %error, "not listening on IPv6"),
            }
        }
        Ok(Listeners { sockets, address })
    }
}

/// What serving a connection needs.
struct Door {
    app: Arc<App>,
    protocol: Protocol,
    tls: Option<TlsAcceptor>,
    http: auto::Builder<TokioExecutor>,
    /// One permit per connection; all of them are free again when the last has ended.
    permits: Arc<Semaphore>,
    /// Turns true when no new requests are taken.
    stop: watch::Receiver<bool>,
}

/// A door that is open.
pub struct Serving {
    permits: Arc<Semaphore>,
    stop: watch::Sender<bool>,
}

impl Serving {
    /// Begins to accept connections.
    pub fn start(
        listeners: Listeners,
        app: Arc<App>,
        protocol: Protocol,
        tls: Option<TlsAcceptor>,
    ) -> Serving {
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let (stop, stopped) = watch::channel(false);
        let door = Door {
            app,
            protocol,
            tls,
            http: http_builder(),
            permits: Arc::clone(&permits),
            stop: stopped,
        };
        let door = Arc::new(door);
        for socket in listeners.sockets {
            tokio::spawn(accept(socket, Arc::clone(&door)));
        }
        Serving { permits, stop }
    }

    /// Stops accepting, and waits until the requests in flight are answered, but not for ever.
    pub async fn stop(self) {
        // Nobody listens any more only if every task has ended, and then there is nothing to wait for.
        let _ = self.stop.send(true);
        let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
        if timeout(
            Duration::from_secs(DRAIN_SECONDS_MAX),
            self.permits.acquire_many(all),
        )
        .await
        .is_err()
        {
            tracing::warn!("requests that took longer than {DRAIN_SECONDS_MAX} s were cut off");
        }
    }
}

fn http_builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEADERS_SECONDS_MAX))
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADERS_BYTES_MAX as usize)
        .pipeline_flush(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEADERS_BYTES_MAX)
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    builder
}

async fn accept(socket: TcpListener, door: Arc<Door>) {
    let mut stop = door.stop.clone();
    loop {
        // The permit comes first: at the limit, new connections wait in the kernel instead of being refused.
        let next = async {
            let permit = Arc::clone(&door.permits).acquire_owned().await.ok()?;
            Some((socket.accept().await, permit))
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = stopped(&mut stop) => return,
        };
        match accepted {
            None => return,
            Some((Ok((stream, _)), permit)) => {
                let door = Arc::clone(&door);
                tokio::spawn(async move {
                    serve(stream, &door).await;
                    drop(permit);
                });
            }
            Some((Err(error), _)) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            }
        }
    }
}

/// Waits until no new requests are taken.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the door itself is gone, which is no reason to go on.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// One connection, from its first byte to its end.
async fn serve(stream: TcpStream, door: &Door) {
    // Answers are small and whole; waiting to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let mut stop = door.stop.clone();
    let opening = timeout(Duration::from_secs(OPENING_SECONDS_MAX), open(stream, door));
    let opened = tokio::select! {
        opened = opening => opened.ok().flatten(),
        () = stopped(&mut stop) => None,
    };
    match opened {
        Some(Opened::Plain(stream)) => talk(stream, door, Scheme::Http).await,
        Some(Opened::Tls(stream)) => talk(*stream, door, Scheme::Https).await,
        None => {}
    }
}

enum Opened {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
}

/// Looks at the first byte and shakes hands if it is TLS; nothing if the client may not go on.
async fn open(mut stream: TcpStream, door: &Door) -> Option<Opened> {
    let mut first = [0];
    let wants_tls = stream.peek(&mut first).await.ok()? == 1 && first == [TLS_HANDSHAKE];
    match (&door.tls, door.protocol) {
        (Some(tls), Protocol::Https | Protocol::Both) if wants_tls => {
            match tls.accept(stream).await {
                Ok(stream) => Some(Opened::Tls(Box::new(stream))),
                Err(error) => {
                    tracing::debug!(%error, "a TLS handshake failed");
                    None
                }
            }
        }
        (_, Protocol::Http | Protocol::Both) if !wants_tls => Some(Opened::Plain(stream)),
        _ if wants_tls => None,
        _ => {
            let answer = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 27\r\n\r\nThis port speaks only TLS.\n";
            // The request is read to its end, or closing would cut off the answer on its way.
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
            let mut request = stream.take(u64::from(HEADERS_BYTES_MAX));
            let _ = tokio::io::copy(&mut request, &mut tokio::io::sink()).await;
            None
        }
    }
}

/// HTTP on an open stream: 1.1 or 2, as its first bytes say.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    door: &Door,
    scheme: Scheme,
) {
    let app = Arc::clone(&door.app);
    let service = service_fn(move |request| {
        let app = Arc::clone(&app);
        async move { Ok::<_, Infallible>(route::answer(&app, request, scheme).await) }
    });
    let mut connection = pin!(door.http.serve_connection(TokioIo::new(stream), service));
    let mut stop = door.stop.clone();
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}
