//! Reads documents.

use lapsedb_service::cursors::Tail;
use lapsedb_service::documents::{self, Fault, Find};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::terms;
use crate::fields::Fields;

/// Options that change only how an answer is found, or that were without effect before.
const WITHOUT_EFFECT: [&str; 4] = [
    "allowDiskUse",
    "oplogReplay",
    "allowPartialResults",
    "exhaust",
];

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let find = read(&mut fields)?;
    fields.end()?;
    let mut work = call.begin().await?;
    let batch = documents::find(&mut work, &namespace, &find).await;
    let batch = work.end(batch).await?;
    Ok(Answer::Cursor {
        field: "firstBatch",
        batch,
    })
}

/// The members of a find.
pub(crate) fn read(fields: &mut Fields) -> Result<Find, Fault> {
    let waits = fields.truth("awaitData", false)?;
    let tail = match fields.truth("tailable", false)? {
        true => Some(Tail { waits }),
        false if waits => {
            return Err(Fault::new(
                codes::FAILED_TO_PARSE,
                "Cannot set 'awaitData' without also setting 'tailable'",
            ));
        }
        false => None,
    };
    let find = Find {
        tail,
        filter: fields.document("filter")?,
        projection: fields.document("projection")?,
        sort: fields.document("sort")?,
        skip: fields.size("skip")?.unwrap_or(0),
        limit: fields.size("limit")?.unwrap_or(0),
        batch_size: fields
            .size("batchSize")?
            .map(|size| usize::try_from(size).unwrap_or(usize::MAX)),
        single_batch: fields.truth("singleBatch", false)?,
        no_timeout: fields.truth("noCursorTimeout", false)?,
        min: fields.document("min")?,
        max: fields.document("max")?,
        return_key: fields.truth("returnKey", false)?,
        show_record_id: fields.truth("showRecordId", false)?,
        terms: terms(fields)?,
    };
    fields.ignore(&WITHOUT_EFFECT);
    Ok(find)
}
