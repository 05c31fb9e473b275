//! The yardstick: hyper, one fixed answer of one kibibyte, nothing else.

use std::convert::Infallible;
use std::io::Read;
use std::net::Ipv4Addr;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::item::Item;

/// The item every answer of the bare server carries.
pub fn item() -> Item {
    Item::new("bare".to_owned(), 1)
}

/// Serves until standard input ends, so that it never outlives the run that started it.
pub fn serve() -> Result<()> {
    std::thread::spawn(|| {
        let mut sink = Vec::new();
        let _ended = std::io::stdin().read_to_end(&mut sink);
        std::process::exit(0);
    });
    // As many threads as the measured server takes by default.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(accept())
}

async fn accept() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("ready nosql={}", listener.local_addr()?);
    let body = item().body;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let body = body.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, body.clone()));
            let connection = hyper::server::conn::http1::Builder::new();
            // A client that goes away is no news here.
            let _gone = connection
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// Takes in what was sent, as a server must, and answers the same whatever it was.
async fn answer(
    request: Request<Incoming>,
    body: Bytes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_create = request.method() == Method::POST;
    if is_create {
        let _received = request.into_body().collect().await;
    }
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = if is_create {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
