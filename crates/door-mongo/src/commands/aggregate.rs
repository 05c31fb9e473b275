//! Runs a pipeline.

use lapsedb_service::documents::{self, Aggregate, Fault, Namespace};
use lapsedb_value::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::{explain, terms};
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let command = call.body.clone();
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
    check(call, &aggregate)?;
    if explains {
        refuse_concern(call.generic.write_concern.is_some())?;
        let explained =
            documents::explain_pipeline(&mut call.work(), &namespace, &aggregate, false).await?;
        return Ok(Answer::Plain(explain::reply(call, explained, command)));
    }
    let mut work = call.begin().await?.bypassing_validation(bypass);
    let batch = documents::aggregate(&mut work, &namespace, &aggregate).await;
    let batch = work.end(batch).await?;
    Ok(Answer::Cursor {
        field: "firstBatch",
        batch,
    })
}

/// Refuses a write concern for a pipeline that is explained: it writes nothing.
pub(crate) fn refuse_concern(is_given: bool) -> Result<(), Fault> {
    match is_given {
        false => Ok(()),
        true => Err(Fault::new(
            codes::FAILED_TO_PARSE,
            "Aggregation explain does not support the 'writeConcern' option",
        )),
    }
}

/// Stages that are not part of the stable API.
const UNSTABLE: [&str; 6] = [
    "$currentOp",
    "$indexStats",
    "$listLocalSessions",
    "$listSessions",
    "$planCacheStats",
    "$search",
];

/// Refuses stages that do not go with what else the command says.
fn check(call: &Call<'_>, aggregate: &Aggregate) -> Result<(), Fault> {
    let names = || {
        let stages = aggregate.pipeline.iter().filter_map(Value::as_object);
        stages.filter_map(|stage| stage.keys().next())
    };
    if call.generic.api_strict
        && let Some(name) = names().find(|name| UNSTABLE.contains(&name.as_str()))
    {
        return Err(Fault::new(
            codes::API_STRICT,
            format!("stage {name} is not allowed with 'apiStrict: true' in API Version 1"),
        ));
    }
    let concern = call.generic.read_concern.as_ref();
    if concern.is_some_and(|concern| concern.level.as_deref() == Some("linearizable"))
        && let Some(name) = names().find(|name| ["$out", "$merge"].contains(&name.as_str()))
    {
        return Err(Fault::new(
            codes::INVALID_OPTIONS,
            format!("{name} cannot be used with a 'linearizable' read concern level"),
        ));
    }
    let level = concern.and_then(|concern| concern.level.as_deref());
    if let Some(level) = level.filter(|level| *level != "majority")
        && names().next().is_some_and(|name| name == "$changeStream")
        && !call.generic.session.in_transaction
    {
        return Err(Fault::new(
            codes::INVALID_OPTIONS,
            format!(
                "Command aggregate does not support {{ readConcern: {{ level: \"{level}\", provenance: \"clientSupplied\" }} }} :: caused by :: Aggregation stage $changeStream cannot run with a readConcern other than 'majority'. Current readConcern: {level}"
            ),
        ));
    }
    if call.database != "admin" && names().any(|name| name == "$currentOp") {
        return Err(Fault::new(
            73,
            "$currentOp must be run against the 'admin' database with {aggregate: 1}",
        ));
    }
    Ok(())
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
    let terms = terms(fields)?;
    fields.ignore(&["allowDiskUse", "bypassDocumentValidation"]);
    Ok(Aggregate {
        pipeline,
        batch_size: batch_size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)),
        terms,
        single_batch: false,
    })
}
