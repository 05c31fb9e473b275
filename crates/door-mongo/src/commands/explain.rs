//! Tells how a command would be executed.

use lapsedb_service::documents::{self, Explains, Fault, Find, Namespace, Terms};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::{
    aggregate, build_info, find, find_and_modify, hello, statement_terms, terms,
};
use crate::fields::Fields;
use crate::request::Request;

const VERBOSITIES: [&str; 3] = ["queryPlanner", "executionStats", "allPlansExecution"];

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let Some(explained) = call.explained.take() else {
        return Err(fields.missing("explain"));
    };
    let Request {
        name,
        body: command,
        ..
    } = *explained;
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
    let shown = command.clone();
    let namespace = match command.get(&name) {
        Some(Value::String(collection)) => Namespace::new(&call.database, collection)?,
        _ => Namespace::pseudo(&call.database, "$cmd.aggregate"),
    };
    let execute = verbosity != "queryPlanner";
    let explained = if name == "aggregate" {
        aggregate::refuse_concern(command.contains_key("writeConcern"))?;
        let mut fields = Fields::new(&name, command);
        fields.raw("aggregate");
        let aggregate = aggregate::read(&mut fields, true)?;
        documents::explain_pipeline(&mut call.work(), &namespace, &aggregate, execute).await?
    } else {
        let (explains, find) = asked(&name, command)?;
        documents::explain(&mut call.work(), &namespace, (explains, &find), execute).await?
    };
    Ok(Answer::Plain(reply(call, explained, shown)))
}

/// What was explained, and of what.
pub(crate) fn reply(call: &Call<'_>, explained: Object, command: Object) -> Object {
    let mut reply = Object::with_capacity(6);
    reply.push("explainVersion", "1");
    for (name, value) in explained {
        reply.push(name, value);
    }
    reply.push("command", Value::Object(command));
    reply.push("serverInfo", Value::Object(server(call)));
    reply
}

/// What a command looks for, as a find, and what it does with it.
fn asked(name: &str, command: Object) -> Result<(Explains, Find), Fault> {
    let mut fields = Fields::new(name, command);
    match name {
        "find" => {
            fields.raw("find");
            Ok((Explains::Find, find::read(&mut fields)?))
        }
        "count" => Ok((
            Explains::Count,
            Find {
                filter: fields.document("query")?,
                skip: fields.size("skip")?.unwrap_or(0),
                limit: fields.integer("limit")?.unwrap_or(0).unsigned_abs(),
                terms: terms(&mut fields)?,
                ..Find::default()
            },
        )),
        "distinct" => Ok((
            Explains::Distinct,
            Find {
                filter: fields.document("query")?,
                terms: terms(&mut fields)?,
                ..Find::default()
            },
        )),
        "findAndModify" | "findandmodify" => {
            let read = find_and_modify::read(&mut fields)?;
            let explains = match read.change {
                Some(_) => Explains::Update,
                None => Explains::Delete,
            };
            Ok((
                explains,
                Find {
                    filter: read.filter,
                    sort: read.sort,
                    limit: 1,
                    terms: read.terms,
                    ..Find::default()
                },
            ))
        }
        "update" => {
            let statement = first(&mut fields, "updates")?;
            let many = matches!(statement.get("multi"), Some(Value::Bool(true)));
            Ok((Explains::Update, written(statement, many)?))
        }
        "delete" => {
            let statement = first(&mut fields, "deletes")?;
            let many = statement.get("limit").and_then(Value::as_i64) == Some(0);
            Ok((Explains::Delete, written(statement, many)?))
        }
        _ => Err(Fault::new(
            codes::ILLEGAL_OPERATION,
            format!("Cannot explain cmd: {name}"),
        )),
    }
}

fn first(fields: &mut Fields, name: &str) -> Result<Object, Fault> {
    let statements = fields.documents(name)?;
    Ok(statements.into_iter().next().unwrap_or_default())
}

/// What a statement that writes looks for.
fn written(statement: Object, many: bool) -> Result<Find, Fault> {
    let mut fields = Fields::new("explain", statement);
    Ok(Find {
        filter: fields.document("q")?,
        limit: u64::from(!many),
        terms: Terms {
            constants: fields.document_if("c")?,
            ..statement_terms(&mut fields)?
        },
        ..Find::default()
    })
}

fn server(call: &Call<'_>) -> Object {
    let mut server = Object::with_capacity(3);
    server.push("host", hello::host(call));
    server.push("port", i32::from(call.connection.peer.server.port()));
    server.push("version", build_info::VERSION);
    server
}
