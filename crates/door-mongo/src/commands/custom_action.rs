//! The extension of Cosmos: makes, changes and shows databases and collections with their throughput.

use lapsedb_service::documents::{self, Fault, Making, Namespace, Provisioned};
use lapsedb_service::offers::Wanted;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let action = match fields.own(call) {
        Value::String(action) => action.to_string(),
        other => return Err(fields.wrong("customAction", &other, "string")),
    };
    let of = match action.strip_suffix("Collection") {
        Some(_) => {
            let Some(name) = fields.text("collection")? else {
                return Err(fields.missing("collection"));
            };
            Provisioned::Collection(Namespace::new(&call.database, &name)?)
        }
        None => Provisioned::Database(call.database.clone()),
    };
    let wanted = throughput(&mut fields)?;
    let indexes = match action.as_str() {
        "CreateCollection" => indexes(&mut fields)?,
        _ => Vec::new(),
    };
    if action == "CreateCollection" {
        // All of a collection lies on one server, whatever its key.
        fields.any("shardKey");
    }
    fields.end()?;
    let mut work = call.work();
    match action.as_str() {
        "CreateDatabase" | "CreateCollection" => {
            documents::provision(&mut work, &of, Making::New, wanted.as_ref()).await?;
        }
        "UpdateDatabase" | "UpdateCollection" => {
            documents::provision(&mut work, &of, Making::There, wanted.as_ref()).await?;
        }
        "GetDatabase" | "GetCollection" => {
            let told = documents::provisioned(&mut work, &of).await?;
            return Ok(Answer::Plain(told));
        }
        other => {
            return Err(Fault::new(
                codes::COMMAND_NOT_FOUND,
                format!("no such customAction: '{other}'"),
            ));
        }
    }
    if let (Provisioned::Collection(namespace), false) = (&of, indexes.is_empty()) {
        documents::create_indexes(&mut work, namespace, indexes).await?;
    }
    Ok(Answer::ok())
}

/// The throughput that is asked for, always so much or up to so much.
fn throughput(fields: &mut Fields) -> Result<Option<Wanted>, Fault> {
    let manual = fields.any("offerThroughput");
    let autoscale = fields.any("autoScaleSettings");
    let mut content = Object::with_capacity(1);
    match (manual, autoscale) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(Fault::new(
                codes::BAD_VALUE,
                "offerThroughput and autoScaleSettings cannot be given together",
            ));
        }
        (Some(rate), None) => content.push("offerThroughput", rate),
        (None, Some(settings)) => content.push("offerAutopilotSettings", settings),
    }
    Ok(Some(Wanted::of_content(&Value::Object(content))?))
}

/// The indexes that a new collection is to have, that on `_id` apart.
fn indexes(fields: &mut Fields) -> Result<Vec<Object>, Fault> {
    let Some(list) = fields.list("indexes")? else {
        return Ok(Vec::new());
    };
    let mut indexes = Vec::with_capacity(list.len());
    for index in list {
        let Value::Object(index) = index else {
            return Err(fields.wrong("indexes", &index, "object"));
        };
        let name = index.get("name").and_then(Value::as_str);
        if !name.is_some_and(|name| name.starts_with("_id")) {
            indexes.push(index);
        }
    }
    Ok(indexes)
}
