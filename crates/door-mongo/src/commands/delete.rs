//! Deletes documents.

use lapsedb_service::documents::{self, Delete, Fault, Terms};
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::insert::reply;
use crate::commands::terms;
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
    let many = match fields.integer("limit")? {
        Some(0) => true,
        Some(1) => false,
        Some(other) => {
            return Err(Fault::new(
                codes::FAILED_TO_PARSE,
                format!("The limit field in delete objects must be 0 or 1. Got {other}"),
            ));
        }
        None => return Err(fields.missing("limit")),
    };
    let terms = Terms {
        variables: variables.clone(),
        ..terms(&mut fields, "c")?
    };
    fields.end()?;
    Ok(Delete {
        filter,
        many,
        terms,
    })
}
