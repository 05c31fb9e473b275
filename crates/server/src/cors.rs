//! What a browser is told of the pages that may see answers (the CORS protocol of the Fetch standard).
//!
//! Who may ask is decided by keys and in `origin.rs`, never here.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;

use crate::reply::Reply;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, OPTIONS");
/// How long a browser may remember what it may send, in seconds.
const PREFLIGHT_SECS: HeaderValue = HeaderValue::from_static("86400");
/// A page from outside asks for a server on this machine; Chromium wants a yes of its own for that.
const REQUEST_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");
/// Request headers that clients in browsers send. A star would not cover `authorization`.
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, accept, cache-control, prefer, a-im, if-match, \
    if-none-match, if-modified-since, user-agent, x-ms-activity-id, x-ms-client-id, x-ms-consistency-level, \
    x-ms-continuation, x-ms-cosmos-allow-tentative-writes, x-ms-cosmos-batch-atomic, \
    x-ms-cosmos-batch-continue-on-error, x-ms-cosmos-batch-ordered, x-ms-cosmos-changefeed-wire-format-version, \
    x-ms-cosmos-correlated-activityid, x-ms-cosmos-intended-collection-rid, x-ms-cosmos-is-batch-request, \
    x-ms-cosmos-is-query-plan-request, x-ms-cosmos-offer-autopilot-settings, \
    x-ms-cosmos-populate-content-response-on-write, x-ms-cosmos-populateindexmetrics, \
    x-ms-cosmos-populateindexmetrics-v2, x-ms-cosmos-priority-level, x-ms-cosmos-query-version, x-ms-cosmos-sdk-supportedcapabilities, \
    x-ms-cosmos-sdk-version, x-ms-cosmos-supported-query-features, x-ms-cosmos-supported-serialization-formats, \
    x-ms-cosmos-throughput-bucket, x-ms-date, x-ms-dedicatedgateway-max-age, \
    x-ms-documentdb-content-serialization-format, x-ms-documentdb-expiry-seconds, \
    x-ms-documentdb-is-upsert, x-ms-documentdb-isquery, x-ms-documentdb-partitionkey, \
    x-ms-documentdb-partitionkeyrangeid, x-ms-documentdb-populatepartitionstatistics, \
    x-ms-documentdb-populatequerymetrics, x-ms-documentdb-populatequotainfo, \
    x-ms-documentdb-post-trigger-include, x-ms-documentdb-pre-trigger-include, \
    x-ms-documentdb-query-enable-scan, x-ms-documentdb-query-enablecrosspartition, \
    x-ms-documentdb-query-iscontinuationexpected, x-ms-documentdb-query-parallelizecrosspartitionquery, \
    x-ms-documentdb-responsecontinuationtokenlimitinkb, x-ms-documentdb-script-enable-logging, x-ms-end-epk, \
    x-ms-exclude-system-properties, x-ms-indexing-directive, x-ms-max-item-count, x-ms-noretry-449, x-ms-offer-throughput, x-ms-offer-type, \
    x-ms-read-key-type, x-ms-session-token, x-ms-start-epk, x-ms-thinclient-proxy-operation-type, \
    x-ms-thinclient-proxy-resource-type, x-ms-useragent, x-ms-version",
);

/// Response headers that clients in browsers may look at.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "etag, lsn, date, x-ms-activity-id, x-ms-alt-content-path, x-ms-content-path, x-ms-continuation, \
    x-ms-cosmos-index-utilization, x-ms-cosmos-min-throughput, x-ms-documentdb-collection-index-transformation-progress, \
    x-ms-documentdb-partitionkeyrangeid, x-ms-documentdb-query-metrics, x-ms-gatewayversion, x-ms-item-count, x-ms-item-lsn, \
    x-ms-offer-replace-pending, x-ms-request-charge, x-ms-resource-quota, x-ms-resource-usage, \
    x-ms-retry-after-ms, x-ms-schemaversion, x-ms-session-token, x-ms-share-throughput, \
    x-ms-substatus, x-ms-version",
);

/// The answer to a browser that asks what a page of this origin may send; none if this is no such question.
pub fn preflight<B>(request: &Request<B>, origin: &HeaderValue) -> Option<Reply> {
    let asks = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECS);
    if request.headers().contains_key(REQUEST_PRIVATE_NETWORK) {
        headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    allow(headers, origin.clone());
    Some(reply)
}

/// Lets a page of this origin see an answer. A cache must not show it to another one.
pub fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    headers.append(VARY, HeaderValue::from_static("origin"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_we_name_is_one() {
        for list in [ALLOWED_HEADERS, EXPOSED_HEADERS] {
            for name in list.to_str().unwrap().split(", ") {
                assert!(HeaderName::from_bytes(name.as_bytes()).is_ok(), "{name:?}");
            }
        }
    }
}
