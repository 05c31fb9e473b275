//! Tells how a command would be executed.

use lapsedb_service::documents::{self, Fault, Find, Namespace};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::{build_info, find, find_and_modify, hello};
use crate::fields::Fields;

const VERBOSITIES: [&str; 3] = ["queryPlanner", "executionStats", "allPlansExecution"];

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let Value::Object(mut command) = fields.own(call) else {
        return Err(fields.missing("explain"));
    };
    let verbosity = fields
        .text("verbosity")?
        .unwrap_or_else(|| "allPlansExecution".to_owned());
    fields.end()?;
    if !VERBOSITIES.contains(&verbosity.as_str()) {
        return Err(Fault::new(
            codes::FAILED_TO_PARSE,
            "verbosity string must be one of {'queryPlanner', 'executionStats', 'allPlansExecution'}",
        ));
    }
    command.remove("$db");
    let shown = command.clone();
    let name = command.keys().next().cloned().unwrap_or_default();
    let namespace = match command.get(&name) {
        Some(Value::String(collection)) => Namespace::new(&call.database, collection)?,
        _ => Namespace::pseudo(&call.database, "$cmd.aggregate"),
    };
    if name == "aggregate" {
        return pipeline(call, &namespace);
    }
    let find = asked(&name, command)?;
    let explained = documents::explain(
        &mut call.work(),
        &namespace,
        &find,
        verbosity != "queryPlanner",
    )
    .await?;
    let mut reply = Object::with_capacity(6);
    reply.push("explainVersion", "1");
    for (name, value) in explained {
        reply.push(name, value);
    }
    reply.push("command", Value::Object(shown));
    reply.push("serverInfo", Value::Object(server(call)));
    Ok(Answer::Plain(reply))
}

/// What a command looks for, as a find.
fn asked(name: &str, command: Object) -> Result<Find, Fault> {
    let mut fields = Fields::new(name, command);
    match name {
        "find" => {
            fields.raw("find");
            find::read(&mut fields)
        }
        "count" | "distinct" => {
            let filter = fields.document("query")?;
            Ok(Find {
                filter,
                ..Find::default()
            })
        }
        "findAndModify" | "findandmodify" => {
            let read = find_and_modify::read(&mut fields)?;
            Ok(Find {
                filter: read.filter,
                sort: read.sort,
                limit: 1,
                ..Find::default()
            })
        }
        "update" | "delete" => {
            let field = if name == "update" {
                "updates"
            } else {
                "deletes"
            };
            let statement = fields
                .documents(field)?
                .into_iter()
                .next()
                .unwrap_or_default();
            let filter = statement.get("q").and_then(Value::as_object).cloned();
            Ok(Find {
                filter: filter.unwrap_or_default(),
                ..Find::default()
            })
        }
        _ => Err(Fault::new(
            codes::COMMAND_NOT_FOUND,
            format!("Explain failed due to unknown command: {name}"),
        )),
    }
}

/// A pipeline is read from the collection and run stage by stage.
pub(crate) fn pipeline(call: &Call<'_>, namespace: &Namespace) -> Result<Answer, Fault> {
    let mut plan = Object::with_capacity(1);
    plan.push("stage", "COLLSCAN");
    let mut planner = Object::with_capacity(4);
    planner.push("namespace", namespace.to_string());
    planner.push("indexFilterSet", false);
    planner.push("winningPlan", Value::Object(plan));
    planner.push("rejectedPlans", Value::Array(Vec::new()));
    let mut reply = Object::with_capacity(3);
    reply.push("explainVersion", "1");
    reply.push("queryPlanner", Value::Object(planner));
    reply.push("serverInfo", Value::Object(server(call)));
    Ok(Answer::Plain(reply))
}

fn server(call: &Call<'_>) -> Object {
    let mut server = Object::with_capacity(3);
    server.push("host", hello::host(call));
    server.push("port", i32::from(call.connection.peer.server.port()));
    server.push("version", build_info::VERSION);
    server
}
