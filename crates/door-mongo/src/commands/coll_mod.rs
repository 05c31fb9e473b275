//! Changes a collection: one of its indexes.

use lapsedb_service::documents::{self, Fault, IndexChange};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;
use crate::notes;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let index = fields.document_if("index")?;
    let images = fields.any("changeStreamPreAndPostImages");
    for name in [
        "validator",
        "validationLevel",
        "validationAction",
        "viewOn",
        "pipeline",
        "cappedSize",
        "cappedMax",
        "expireAfterSeconds",
    ] {
        if fields.any(name).is_some() {
            return Err(Fault::new(
                115,
                format!("collMod of '{name}' is not supported"),
            ));
        }
    }
    fields.end()?;
    let mut reply = Object::with_capacity(4);
    if let Some(images) = images {
        documents::set_option(
            &mut call.work(),
            &namespace,
            "changeStreamPreAndPostImages",
            images,
        )
        .await?;
    }
    let Some(members) = index else {
        documents::list_indexes(&mut call.work(), &namespace).await?;
        return Ok(Answer::Plain(reply));
    };
    let mut members = Fields::new("collMod.index", members);
    let change = IndexChange {
        name: members.text("name")?,
        key: members.document_if("keyPattern")?,
        expire_after: members.raw("expireAfterSeconds"),
        hidden: match members.any("hidden") {
            None => None,
            Some(Value::Bool(hidden)) => Some(hidden),
            Some(other) => return Err(members.wrong("hidden", &other, "bool")),
        },
    };
    members.end()?;
    let changed = documents::change_index(&mut call.work(), &namespace, &change).await?;
    if let Some(old) = changed.expire_old {
        reply.push("expireAfterSeconds_old", Value::Int64(old));
    }
    if let Some(new) = changed.expire_new {
        reply.push("expireAfterSeconds_new", Value::Int64(new));
    }
    if let Some(name) = &changed.dateless {
        reply.push("note", notes::dateless(&namespace, name));
    }
    if let Some((old, new)) = changed.hidden {
        reply.push("hidden_old", old);
        reply.push("hidden_new", new);
    }
    Ok(Answer::Plain(reply))
}
