//! The NoSQL port: HTTP/1.1 and HTTP/2 on every connection, as its first bytes say.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use lapsedb_door_cosmos::{Client, Scheme};
use lapsedb_service::documents::Gone;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::boot::App;
use crate::listen::{Connection, Handler, stopped};
use crate::route;
use crate::slots::Limits;
use crate::socket::Socket;

/// The head of one request: its line and all its headers. Session tokens and continuations are long, but not longer.
const HEAD_BYTES_MAX: u32 = 32 * 1024;
/// Headers of one request.
const HEADERS_MAX: usize = 200;
/// Requests at once on one HTTP/2 connection.
const STREAMS_MAX: u32 = 1_024;
/// What HTTP/2 clients may send before we read it: a whole item, so that a write needs no second round.
const STREAM_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// How often an HTTP/2 client is asked whether it is still there, and how long it may take to say so, in seconds.
const PING_SECONDS: u64 = 30;
const PONG_SECONDS_MAX: u64 = 20;
/// How long a client that has been idle may take to hear that its connection is closed, in seconds.
const CLOSING_SECONDS_MAX: u64 = 1;

/// Answers HTTP requests.
pub struct Http {
    app: Arc<App>,
    builder: auto::Builder<TokioExecutor>,
}

impl Http {
    /// Answers with this application.
    pub fn new(app: Arc<App>, limits: &Limits) -> Http {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            // The timer runs from the end of one request to the end of the next one's head.
            .header_read_timeout(limits.idle.max(limits.opening))
            .max_headers(HEADERS_MAX)
            .max_buf_size(HEAD_BYTES_MAX as usize)
            .pipeline_flush(true);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(Duration::from_secs(PING_SECONDS))
            .keep_alive_timeout(Duration::from_secs(PONG_SECONDS_MAX))
            .max_header_list_size(HEAD_BYTES_MAX)
            .max_concurrent_streams(STREAMS_MAX)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        Http { app, builder }
    }
}

impl Handler for Http {
    const ONLY_TLS: &'static [u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 27\r\n\r\nThis port speaks only TLS.\n";

    type Socket = Socket;

    /// HTTP notices by itself that a client has gone, but not while a request is being evaluated.
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
            tls,
            gone,
            mut stop,
            ..
        } = connection;
        let cut = Arc::new(Notify::new());
        let cuts = Arc::clone(&cut);
        let client = Client {
            scheme: if tls { Scheme::Https } else { Scheme::Http },
            gone,
            cut: Some(Arc::new(move |_| cuts.notify_one())),
        };
        let service = {
            let (app, slot) = (Arc::clone(&self.app), Arc::clone(&slot));
            service_fn(move |request| {
                let (app, slot) = (Arc::clone(&app), Arc::clone(&slot));
                let client = client.clone();
                async move {
                    let _in_flight = slot.begin();
                    Ok::<_, Infallible>(route::answer(&app, request, client, &slot).await)
                }
            })
        };
        let mut http = pin!(self.builder.serve_connection(TokioIo::new(stream), service));
        let ended = tokio::select! {
            ended = http.as_mut() => ended,
            () = stopped(&mut stop) => {
                http.as_mut().graceful_shutdown();
                http.await
            }
            () = slot.evicted() => return,
            () = cut.notified() => {
                tracing::warn!("a connection is cut: its client does not read its answers, and memory is short");
                return;
            }
            () = slot.unopened() => return,
            () = slot.overdue() => {
                http.as_mut().graceful_shutdown();
                // Whoever does not hear that is not waited for.
                match timeout(Duration::from_secs(CLOSING_SECONDS_MAX), http).await {
                    Ok(ended) => ended,
                    Err(_) => return,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended badly");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use lapsedb_door_cosmos::Door;
    use lapsedb_door_cosmos::auth::{EMULATOR_KEY, KeyRole, Keys};
    use lapsedb_service::remote::Pace;
    use lapsedb_service::{Config, Service};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use crate::config::Protocol;
    use crate::listen::{Listeners, Serving, Speech};
    use crate::origin::Origins;
    use crate::tls::Identity;

    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    const ALIVE: &[u8] = b"GET /alive HTTP/1.1\r\nhost: localhost\r\n\r\n";
    /// No test waits for this long.
    const LONG: Duration = Duration::from_secs(3600);
    const SHORT: Duration = Duration::from_millis(200);

    const PATIENT: Limits = Limits {
        connections: 100,
        strangers: 100,
        opening: LONG,
        idle: LONG,
    };

    async fn open(limits: Limits, grace: Duration) -> (Serving, SocketAddr) {
        let service = Service::open(Config::in_memory(b"key".to_vec()));
        let service = service.await.unwrap();
        let mut keys = Keys::new();
        keys.add(EMULATOR_KEY, KeyRole::ReadWrite).unwrap();
        let pace = Pace {
            grace,
            bytes_per_second: 1_000_000,
        };
        let door = Door::new(Arc::clone(&service), keys).with_pace(pace);
        let app = Arc::new(App::new(service, door, Origins::default()));
        let listeners = Listeners::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).await;
        let listeners = listeners.unwrap();
        let address = listeners.address;
        let tls = Identity::make(&[]).unwrap().server_config().unwrap();
        let speech = Speech {
            protocol: Protocol::Both,
            tls: Some(TlsAcceptor::from(tls)),
            limits,
        };
        let http = Http::new(app, &limits);
        (Serving::start(listeners, speech, http), address)
    }

    /// A signed request's head, without its end.
    fn head(method: &str, path: &str) -> String {
        let date = lapsedb_testkit::http_date(0);
        let signer = lapsedb_testkit::Signer::new(EMULATOR_KEY);
        let authorization = signer.authorization(method, path, &date);
        format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-ms-date: {date}\r\nx-ms-version: 2018-12-31\r\n\
             authorization: {authorization}\r\n"
        )
    }

    /// What the server says to these bytes until it closes.
    async fn until_closed(address: SocketAddr, sent: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        let mut heard = Vec::new();
        // A reset is a close too.
        let _ = stream.read_to_end(&mut heard).await;
        String::from_utf8_lossy(&heard).into_owned()
    }

    #[test]
    fn who_sends_no_whole_head_in_time_is_closed() {
        lapsedb_testkit::run(async {
            let limits = Limits {
                opening: SHORT,
                ..PATIENT
            };
            let (serving, address) = open(limits, LONG).await;
            for sent in [
                &b""[..],
                b"G",
                b"GET /alive HTTP/1.1\r\nhost: localhost\r\n",
                &PREFACE[..8],
                &PREFACE[..24],
                PREFACE,
                // The beginning of a TLS handshake.
                b"\x16",
                b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
            ] {
                let heard = until_closed(address, sent).await;
                assert!(!heard.contains("200"), "{sent:?}: {heard}");
            }
            serving.stop().await;
        });
    }

    #[test]
    fn a_connection_without_requests_is_closed() {
        lapsedb_testkit::run(async {
            let limits = Limits {
                idle: SHORT,
                ..PATIENT
            };
            let (serving, address) = open(limits, LONG).await;
            let heard = until_closed(address, ALIVE).await;
            assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
            // A second request that never ends is no request; the first answer waits for it in vain.
            until_closed(address, &[ALIVE, b"GET /ali"].concat()).await;
            serving.stop().await;
        });
    }

    #[test]
    fn a_head_is_no_longer_than_32_kib() {
        lapsedb_testkit::run(async {
            let (serving, address) = open(PATIENT, LONG).await;
            let ask = async |bytes: usize| {
                let long = "a".repeat(bytes);
                let head =
                    format!("GET /alive HTTP/1.1\r\nx-long: {long}\r\nconnection: close\r\n\r\n");
                until_closed(address, head.as_bytes()).await
            };
            let heard = ask(24 * 1024).await;
            assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
            // The refusal is lost where the client's bytes are still on their way when the connection is reset.
            let heard = ask(40 * 1024).await;
            assert!(
                heard.is_empty() || heard.starts_with("HTTP/1.1 431"),
                "{heard}"
            );
            serving.stop().await;
        });
    }

    #[test]
    fn a_body_has_a_least_rate() {
        lapsedb_testkit::run(async {
            let (serving, address) = open(PATIENT, SHORT).await;
            let begun = head("POST", "/dbs");
            let sent = format!("{begun}content-length: 100\r\n\r\n{{");
            let heard = until_closed(address, sent.as_bytes()).await;
            assert!(heard.starts_with("HTTP/1.1 408"), "{heard}");
            assert!(heard.contains("bytes a second"), "{heard}");
            serving.stop().await;
        });
    }

    #[test]
    fn strangers_make_room_for_strangers_and_whoever_signs_stays() {
        lapsedb_testkit::run(async {
            let limits = Limits {
                strangers: 2,
                ..PATIENT
            };
            let (serving, address) = open(limits, LONG).await;
            let mut heard = [0; 15];
            let mut signed = TcpStream::connect(address).await.unwrap();
            let begun = head("GET", "/dbs");
            signed
                .write_all(format!("{begun}\r\n").as_bytes())
                .await
                .unwrap();
            signed.read_exact(&mut heard).await.unwrap();
            let mut strangers = Vec::new();
            for _ in 0..10 {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(ALIVE).await.unwrap();
                stream.read_exact(&mut heard).await.unwrap();
                strangers.push(stream);
            }
            strangers.truncate(8);
            for mut stream in strangers {
                let _ = stream.read_to_end(&mut Vec::new()).await;
            }
            let begun = head("GET", "/dbs");
            let last = format!("{begun}connection: close\r\n\r\n");
            signed.write_all(last.as_bytes()).await.unwrap();
            let mut rest = String::new();
            signed.read_to_string(&mut rest).await.unwrap();
            assert_eq!(rest.matches("HTTP/1.1 200").count(), 1, "{rest}");
            serving.stop().await;
        });
    }
}
