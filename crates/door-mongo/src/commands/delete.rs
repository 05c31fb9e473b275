//! Deletes documents.

use lapsedb_service::documents::{self, Delete, Fault};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::insert::reply;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let statements = fields.documents("deletes")?;
    let ordered = fields.truth("ordered", true)?;
    let _: Option<Value> = fields.raw("let");
    fields.end()?;
    let statements = statements
        .into_iter()
        .map(statement)
        .collect::<Result<Vec<_>, _>>()?;
    let wrote = documents::delete(&mut call.work(), &namespace, &statements, ordered).await?;
    Ok(Answer::Plain(reply(&wrote, false)))
}

fn statement(members: Object) -> Result<Delete, Fault> {
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
    for name in ["collation", "hint"] {
        let _: Option<Value> = fields.raw(name);
    }
    fields.end()?;
    Ok(Delete { filter, many })
}
