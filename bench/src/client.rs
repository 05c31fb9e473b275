//! One keep-alive HTTP/1.1 connection, as a worker holds it.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT,
};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::item::Item;
use crate::sign::Signer;

const DATE: HeaderName = HeaderName::from_static("x-ms-date");
const VERSION: HeaderName = HeaderName::from_static("x-ms-version");
const PARTITION_KEY: HeaderName = HeaderName::from_static("x-ms-documentdb-partitionkey");
const THROUGHPUT: HeaderName = HeaderName::from_static("x-ms-offer-throughput");

/// How much of a wrong answer is shown.
const SHOWN_BYTES_MAX: usize = 300;

/// A connection, and the means to sign.
pub struct Client {
    sender: SendRequest<Full<Bytes>>,
    host: HeaderValue,
    signer: Signer,
}

/// What a request is about: the wire derives path and signature from it.
struct Call<'a> {
    method: Method,
    /// The lower-case verb and the resource type that are signed.
    verb: &'static str,
    kind: &'static str,
    /// The resource that is signed; the path adds to it.
    link: &'a str,
    path: &'a str,
    body: Bytes,
    extra: Option<(HeaderName, HeaderValue)>,
}

impl Client {
    /// Connects; must be called on a local task set, where the connection keeps running.
    pub async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await;
        let stream = stream.with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::task::spawn_local(async move {
            // The request under way reports the failure.
            let _closed = connection.await;
        });
        Ok(Self {
            sender,
            host: HeaderValue::from_str(address)?,
            signer: Signer::new()?,
        })
    }

    /// Reads an item and checks that `expected` came.
    pub async fn read(&mut self, container: &str, item: &Item, expected: &Item) -> Result<()> {
        let link = format!("{container}/docs/{}", item.id);
        let path = format!("/{link}");
        let call = Call {
            method: Method::GET,
            verb: "get",
            kind: "docs",
            link: &link,
            path: &path,
            body: Bytes::new(),
            extra: Some((PARTITION_KEY, HeaderValue::from_str(&item.partition_key)?)),
        };
        let answer = self.send(call, StatusCode::OK).await?;
        check(expected, &answer)
    }

    /// Creates an item and checks that `expected` came back.
    pub async fn create(&mut self, container: &str, item: &Item, expected: &Item) -> Result<()> {
        let path = format!("/{container}/docs");
        let call = Call {
            method: Method::POST,
            verb: "post",
            kind: "docs",
            link: container,
            path: &path,
            body: item.body.clone(),
            extra: Some((PARTITION_KEY, HeaderValue::from_str(&item.partition_key)?)),
        };
        let answer = self.send(call, StatusCode::CREATED).await?;
        check(expected, &answer)
    }

    /// Creates a database (`kind` "dbs", `link` empty) or a container ("colls", `link` the database).
    pub async fn create_resource(
        &mut self,
        kind: &'static str,
        link: &str,
        body: String,
    ) -> Result<()> {
        let path = if link.is_empty() {
            format!("/{kind}")
        } else {
            format!("/{link}/{kind}")
        };
        // More than any run can use: request units are not what is measured.
        let throughput = (THROUGHPUT, HeaderValue::from_static("1000000"));
        let extra = (kind == "colls").then_some(throughput);
        let body = Bytes::from(body);
        let call = Call {
            method: Method::POST,
            verb: "post",
            kind,
            link,
            path: &path,
            body,
            extra,
        };
        self.send(call, StatusCode::CREATED).await.map(|_| ())
    }

    /// Deletes a database with all that is in it.
    pub async fn delete_database(&mut self, link: &str) -> Result<()> {
        let path = format!("/{link}");
        let body = Bytes::new();
        let call = Call {
            method: Method::DELETE,
            verb: "delete",
            kind: "dbs",
            link,
            path: &path,
            body,
            extra: None,
        };
        self.send(call, StatusCode::NO_CONTENT).await.map(|_| ())
    }

    async fn send(&mut self, call: Call<'_>, wanted: StatusCode) -> Result<Bytes> {
        let (date, signature) = self.signer.sign(call.verb, call.kind, call.link)?;
        let mut request = Request::new(Full::new(call.body));
        *request.method_mut() = call.method;
        *request.uri_mut() = call
            .path
            .parse()
            .with_context(|| format!("no path: {}", call.path))?;
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        headers.insert(DATE, HeaderValue::from_str(date)?);
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&signature)?);
        headers.insert(VERSION, HeaderValue::from_static("2020-07-15"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static("lapsedb-bench"));
        headers.extend(call.extra);

        let response = self
            .sender
            .send_request(request)
            .await
            .context("the connection broke")?;
        let status = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .context("the answer broke off")?
            .to_bytes();
        if status != wanted {
            let shown =
                String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES_MAX)]).into_owned();
            bail!(
                "{} {} was answered {status}, not {wanted}: {shown}",
                call.verb,
                call.path
            );
        }
        Ok(body)
    }
}

fn check(expected: &Item, answer: &[u8]) -> Result<()> {
    match expected.fault(answer) {
        None => Ok(()),
        Some(fault) => bail!("a wrong answer: {fault}"),
    }
}
