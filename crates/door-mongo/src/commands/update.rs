//! Changes documents.

use lapsedb_service::documents::{self, Change, Fault, Terms};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::insert::reply;
use crate::commands::terms;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let statements = fields.documents("updates")?;
    let ordered = fields.truth("ordered", true)?;
    let variables = fields.document("let")?;
    let bypass = fields.truth("bypassDocumentValidation", false)?;
    fields.end()?;
    let statements = statements
        .into_iter()
        .map(|members| statement(members, &variables))
        .collect::<Result<Vec<_>, _>>()?;
    let mut work = call.begin().await?.bypassing_validation(bypass);
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
    let array_filters = array_filters(&mut fields)?;
    let own = terms(&mut fields, "c")?;
    let change = Change {
        filter,
        update,
        many: fields.truth("multi", false)?,
        upsert: fields.truth("upsert", false)?,
        array_filters,
        terms: Terms {
            collation: own.collation,
            variables: merged(variables, own.variables),
            hint: own.hint,
        },
    };
    fields.ignore(&["upsertSupplied"]);
    fields.end()?;
    Ok(change)
}

/// The variables of a command and of its statement, which come first.
fn merged(outer: &Object, mut own: Object) -> Object {
    for (name, value) in outer.iter() {
        if !own.contains_key(name) {
            own.push(name.clone(), value.clone());
        }
    }
    own
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
