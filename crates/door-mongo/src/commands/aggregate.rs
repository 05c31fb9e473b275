//! Runs a pipeline.

use lapsedb_service::documents::{self, Aggregate, Fault, Namespace};
use lapsedb_value::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::{explain, terms};
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = match fields.own(call) {
        Value::String(name) => Namespace::new(&call.database, &name)?,
        number if number.as_i64() == Some(1) => Namespace::pseudo(&call.database, "$cmd.aggregate"),
        _ => {
            return Err(Fault::new(
                codes::FAILED_TO_PARSE,
                "Invalid command format: the 'aggregate' field must specify a collection name or 1",
            ));
        }
    };
    let bypass = fields.truth("bypassDocumentValidation", false)?;
    let explains = fields.truth("explain", false)?;
    let aggregate = read(&mut fields, explains)?;
    fields.end()?;
    if explains {
        return explain::pipeline(call, &namespace);
    }
    let mut work = call.begin().await?.bypassing_validation(bypass);
    let batch = documents::aggregate(&mut work, &namespace, &aggregate).await;
    let batch = work.end(batch).await?;
    Ok(Answer::Cursor {
        field: "firstBatch",
        batch,
    })
}

/// The members of an aggregation.
pub(crate) fn read(fields: &mut Fields, explains: bool) -> Result<Aggregate, Fault> {
    let Some(pipeline) = fields.list("pipeline")? else {
        return Err(fields.missing("pipeline"));
    };
    let cursor = fields.document_if("cursor")?;
    if cursor.is_none() && !explains {
        return Err(Fault::new(
            codes::FAILED_TO_PARSE,
            "The 'cursor' option is required, except for aggregate with the explain argument",
        ));
    }
    let mut cursor = Fields::new("aggregate.cursor", cursor.unwrap_or_default());
    let batch_size = cursor.size("batchSize")?;
    cursor.end()?;
    let terms = terms(fields, "let")?;
    fields.ignore(&[
        "allowDiskUse",
        "bypassDocumentValidation",
        "exchange",
        "fromMongos",
        "needsMerge",
    ]);
    Ok(Aggregate {
        pipeline,
        batch_size: batch_size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)),
        terms,
        single_batch: false,
    })
}
