//! Deletes documents.

use lapsedb_service::documents::{self, Delete, Fault, Terms};
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::insert::reply;
use crate::commands::statement_terms;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let statements = fields.documents("deletes")?;
    let ordered = fields.truth("ordered", true)?;
    let variables = fields.document("let")?;
    fields.end()?;
    let statements = statements
        .into_iter()
        .map(|members| statement(members, &variables))
        .collect::<Result<Vec<_>, _>>()?;
    let mut work = call.begin().await?;
    let wrote = documents::delete(&mut work, &namespace, &statements, ordered).await;
    let wrote = work.end_writes(wrote).await?;
    Ok(Answer::Plain(reply(&wrote, false)))
}

fn statement(members: Object, variables: &Object) -> Result<Delete, Fault> {
    let mut fields = Fields::new("delete.deletes", members);
    let Some(filter) = fields.document_if("q")? else {
        return Err(fields.missing("q"));
    };
    let many = is_of_many(&mut fields)?;
    let terms = Terms {
        variables: variables.clone(),
        ..statement_terms(&mut fields)?
    };
    fields.end()?;
    Ok(Delete {
        filter,
        many,
        terms,
    })
}

/// Whether a statement deletes all that match. A limit that is neither 0 nor 1 means nothing that could be guessed.
fn is_of_many(fields: &mut Fields) -> Result<bool, Fault> {
    let Some(limit) = fields.number("limit")? else {
        return Err(fields.missing("limit"));
    };
    match limit {
        0.0 => Ok(true),
        1.0 => Ok(false),
        _ => Err(Fault::new(
            codes::FAILED_TO_PARSE,
            format!("The limit field in delete objects must be 0 or 1. Got {limit}"),
        )),
    }
}
