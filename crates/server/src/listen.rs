//! Sockets: accepts connections within the limits of their port, and tells TLS from plain by the first bytes.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use lapsedb_service::documents::Gone;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::config::Protocol;
use crate::slots::{Limits, Slot, Slots};

/// The pause after a failed accept, which mostly means too many open files.
const ACCEPT_PAUSE_MS: u64 = 100;
/// The first byte of a TLS handshake record. No HTTP request begins with it, but every 256th length of a message of MongoDB.
const TLS_HANDSHAKE: u8 = 0x16;
/// The second byte of a TLS record, and the third ones that there are: the version. A message of MongoDB that begins so is
/// longer than 64 KiB, and no client opens with that.
const TLS_MAJOR: u8 = 3;
const TLS_MINORS: std::ops::RangeInclusive<u8> = 1..=4;
/// The pause before a look for more, when the first bytes come one by one.
const FIRST_BYTES_PAUSE_MS: u64 = 50;
/// How long requests in flight may take to finish at the end.
const DRAIN_SECONDS_MAX: u64 = 10;
/// What is still read from a client that spoke plainly where only TLS is spoken, so that it hears the answer.
const REFUSED_BYTES_MAX: u64 = 32 * 1024;

/// The sockets of one API, bound but not yet served.
pub struct Listeners {
    sockets: Vec<TcpListener>,
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

/// What talks to the clients of a port.
pub trait Handler: Send + Sync + 'static {
    /// What a client hears that speaks plainly where only TLS is spoken.
    const ONLY_TLS: &'static [u8];

    /// What a connection is read from and written to.
    type Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Takes a connection over, with what says whether its client has gone, if that is to be asked.
    fn watch(stream: TcpStream) -> (Self::Socket, Option<Gone>);

    /// Serves a connection to its end.
    fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        connection: Connection,
    ) -> impl Future<Output = ()> + Send;
}

/// A connection whose TLS handshake, if there is one, is done.
pub struct Connection {
    /// Its place among all.
    pub slot: Arc<Slot>,
    /// Where the client is.
    pub client: SocketAddr,
    /// Where it came to.
    pub server: SocketAddr,
    /// Whether nobody can listen in.
    pub tls: bool,
    /// Says whether the client has gone.
    pub gone: Option<Gone>,
    /// Turns true when no new requests are taken.
    pub stop: watch::Receiver<bool>,
}

/// How a port is spoken to.
pub struct Speech {
    /// Plain, TLS, or both.
    pub protocol: Protocol,
    /// The certificate, where TLS is spoken.
    pub tls: Option<TlsAcceptor>,
    /// How many clients, and how patient the port is with them.
    pub limits: Limits,
}

/// What serving a connection needs.
struct Port<H> {
    handler: H,
    speech: Speech,
    slots: Arc<Slots>,
    stop: watch::Receiver<bool>,
}

/// A port that is open.
pub struct Serving {
    slots: Arc<Slots>,
    stop: watch::Sender<bool>,
}

impl Serving {
    /// Begins to accept connections.
    pub fn start(listeners: Listeners, speech: Speech, handler: impl Handler) -> Serving {
        let slots = Slots::new(speech.limits);
        let (stop, stopped) = watch::channel(false);
        let port = Arc::new(Port {
            handler,
            speech,
            slots: Arc::clone(&slots),
            stop: stopped,
        });
        for socket in listeners.sockets {
            tokio::spawn(accept(socket, Arc::clone(&port)));
        }
        Serving { slots, stop }
    }

    /// Stops accepting, and waits until the requests in flight are answered, but not for ever.
    pub async fn stop(self) {
        // Nobody listens any more only if every task has ended, and then there is nothing to wait for.
        let _ = self.stop.send(true);
        let drained = timeout(Duration::from_secs(DRAIN_SECONDS_MAX), self.slots.drained());
        if drained.await.is_err() {
            tracing::warn!("requests that took longer than {DRAIN_SECONDS_MAX} s were cut off");
        }
    }
}

async fn accept<H: Handler>(socket: TcpListener, port: Arc<Port<H>>) {
    let mut stop = port.stop.clone();
    loop {
        // At the limit one connection waits here and the others in the kernel, instead of being refused.
        let next = async {
            let (stream, client) = match socket.accept().await {
                Ok(accepted) => accepted,
                Err(error) => return Err(error),
            };
            let slot = port.slots.enter(client.ip()).await;
            Ok(slot.map(|slot| (stream, client, slot)))
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = stopped(&mut stop) => return,
        };
        match accepted {
            Ok(None) => return,
            Ok(Some((stream, client, slot))) => {
                let port = Arc::clone(&port);
                tokio::spawn(async move { serve(stream, client, slot, &port).await });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            }
        }
    }
}

/// Waits until no new requests are taken.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the port itself is gone, which is no reason to go on.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// One connection, from its first byte to its end.
async fn serve<H: Handler>(stream: TcpStream, client: SocketAddr, slot: Slot, port: &Port<H>) {
    // Answers are small and whole; waiting to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let Ok(server) = stream.local_addr() else {
        return;
    };
    let mut stop = port.stop.clone();
    // The same time counts on until the first request is whole, so that no step of an opening has one of its own.
    let opened = tokio::select! {
        opened = open::<H>(stream, &port.speech) => opened,
        () = slot.unopened() => None,
        () = slot.evicted() => None,
        () = stopped(&mut stop) => None,
    };
    let Some((stream, gone)) = opened else {
        return;
    };
    let connection = Connection {
        slot: Arc::new(slot),
        client,
        server,
        tls: matches!(stream, Opened::Tls(_)),
        gone,
        stop,
    };
    match stream {
        Opened::Plain(stream) => port.handler.serve(stream, connection).await,
        Opened::Tls(stream) => port.handler.serve(*stream, connection).await,
    }
}

enum Opened<S> {
    Plain(S),
    Tls(Box<TlsStream<S>>),
}

/// Whether a client begins with TLS; nothing if it goes away before that is known.
async fn wants_tls(stream: &TcpStream) -> Option<bool> {
    let mut first = [0; 3];
    loop {
        let read = match stream.peek(&mut first).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => read,
        };
        let known = begins_tls(first.get(..read).unwrap_or_default());
        if known.is_some() {
            return known;
        }
        // What was peeked at stays readable, so the next bytes wake nobody; neither does the end of the stream.
        if stream
            .ready(Interest::READABLE)
            .await
            .ok()?
            .is_read_closed()
        {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(FIRST_BYTES_PAUSE_MS)).await;
    }
}

/// Whether a handshake of TLS begins with these bytes; nothing if more of them are needed to know.
fn begins_tls(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [] | [TLS_HANDSHAKE] | [TLS_HANDSHAKE, TLS_MAJOR] => None,
        [TLS_HANDSHAKE, TLS_MAJOR, minor, ..] => Some(TLS_MINORS.contains(minor)),
        _ => Some(false),
    }
}

/// Looks at the first bytes and shakes hands if it is TLS; nothing if the client may not go on.
async fn open<H: Handler>(
    mut stream: TcpStream,
    speech: &Speech,
) -> Option<(Opened<H::Socket>, Option<Gone>)> {
    let wants_tls = wants_tls(&stream).await?;
    match (&speech.tls, speech.protocol) {
        (Some(tls), Protocol::Https | Protocol::Both) if wants_tls => {
            let (stream, gone) = H::watch(stream);
            match tls.accept(stream).await {
                Ok(stream) => Some((Opened::Tls(Box::new(stream)), gone)),
                Err(error) => {
                    tracing::debug!(%error, "a TLS handshake failed");
                    None
                }
            }
        }
        (_, Protocol::Http | Protocol::Both) if !wants_tls => {
            let (stream, gone) = H::watch(stream);
            Some((Opened::Plain(stream), gone))
        }
        _ if wants_tls => None,
        _ => {
            // The request is read to its end, or closing would cut off the answer on its way.
            let _ = stream.write_all(H::ONLY_TLS).await;
            let _ = stream.shutdown().await;
            let mut request = stream.take(REFUSED_BYTES_MAX);
            let _ = tokio::io::copy(&mut request, &mut tokio::io::sink()).await;
            None
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A client and its connection as the server sees it.
    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        (client.unwrap(), accepted.unwrap().0)
    }

    #[tokio::test]
    async fn a_client_that_leaves_after_one_byte_is_not_waited_for() {
        let (mut client, server) = pair().await;
        client.write_all(&[TLS_HANDSHAKE]).await.unwrap();
        drop(client);
        assert_eq!(wants_tls(&server).await, None);
    }

    #[tokio::test]
    async fn the_first_bytes_may_come_one_by_one() {
        for (last, expected) in [(1, true), (0, false)] {
            let (mut client, server) = pair().await;
            client.set_nodelay(true).unwrap();
            client.write_all(&[TLS_HANDSHAKE]).await.unwrap();
            let send = async {
                server.readable().await.unwrap();
                client.write_all(&[TLS_MAJOR]).await.unwrap();
                tokio::task::yield_now().await;
                client.write_all(&[last]).await.unwrap();
            };
            let (known, ()) = tokio::join!(wants_tls(&server), send);
            assert_eq!(known, Some(expected));
        }
    }

    #[test]
    fn no_length_of_a_message_is_taken_for_tls() {
        assert_eq!(begins_tls(&[0x16, 3, 1]), Some(true));
        assert_eq!(begins_tls(&[0x16, 3, 3]), Some(true));
        assert_eq!(begins_tls(&[0x16]), None);
        assert_eq!(begins_tls(&[0x16, 3]), None);
        for length in 16..64 * 1024_u32 {
            let bytes = length.to_le_bytes();
            assert_eq!(begins_tls(&bytes[..3]), Some(false), "{length}");
        }
    }
}
