//! Changes or deletes one document and shows it.

use lapsedb_service::documents::{self, Change, Fault, FindAndModify, Modified, clash};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::update::array_filters;
use crate::commands::{KEEP_EMPTY_STAMPS, terms};
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let bypass = fields.truth("bypassDocumentValidation", false)?;
    let keeps_empty = fields.truth(KEEP_EMPTY_STAMPS, false)?;
    let asked = read(&mut fields)?;
    fields.end()?;
    let work = call.begin().await?.bypassing_validation(bypass);
    let mut work = work.keeping_empty_stamps(keeps_empty);
    let modified = documents::find_and_modify(&mut work, &namespace, &asked).await;
    let modified = work.end(modified).await?;
    Ok(Answer::Plain(show(modified, asked.change.is_none())))
}

pub(crate) fn read(fields: &mut Fields) -> Result<FindAndModify, Fault> {
    let terms = terms(fields)?;
    let filter = fields.document("query")?;
    let remove = fields.truth("remove", false)?;
    let new = fields.truth("new", false)?;
    let upsert = fields.truth("upsert", false)?;
    let update = fields.any("update");
    let array_filters = array_filters(fields)?;
    let asked = FindAndModify {
        sort: fields.document("sort")?,
        fields: fields.document("fields")?,
        change: match (remove, update) {
            (true, Some(_)) => return Err(clash("Cannot specify both an update and remove=true")),
            (true, None) if upsert => {
                return Err(clash("Cannot specify both upsert=true and remove=true"));
            }
            (true, None) if new => {
                return Err(clash(
                    "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document",
                ));
            }
            (true, None) => None,
            (false, None) => {
                return Err(clash("Either an update or remove=true must be specified"));
            }
            (false, Some(update)) => Some(Change {
                filter: filter.clone(),
                update,
                many: false,
                upsert,
                array_filters,
                supplied: false,
                terms: terms.clone(),
            }),
        },
        filter,
        new,
        terms,
    };
    fields.ignore(&["bypassDocumentValidation", KEEP_EMPTY_STAMPS]);
    Ok(asked)
}

fn show(modified: Modified, removes: bool) -> Object {
    let mut last = Object::with_capacity(3);
    last.push("n", i32::try_from(modified.n).unwrap_or(i32::MAX));
    if !removes {
        last.push(
            "updatedExisting",
            modified.updated_existing.unwrap_or(false),
        );
    }
    if let Some(id) = modified.upserted {
        last.push("upserted", id);
    }
    let mut reply = Object::with_capacity(4);
    reply.push("lastErrorObject", Value::Object(last));
    reply.push("value", modified.value.map_or(Value::Null, Value::Object));
    if let Some(statement) = modified.retried {
        reply.push("retriedStmtId", statement);
    }
    reply
}
