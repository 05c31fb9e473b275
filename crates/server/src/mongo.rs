//! The Mongo port: accepts connections, tells TLS from plain by the first byte, and hands them to the door.

use std::sync::Arc;
use std::time::Duration;

use lapsedb_door_mongo::{Door, Peer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::config::Protocol;
use crate::listen::{
    ACCEPT_PAUSE_MS, DRAIN_SECONDS_MAX, Listeners, OPENING_SECONDS_MAX, TLS_HANDSHAKE, stopped,
};

/// Connections served at once; more wait in the kernel's queue.
const CONNECTIONS_MAX: usize = if cfg!(test) { 4 } else { 8_192 };

/// What serving a connection needs.
struct Port {
    door: Arc<Door>,
    protocol: Protocol,
    tls: Option<TlsAcceptor>,
    permits: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
}

/// The Mongo door, open.
pub struct ServingMongo {
    permits: Arc<Semaphore>,
    stop: watch::Sender<bool>,
}

impl ServingMongo {
    /// Begins to accept connections.
    pub fn start(
        listeners: Listeners,
        door: Arc<Door>,
        protocol: Protocol,
        tls: Option<TlsAcceptor>,
    ) -> ServingMongo {
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let (stop, stopped) = watch::channel(false);
        let port = Arc::new(Port {
            door,
            protocol,
            tls,
            permits: Arc::clone(&permits),
            stop: stopped,
        });
        for socket in listeners.sockets {
            tokio::spawn(accept(socket, Arc::clone(&port)));
        }
        ServingMongo { permits, stop }
    }

    /// Stops accepting, and waits until the commands in flight are answered, but not for ever.
    pub async fn stop(self) {
        // Nobody listens any more only if every task has ended, and then there is nothing to wait for.
        let _ = self.stop.send(true);
        let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
        let drained = timeout(
            Duration::from_secs(DRAIN_SECONDS_MAX),
            self.permits.acquire_many(all),
        );
        if drained.await.is_err() {
            tracing::warn!("commands that took longer than {DRAIN_SECONDS_MAX} s were cut off");
        }
    }
}

async fn accept(socket: TcpListener, port: Arc<Port>) {
    let mut stop = port.stop.clone();
    loop {
        let next = async {
            let permit = Arc::clone(&port.permits).acquire_owned().await.ok()?;
            Some((socket.accept().await, permit))
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = stopped(&mut stop) => return,
        };
        match accepted {
            None => return,
            Some((Ok((stream, _)), permit)) => {
                let port = Arc::clone(&port);
                tokio::spawn(async move {
                    serve(stream, &port).await;
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

/// One connection, from its first byte to its end.
async fn serve(stream: TcpStream, port: &Port) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let (Ok(client), Ok(server)) = (stream.peer_addr(), stream.local_addr()) else {
        return;
    };
    let mut stop = port.stop.clone();
    let mut first = [0];
    let peeked = timeout(
        Duration::from_secs(OPENING_SECONDS_MAX),
        stream.peek(&mut first),
    );
    let wants_tls = tokio::select! {
        peeked = peeked => match peeked {
            Ok(Ok(1)) => first == [TLS_HANDSHAKE],
            Ok(_) | Err(_) => return,
        },
        () = stopped(&mut stop) => return,
    };
    let peer = |tls| Peer {
        client,
        server,
        tls,
    };
    match (&port.tls, port.protocol) {
        (Some(tls), Protocol::Https | Protocol::Both) if wants_tls => {
            let shaken = timeout(Duration::from_secs(OPENING_SECONDS_MAX), tls.accept(stream));
            match shaken.await {
                Ok(Ok(stream)) => {
                    port.door
                        .serve(stream, peer(true), stopped(&mut stop))
                        .await
                }
                Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => {}
            }
        }
        (_, Protocol::Http | Protocol::Both) if !wants_tls => {
            port.door
                .serve(stream, peer(false), stopped(&mut stop))
                .await;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use lapsedb_door_mongo::Settings;
    use lapsedb_service::{Config, Service};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// `{hello: 1, $db: "admin"}` as a whole message.
    const HELLO: &[u8] = b"\x34\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\x1f\0\0\0\x10hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0";

    async fn open() -> (ServingMongo, SocketAddr) {
        let config = Config::in_memory(b"key".to_vec());
        let settings = Settings {
            auth: false,
            advertise: None,
            test_commands: false,
            master_key: "a2V5".to_owned(),
            read_only_key: None,
            version: "0.0.0".to_owned(),
        };
        let door = Door::new(Service::open(config).await.unwrap(), settings, |_| {});
        let listeners = Listeners::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).await;
        let listeners = listeners.unwrap();
        let address = listeners.address;
        let serving = ServingMongo::start(listeners, Arc::new(door), Protocol::Http, None);
        (serving, address)
    }

    /// The first byte of the answer to a greeting.
    async fn answer(stream: &mut TcpStream) {
        stream.read_exact(&mut [0]).await.unwrap();
    }

    #[test]
    fn who_comes_over_the_limit_waits_until_somebody_goes() {
        lapsedb_testkit::run(async {
            let (serving, address) = open().await;
            let mut all = Vec::new();
            for _ in 0..CONNECTIONS_MAX + 2 {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(HELLO).await.unwrap();
                all.push(stream);
            }
            let (mut served, mut waiting) = (Vec::new(), Vec::new());
            for mut stream in all {
                // On a busy machine one that is served may be taken for one that waits, which does no harm.
                let soon = Duration::from_millis(500);
                match timeout(soon, answer(&mut stream)).await {
                    Ok(()) => served.push(stream),
                    Err(_) => waiting.push(stream),
                }
            }
            assert!((1..=CONNECTIONS_MAX).contains(&served.len()));
            drop(served.pop());
            answer(waiting.first_mut().unwrap()).await;
            drop((served, waiting));
            serving.stop().await;
        });
    }
}
