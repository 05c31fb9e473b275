//! The account document: where clients find the endpoints they then use.

use http::header::HOST;
use http::{HeaderMap, HeaderName, Method, StatusCode};
use lapsedb_service::Result;
use lapsedb_service::charge::METADATA_READ;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::{Call, Scheme};
use crate::headers;
use crate::routes::method_not_allowed;

/// The account's name. It must not be `localhost`: one SDK then reads this document twice before every request.
const ACCOUNT: &str = "lapsedb";
/// A region's name that every SDK knows.
const REGION: &str = "South Central US";
/// What the service says of every account.
const MEDIA_STORAGE_MAX_MB: u64 = 2048;
/// Where a client that does not say is sent.
const HOST_DEFAULT: &str = "localhost:8081";
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Limits of queries as a native planner of some SDKs wants them: JSON inside a text.
const QUERY_ENGINE: &str = concat!(
    r#"{"maxSqlQueryInputLength":524288,"maxJoinsPerSqlQuery":10,"maxLogicalAndPerSqlQuery":2000,"#,
    r#""maxLogicalOrPerSqlQuery":2000,"maxUdfRefPerSqlQuery":10,"maxInExpressionItemsCount":2147483647,"#,
    r#""queryMaxInMemorySortDocumentCount":-500,"maxQueryRequestTimeoutFraction":0.9,"#,
    r#""sqlAllowNonFiniteNumbers":false,"sqlAllowAggregateFunctions":true,"sqlAllowSubQuery":true,"#,
    r#""sqlAllowScalarSubQuery":true,"allowNewKeywords":true,"sqlAllowLike":true,"sqlAllowGroupByClause":true,"#,
    r#""maxSpatialQueryCells":2147483647,"spatialMaxGeometryPointCount":256,"sqlAllowTop":true,"#,
    r#""enableSpatialIndexing":true,"queryEnableFullText":true}"#,
);

/// The account document, for whoever may ask at all.
///
/// # Errors
/// When the method is not GET, or a header is malformed.
pub fn read(call: &Call<'_>) -> Result<Answer> {
    if *call.method != Method::GET {
        return Err(method_not_allowed(call));
    }
    let document = document(&endpoint(call)?);
    let mut answer = Answer::value(StatusCode::OK, METADATA_READ, &document);
    answer.set_number(headers::MAX_MEDIA_STORAGE_MB, MEDIA_STORAGE_MAX_MB);
    answer.set_number(headers::MEDIA_STORAGE_MB, 0);
    Ok(answer)
}

/// The address the client itself used, so that it does not wander off to one it cannot reach.
fn endpoint(call: &Call<'_>) -> Result<String> {
    let host = match first(call.headers, &FORWARDED_HOST)? {
        Some(host) => Some(host),
        None => first(call.headers, &HOST)?,
    };
    let scheme = match first(call.headers, &FORWARDED_PROTO)? {
        Some(scheme) if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
        Some(scheme) if scheme.eq_ignore_ascii_case("http") => Scheme::Http,
        Some(_) | None => call.scheme,
    };
    Ok(format!(
        "{}://{}/",
        scheme.text(),
        host.unwrap_or(HOST_DEFAULT)
    ))
}

/// The first of a list that several proxies have written.
fn first<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>> {
    let list = headers::lines(headers, name).next().transpose()?;
    let first = list.and_then(|list| list.split(',').next());
    Ok(first.map(str::trim).filter(|text| !text.is_empty()))
}

fn document(endpoint: &str) -> Value {
    let locations = || {
        Value::Array(vec![object([
            ("name", Value::from(REGION)),
            ("databaseAccountEndpoint", Value::from(endpoint)),
        ])])
    };
    object([
        ("_self", Value::from("")),
        ("id", Value::from(ACCOUNT)),
        ("_rid", Value::from("lapsedb.documents.local")),
        ("media", Value::from("//media/")),
        ("addresses", Value::from("//addresses/")),
        ("_dbs", Value::from("//dbs/")),
        ("writableLocations", locations()),
        ("readableLocations", locations()),
        ("enableMultipleWriteLocations", Value::from(false)),
        ("continuousBackupEnabled", Value::from(false)),
        ("enableNRegionSynchronousCommit", Value::from(false)),
        ("enablePerPartitionFailoverBehavior", Value::from(false)),
        (
            "userReplicationPolicy",
            object([
                ("asyncReplication", Value::from(false)),
                ("minReplicaSetSize", Value::from(1)),
                ("maxReplicasetSize", Value::from(4)),
            ]),
        ),
        (
            "userConsistencyPolicy",
            object([("defaultConsistencyLevel", Value::from("Session"))]),
        ),
        (
            "systemReplicationPolicy",
            object([
                ("minReplicaSetSize", Value::from(1)),
                ("maxReplicasetSize", Value::from(4)),
            ]),
        ),
        (
            "readPolicy",
            object([
                ("primaryReadCoefficient", Value::from(1)),
                ("secondaryReadCoefficient", Value::from(1)),
            ]),
        ),
        ("queryEngineConfiguration", Value::from(QUERY_ENGINE)),
    ])
}

fn object<const N: usize>(members: [(&'static str, Value); N]) -> Value {
    let mut object = Object::with_capacity(N);
    for (name, value) in members {
        object.push(name, value);
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use lapsedb_value::json;

    #[test]
    fn the_document_leads_back_to_where_the_client_came() {
        let document = document("http://127.0.0.1:1234/");
        for list in ["writableLocations", "readableLocations"] {
            let [location] = document.get(list).as_array().unwrap() else {
                panic!("one location is expected");
            };
            assert_eq!(
                location.get("databaseAccountEndpoint").as_str(),
                Some("http://127.0.0.1:1234/")
            );
        }
        assert_ne!(document.get("id").as_str(), Some("localhost"));
    }

    #[test]
    fn the_query_engines_configuration_is_json_in_a_text() {
        let document = document("http://h/");
        let text = document.get("queryEngineConfiguration").as_str().unwrap();
        let limits = json::Limits {
            depth_max: 2,
            duplicates_refused: &[],
        };
        let parsed = json::parse(text.as_bytes(), &limits).unwrap();
        assert_eq!(parsed.get("maxSqlQueryInputLength").as_i64(), Some(524_288));
        assert_eq!(parsed.as_object().unwrap().len(), 20);
        // Without it, clients that plan their queries themselves refuse FullTextContains.
        assert_eq!(parsed.get("queryEnableFullText").as_bool(), Some(true));
    }

    #[test]
    fn of_many_proxies_the_first_counts() {
        for (lines, expected) in [
            (&["a.example, b"][..], Some("a.example")),
            (&["a.example", "b"], Some("a.example")),
            (&[" "], None),
            (&[""], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED_HOST, line.parse().unwrap());
            }
            let found = first(&headers, &FORWARDED_HOST).unwrap();
            assert_eq!(found, expected, "{lines:?}");
        }
    }
}
