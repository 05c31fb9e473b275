//! The Mongo port: hands its connections to the door.

use std::sync::Arc;

use lapsedb_door_mongo::{Door, Peer};
use lapsedb_service::documents::Gone;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::listen::{Connection, Handler, stopped};
use crate::socket::Socket;

/// Answers messages of MongoDB's drivers.
pub struct Mongo {
    door: Arc<Door>,
}

impl Mongo {
    /// Answers through this door.
    pub const fn new(door: Arc<Door>) -> Mongo {
        Mongo { door }
    }
}

impl Handler for Mongo {
    // A driver that hears anything else than a message closes; there is none that would say why.
    const ONLY_TLS: &'static [u8] = b"";

    type Socket = Socket;

    /// A command that takes long ends with its client.
    fn watch(stream: TcpStream) -> (Socket, Option<Gone>) {
        Socket::watched(stream)
    }

    async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        connection: Connection,
    ) {
        let Connection {
            slot,
            client,
            server,
            tls,
            gone,
            mut stop,
        } = connection;
        let peer = Peer {
            client,
            server,
            tls,
        };
        let ended = async {
            tokio::select! {
                () = stopped(&mut stop) => {}
                () = slot.evicted() => {}
                () = slot.unopened() => {}
            }
        };
        self.door
            .serve_observed(stream, peer, ended, gone, |logged_in| {
                slot.heard();
                slot.know(logged_in);
            })
            .await;
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::time::Duration;

    use lapsedb_door_mongo::{Patience, Settings};
    use lapsedb_service::remote::Pace;
    use lapsedb_service::{Config, Service};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpSocket, TcpStream};
    use tokio::time::timeout;

    use super::*;
    use crate::config::Protocol;
    use crate::listen::{Listeners, Serving, Speech};
    use crate::slots::Limits;

    /// `{hello: 1, $db: "admin"}` as a whole message.
    const HELLO: &[u8] = b"\x34\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\x1f\0\0\0\x10hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0";
    /// No test waits for this long.
    const LONG: Duration = Duration::from_secs(3600);
    const SHORT: Duration = Duration::from_millis(200);

    /// A port that never loses its patience, but for what a test changes.
    struct Bench {
        auth: bool,
        limits: Limits,
        patience: Patience,
    }

    impl Bench {
        fn new(auth: bool) -> Bench {
            let pace = Pace {
                grace: LONG,
                bytes_per_second: 1_000_000,
            };
            Bench {
                auth,
                limits: Limits {
                    connections: 100,
                    strangers: 100,
                    opening: LONG,
                    idle: LONG,
                },
                patience: Patience {
                    pace,
                    silence_before_login: LONG,
                    stalled: LONG,
                },
            }
        }

        async fn open(self) -> (Serving, SocketAddr) {
            let config = Config::in_memory(b"key".to_vec());
            let settings = Settings {
                auth: self.auth,
                advertise: None,
                test_commands: false,
                master_key: "a2V5".to_owned(),
                read_only_key: None,
                version: "0.0.0".to_owned(),
            };
            let door = Door::new(Service::open(config).await.unwrap(), settings, |_| {});
            let door = door.with_patience(self.patience);
            let listeners = Listeners::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).await;
            let listeners = listeners.unwrap();
            let address = listeners.address;
            let speech = Speech {
                protocol: Protocol::Http,
                tls: None,
                limits: self.limits,
            };
            let serving = Serving::start(listeners, speech, Mongo::new(Arc::new(door)));
            (serving, address)
        }
    }

    /// Greets, and reads the whole answer.
    async fn greet(stream: &mut TcpStream) {
        stream.write_all(HELLO).await.unwrap();
        answer(stream).await;
    }

    async fn answer(stream: &mut TcpStream) {
        let length = stream.read_u32_le().await.unwrap();
        let mut rest = vec![0; length as usize - 4];
        stream.read_exact(&mut rest).await.unwrap();
    }

    /// Waits until the server has closed.
    async fn closed(mut stream: TcpStream) {
        // A reset is a close too.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }

    /// A connection from one of the addresses of this machine.
    async fn connect(from: u8, to: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        let from = SocketAddr::from((Ipv4Addr::new(127, 0, 0, from), 0));
        socket.bind(from).unwrap();
        socket.connect(to).await.unwrap()
    }

    #[test]
    fn who_comes_over_the_limit_waits_until_somebody_goes() {
        lapsedb_testkit::run(async {
            let mut bench = Bench::new(false);
            bench.limits.connections = 4;
            let (serving, address) = bench.open().await;
            let mut served = Vec::new();
            for _ in 0..4 {
                let mut stream = TcpStream::connect(address).await.unwrap();
                greet(&mut stream).await;
                served.push(stream);
            }
            let mut waiting = TcpStream::connect(address).await.unwrap();
            waiting.write_all(HELLO).await.unwrap();
            // On a busy machine one that would be served late is taken for one that waits, which does no harm.
            assert!(timeout(SHORT, answer(&mut waiting)).await.is_err());
            drop(served.pop());
            answer(&mut waiting).await;
            drop((served, waiting));
            serving.stop().await;
        });
    }

    #[test]
    fn who_sends_no_whole_message_in_time_is_closed() {
        lapsedb_testkit::run(async {
            for auth in [false, true] {
                let mut bench = Bench::new(auth);
                bench.limits.opening = SHORT;
                let (serving, address) = bench.open().await;
                for sent in [&b""[..], &HELLO[..1], &HELLO[..16], &HELLO[..40]] {
                    let mut stream = TcpStream::connect(address).await.unwrap();
                    stream.write_all(sent).await.unwrap();
                    closed(stream).await;
                }
                serving.stop().await;
            }
        });
    }

    #[test]
    fn a_later_message_has_a_least_rate_too() {
        lapsedb_testkit::run(async {
            for auth in [false, true] {
                let mut bench = Bench::new(auth);
                bench.patience.pace.grace = SHORT;
                let (serving, address) = bench.open().await;
                for sent in [&HELLO[..1], &HELLO[..16], &HELLO[..40]] {
                    let mut stream = TcpStream::connect(address).await.unwrap();
                    greet(&mut stream).await;
                    stream.write_all(sent).await.unwrap();
                    closed(stream).await;
                }
                serving.stop().await;
            }
        });
    }

    #[test]
    fn who_never_logs_in_is_closed_when_it_is_silent() {
        lapsedb_testkit::run(async {
            let mut bench = Bench::new(true);
            bench.patience.silence_before_login = SHORT;
            let (serving, address) = bench.open().await;
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(HELLO).await.unwrap();
            closed(stream).await;
            serving.stop().await;
        });
    }

    #[test]
    fn a_reply_that_nobody_reads_is_given_up() {
        lapsedb_testkit::run(async {
            let mut bench = Bench::new(false);
            bench.patience.stalled = SHORT;
            let (serving, address) = bench.open().await;
            let mut stream = TcpStream::connect(address).await.unwrap();
            // Greets without listening until the answers have nowhere to go; then the server stops reading, and closes.
            while stream.write_all(HELLO).await.is_ok() {}
            serving.stop().await;
        });
    }

    #[test]
    fn a_monitor_outlives_a_flood_of_strangers() {
        lapsedb_testkit::run(async {
            let mut bench = Bench::new(true);
            bench.limits.strangers = 4;
            let (serving, address) = bench.open().await;
            let mut monitor = connect(2, address).await;
            greet(&mut monitor).await;
            let mut flood = Vec::new();
            for _ in 0..20 {
                let mut stream = connect(3, address).await;
                greet(&mut stream).await;
                flood.push(stream);
            }
            flood.truncate(17);
            for stream in flood {
                closed(stream).await;
            }
            greet(&mut monitor).await;
            serving.stop().await;
        });
    }
}
