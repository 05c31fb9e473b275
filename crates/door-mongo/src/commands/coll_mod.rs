//! Changes a collection, one of its indexes, or a view.

use lapsedb_service::documents::{self, Fault, IndexChange, MODIFY_OPTIONS};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;
use crate::notes;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let index = fields.document_if("index")?;
    let on = fields.text("viewOn")?;
    let pipeline = fields.list("pipeline")?;
    let mut members = Object::new();
    for name in MODIFY_OPTIONS {
        if let Some(value) = fields.any(name) {
            members.push(name, value);
        }
    }
    for name in ["expireAfterSeconds", "timeseries", "dryRun"] {
        if fields.any(name).is_some() {
            return Err(Fault::new(
                115,
                format!("collMod of '{name}' is not supported"),
            ));
        }
    }
    fields.end()?;
    if documents::is_view(&call.work(), &namespace).await? {
        let other = members.keys().next().map(|name| name.to_string());
        if let Some(name) = other.or_else(|| index.map(|_| "index".to_owned())) {
            return Err(Fault::new(
                codes::INVALID_OPTIONS,
                format!("option not supported on a view: {name}"),
            ));
        }
        let mut work = call.work();
        documents::change_view(&mut work, &namespace, on.as_deref(), pipeline.as_deref()).await?;
        return Ok(Answer::ok());
    }
    for (name, given) in [("pipeline", pipeline.is_some()), ("viewOn", on.is_some())] {
        if given {
            return Err(Fault::new(
                codes::INVALID_OPTIONS,
                format!("option only supported on a view: {name}"),
            ));
        }
    }
    if index.is_none() || !members.is_empty() {
        documents::modify(&mut call.work(), &namespace, &members).await?;
    }
    let mut reply = Object::with_capacity(4);
    if let Some(members) = index {
        change_index(call, &namespace, members, &mut reply).await?;
    }
    Ok(Answer::Plain(reply))
}

async fn change_index(
    call: &Call<'_>,
    namespace: &documents::Namespace,
    members: Object,
    reply: &mut Object,
) -> Result<(), Fault> {
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
    for name in ["unique", "prepareUnique"] {
        if members.any(name).is_some() {
            return Err(Fault::new(
                115,
                format!("collMod of an index's '{name}' is not supported"),
            ));
        }
    }
    members.end()?;
    let changed = documents::change_index(&mut call.work(), namespace, &change).await?;
    if let Some(old) = changed.expire_old {
        reply.push("expireAfterSeconds_old", Value::Int64(old));
    }
    if let Some(new) = changed.expire_new {
        reply.push("expireAfterSeconds_new", Value::Int64(new));
    }
    if let Some(name) = &changed.not_by_value {
        reply.push("note", notes::not_by_value(namespace, name));
    } else if let Some(name) = &changed.dateless {
        reply.push("note", notes::dateless(namespace, name));
    }
    if let Some((old, new)) = changed.hidden {
        reply.push("hidden_old", old);
        reply.push("hidden_new", new);
    }
    Ok(())
}
