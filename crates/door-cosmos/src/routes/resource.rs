//! Answers about one catalog resource.

use http::StatusCode;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use lapsedb_service::charge::{METADATA_READ, METADATA_WRITE, NOT_MODIFIED};
use lapsedb_service::offers::Wanted;
use lapsedb_service::reply::{Conditions, Outcome, Owner, Reply};
use lapsedb_service::{Error, Result};

use crate::answer::Answer;
use crate::call::Call;
use crate::headers;

/// What the request makes its answer depend on.
///
/// # Errors
/// When a header is malformed.
pub fn conditions(call: &Call<'_>) -> Result<Conditions> {
    Ok(Conditions {
        if_match: call.text(&IF_MATCH)?.map(str::to_owned),
        if_none_match: call.text(&IF_NONE_MATCH)?.map(str::to_owned),
    })
}

/// The throughput that a create request wants.
///
/// # Errors
/// When a header is malformed, or wants what is not allowed.
pub fn wanted(call: &Call<'_>) -> Result<Option<Wanted>> {
    let given = |text: Option<&str>| {
        text.filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
    };
    let manual = given(call.text(&headers::OFFER_THROUGHPUT)?);
    let autoscale = given(call.text(&headers::OFFER_AUTOPILOT)?);
    Wanted::of_request(manual.as_deref(), autoscale.as_deref())
}

/// The answer to a verb on one resource.
#[must_use]
pub fn answer(reply: &Reply) -> Answer {
    let mut answer = match reply.outcome {
        Outcome::Created => Answer::value(StatusCode::CREATED, METADATA_WRITE, &reply.value),
        Outcome::Replaced => Answer::value(StatusCode::OK, METADATA_WRITE, &reply.value),
        Outcome::Read => Answer::value(StatusCode::OK, METADATA_READ, &reply.value),
        Outcome::NotModified => {
            let mut answer = Answer::empty(StatusCode::NOT_MODIFIED, NOT_MODIFIED);
            if let Some(etag) = reply.value.get("_etag").as_str() {
                answer.set(ETAG, etag);
            }
            answer
        }
        Outcome::Deleted => Answer::empty(StatusCode::NO_CONTENT, METADATA_WRITE),
    };
    session(&mut answer, &reply.owner, reply.lsn);
    answer
}

/// Sets the headers of a session, where there is an owner to follow.
pub fn session(answer: &mut Answer, owner: &Owner, lsn: u64) {
    if owner.path.is_empty() {
        answer.set_number(headers::LSN, lsn);
    } else {
        answer.session(&owner.path, &owner.rid, lsn);
    }
}

/// What a verb that can only fail has answered.
///
/// # Errors
/// As the verb says; and if it did not fail, that is our fault.
pub fn refused(result: Result<()>) -> Result<Answer> {
    result?;
    Err(Error::new(
        lapsedb_service::Kind::Internal,
        "A request that cannot succeed was not refused.",
    ))
}
