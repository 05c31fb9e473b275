//! Feeds of catalog resources: the envelope and its pages.

use http::{Method, StatusCode};
use lapsedb_service::Result;
use lapsedb_service::charge::METADATA_LIST;
use lapsedb_service::feed::{Ask, Page, Query};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::headers;
use crate::routes::{method_not_allowed, resource};

/// What a request to a feed is.
pub enum Feed<'c> {
    /// It lists or queries.
    Read(Ask<'c>),
    /// It makes a new resource.
    Create,
}

/// What a request to a feed is: GET lists, POST queries or creates.
///
/// # Errors
/// When the method is another one, or a header or the query is malformed.
pub fn of<'c>(call: &'c Call<'_>) -> Result<Feed<'c>> {
    let query = match *call.method {
        Method::GET => None,
        Method::POST if call.is_query()? => Some(Query::of_body(&call.value()?)?),
        Method::POST => return Ok(Feed::Create),
        _ => return Err(method_not_allowed(call)),
    };
    Ok(Feed::Read(Ask {
        size: call.page_size()?,
        continuation: call.text(&headers::CONTINUATION)?,
        query,
    }))
}

/// The same for a feed that nothing can be posted to.
///
/// # Errors
/// When the method is another one, or a header or the query is malformed.
pub fn read_only<'c>(call: &'c Call<'_>) -> Result<Ask<'c>> {
    match of(call)? {
        Feed::Read(ask) => Ok(ask),
        Feed::Create => Err(method_not_allowed(call)),
    }
}

/// The answer to a request that lists or queries: `array` is what the list is called.
#[must_use]
pub fn answer(page: Page, array: &'static str) -> Answer {
    let count = page.values.len();
    let mut envelope = Object::with_capacity(3);
    envelope.push("_rid", Value::String(page.owner.rid.clone()));
    envelope.push(array, Value::Array(page.values));
    envelope.push(
        "_count",
        Value::from(i64::try_from(count).unwrap_or(i64::MAX)),
    );
    let mut answer = Answer::value(StatusCode::OK, METADATA_LIST, &Value::Object(envelope));
    answer.set_number(
        headers::ITEM_COUNT,
        u64::try_from(count).unwrap_or(u64::MAX),
    );
    if let Some(continuation) = &page.continuation {
        answer.set(headers::CONTINUATION, continuation);
    }
    resource::session(&mut answer, &page.owner, page.lsn);
    answer
}
