//! `…/pkranges`.

use http::StatusCode;
use http::header::ETAG;
use lapsedb_service::charge::NOT_MODIFIED;
use lapsedb_service::{Result, collections};

use crate::answer::Answer;
use crate::call::Call;
use crate::routes::{feed, resource};

/// Lists partition key ranges; 304 to who has them already, which is how clients learn that they have all.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    let conditions = resource::conditions(call)?;
    let ask = feed::read_only(call)?;
    let ranges = collections::ranges(&call.ctx, (db, coll), &conditions, &ask).await?;
    let mut answer = if ranges.known {
        let mut answer = Answer::empty(StatusCode::NOT_MODIFIED, NOT_MODIFIED);
        resource::session(&mut answer, &ranges.page.owner, ranges.page.lsn);
        answer
    } else {
        feed::answer(ranges.page, "PartitionKeyRanges")
    };
    answer.set(ETAG, &ranges.etag);
    Ok(answer)
}
