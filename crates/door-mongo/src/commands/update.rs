//! Changes documents.

use lapsedb_service::documents::{self, Change, Fault, Terms};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::insert::reply;
use crate::commands::{KEEP_EMPTY_STAMPS, statement_terms};
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let statements = fields.documents("updates")?;
    let ordered = fields.truth("ordered", true)?;
    let variables = fields.document("let")?;
    let bypass = fields.truth("bypassDocumentValidation", false)?;
    let keeps_empty = fields.truth(KEEP_EMPTY_STAMPS, false)?;
    fields.end()?;
    let statements = statements
        .into_iter()
        .map(|members| statement(members, &variables))
        .collect::<Result<Vec<_>, _>>()?;
    let work = call.begin().await?.bypassing_validation(bypass);
    let mut work = work.keeping_empty_stamps(keeps_empty);
    let wrote = documents::update(&mut work, &namespace, &statements, ordered).await;
    let wrote = work.end_writes(wrote).await?;
    Ok(Answer::Plain(reply(&wrote, true)))
}

fn statement(members: Object, variables: &Object) -> Result<Change, Fault> {
    let mut fields = Fields::new("update.updates", members);
    let Some(filter) = fields.document_if("q")? else {
        return Err(fields.missing("q"));
    };
    let Some(update) = fields.raw("u") else {
        return Err(fields.missing("u"));
    };
    check_form(&update)?;
    let array_filters = array_filters(&mut fields)?;
    let terms = Terms {
        variables: variables.clone(),
        constants: fields.document_if("c")?,
        ..statement_terms(&mut fields)?
    };
    let change = Change {
        filter,
        update,
        many: fields.truth("multi", false)?,
        upsert: fields.truth("upsert", false)?,
        array_filters,
        supplied: fields.truth("upsertSupplied", false)?,
        terms,
    };
    fields.end()?;
    Ok(change)
}

/// Refuses an update that is neither a document nor a list of stages. Then no statement of the command is executed.
fn check_form(update: &Value) -> Result<(), Fault> {
    match update {
        Value::Object(_) => Ok(()),
        Value::Array(stages) if stages.iter().all(|stage| stage.as_object().is_some()) => Ok(()),
        Value::Array(_) => Err(Fault::new(
            codes::TYPE_MISMATCH,
            "Each element of the 'pipeline' array must be an object",
        )),
        _ => Err(Fault::new(
            codes::FAILED_TO_PARSE,
            "Update argument must be either an object or an array",
        )),
    }
}

/// Which elements of arrays are meant.
pub(crate) fn array_filters(fields: &mut Fields) -> Result<Vec<Object>, Fault> {
    let Some(list) = fields.list("arrayFilters")? else {
        return Ok(Vec::new());
    };
    list.into_iter()
        .map(|one| match one {
            Value::Object(filter) => Ok(filter),
            _ => Err(Fault::new(
                codes::TYPE_MISMATCH,
                "arrayFilters must be documents",
            )),
        })
        .collect()
}
