//! The first byte of a connection decides; the certificate is made once and kept.

use std::io::Write;
use std::sync::Arc;

use crate::common::{self, Reply, Server};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use sha2::Digest as _;

/// A client that trusts this certificate and nothing else.
fn client(pem: &str, alpn: &[&[u8]]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

/// Asks over TLS; gives the protocol that was agreed on and the answer's status.
fn ask(server: &Server, pem: &str, name: &'static str) -> std::io::Result<u16> {
    let name = ServerName::try_from(name).unwrap();
    let connection = ClientConnection::new(client(pem, &[b"http/1.1"]), name).unwrap();
    let mut stream = StreamOwned::new(connection, server.connect());
    stream.write_all(b"GET /alive HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    Ok(Reply::read(stream).status)
}

fn certificate(server: &Server) -> String {
    let reply = server.call("GET", "/_explorer/emulator.pem", &[], "");
    assert_eq!(reply.status, 200);
    assert!(reply.body.starts_with("-----BEGIN CERTIFICATE-----"));
    reply.body
}

#[test]
fn both_are_answered_on_one_port() {
    let server = Server::start(&["--memory"]);
    let pem = certificate(&server);
    for name in ["localhost", "127.0.0.1", "::1"] {
        assert_eq!(ask(&server, &pem, name).unwrap(), 200, "{name}");
    }
}

#[test]
fn http_2_is_agreed_on_when_the_client_can() {
    let server = Server::start(&["--memory"]);
    let pem = certificate(&server);
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = ClientConnection::new(client(&pem, &[b"h2", b"http/1.1"]), name).unwrap();
    let mut socket = server.connect();
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).unwrap();
    }
    assert_eq!(connection.alpn_protocol(), Some(b"h2".as_slice()));
}

#[test]
fn the_certificate_is_kept_in_the_data_path() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path(), &[]);
    let first = certificate(&server);
    server.kill();
    let server = Server::on(folder.path(), &[]);
    assert_eq!(certificate(&server), first);
    assert_eq!(ask(&server, &first, "localhost").unwrap(), 200);
}

#[test]
fn one_protocol_alone_refuses_the_other() {
    let server = Server::start(&["--memory", "--protocol", "https"]);
    let reply = server.call("GET", "/alive", &[], "");
    assert_eq!(reply.status, 400);
    assert!(reply.body.contains("TLS"));

    let other = Server::start(&["--memory"]);
    let pem = certificate(&other);
    let server = Server::start(&["--memory", "--protocol", "http"]);
    assert_eq!(server.call("GET", "/alive", &[], "").status, 200);
    assert_eq!(
        server
            .call("GET", "/_explorer/emulator.pem", &[], "")
            .status,
        404
    );
    assert!(ask(&server, &pem, "localhost").is_err());
}

#[test]
fn beyond_loopback_plain_text_must_be_asked_for() {
    let start = |flags: &[&str]| {
        let mut command = common::program();
        command.args(["--memory", "--bind", "0.0.0.0"]).args(flags);
        command.env("LAPSEDB_KEY", common::OWN_KEY);
        Server::start_by(command, &[])
    };
    let server = start(&[]);
    let reply = server.call("GET", "/alive", &[], "");
    assert_eq!(reply.status, 400, "{reply:?}");
    assert!(reply.body.contains("TLS"));
    let server = start(&["--insecure-plaintext"]);
    assert_eq!(server.call("GET", "/alive", &[], "").status, 200);
}

#[test]
fn the_certificate_names_the_address_and_is_told_by_its_fingerprint() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let mut command = common::program();
    command.stderr(std::fs::File::create(&log).unwrap());
    let server = Server::start_by(command, &["--memory", "--bind", "127.0.0.2"]);
    let pem = certificate(&server);
    for name in ["localhost", "127.0.0.1", "127.0.0.2"] {
        assert_eq!(ask(&server, &pem, name).unwrap(), 200, "{name}");
    }
    assert!(ask(&server, &pem, "127.0.0.3").is_err());
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let digest = sha2::Sha256::digest(&der);
    let pairs: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    let told = std::fs::read_to_string(log).unwrap();
    assert!(told.contains(&pairs.join(":")), "{told}");
}
