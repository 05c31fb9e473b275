//! A command, parsed once: whether it may be run is decided from this, and this is what is run.

use lapsedb_service::documents::{Fault, RawDocument};
use lapsedb_value::{Object, Str, Value};

use crate::codes;
use crate::registry::{self, Command};

/// Members whose insides are the client's own: documents, conditions, orders, keys and variables may name a field twice, and
/// what that means is for who reads them. A pipeline's stages refuse it themselves.
const FREE: [&str; 27] = [
    "arrayFilters",
    "c",
    "client",
    "comment",
    "customData",
    "documents",
    "explain",
    "fields",
    "filter",
    "hint",
    "key",
    "keyPattern",
    "let",
    "max",
    "min",
    "new",
    "partialFilterExpression",
    "pipeline",
    "projection",
    "q",
    "query",
    "sort",
    "storageEngine",
    "u",
    "update",
    "validator",
    "weights",
];

/// A command that has been parsed.
pub(crate) struct Request {
    pub(crate) command: &'static Command,
    /// Its name as the client wrote it.
    pub(crate) name: Str,
    pub(crate) database: String,
    /// Its members. No name is there twice, at this level or below where the command itself is described.
    pub(crate) body: Object,
    /// The command that an explain is about, taken out of the body.
    pub(crate) explained: Option<Box<Request>>,
    /// Documents of an insert that have not been read; they are not in the body.
    pub(crate) raw_documents: Vec<RawDocument>,
}

/// A command that could not be parsed.
pub(crate) struct Refused {
    /// Its name as the registry knows it, or `other`.
    pub(crate) command: &'static str,
    pub(crate) fault: Fault,
}

impl Request {
    /// Parses a command for a database.
    pub(crate) fn parse(database: String, mut body: Object) -> Result<Request, Refused> {
        let name = body.keys().next().cloned().unwrap_or_default();
        let Some(command) = registry::find(&name) else {
            let fault = Fault::new(
                codes::COMMAND_NOT_FOUND,
                format!("no such command: '{name}'"),
            );
            let command = "other";
            return Err(Refused { command, fault });
        };
        let refused = |fault| Refused {
            command: command.name,
            fault,
        };
        refuse_duplicates(command.name, &body).map_err(refused)?;
        let explained = match command.name {
            "explain" => explained(&database, body.remove(&name)).map_err(refused)?,
            _ => None,
        };
        Ok(Request {
            command,
            name,
            database,
            body,
            explained,
            raw_documents: Vec::new(),
        })
    }
}

/// The command that an explain is about; nothing, if there is no document.
fn explained(database: &str, inner: Option<Value>) -> Result<Option<Box<Request>>, Fault> {
    let Some(Value::Object(mut inner)) = inner else {
        return Ok(None);
    };
    let name = inner.keys().next().cloned().unwrap_or_default();
    let command = match registry::find(&name) {
        Some(command) if command.name == "explain" => {
            let message = "Explain cannot explain itself.";
            return Err(Fault::new(codes::ILLEGAL_OPERATION, message));
        }
        Some(command) => command,
        None => {
            return Err(Fault::new(
                codes::COMMAND_NOT_FOUND,
                format!("Explain failed due to unknown command: {name}"),
            ));
        }
    };
    refuse_duplicates(command.name, &inner)?;
    match take_database(&mut inner)? {
        None => {}
        Some(Value::String(own)) if own == database => {}
        Some(other) => {
            return Err(Fault::new(
                codes::INVALID_NAMESPACE,
                format!(
                    "Mismatched $db in explain command. Expected {database} but got {}",
                    other.as_str().unwrap_or_default()
                ),
            ));
        }
    }
    Ok(Some(Box::new(Request {
        command,
        name,
        database: database.to_owned(),
        body: inner,
        explained: None,
        raw_documents: Vec::new(),
    })))
}

/// Takes the name of the database out of a command.
pub(crate) fn take_database(body: &mut Object) -> Result<Option<Value>, Fault> {
    let database = body.remove("$db");
    match body.contains_key("$db") {
        true => Err(duplicate("$db")),
        false => Ok(database),
    }
}

/// Refuses a member that is there twice.
fn refuse_duplicates(context: &str, members: &Object) -> Result<(), Fault> {
    match duplicate_in(members) {
        None => Ok(()),
        Some(path) => Err(duplicate(&format!("{context}.{path}"))),
    }
}

/// The path of the first member that is there twice.
fn duplicate_in(members: &Object) -> Option<String> {
    if let Some(name) = members.duplicate() {
        return Some(name.to_string());
    }
    let described = |(name, _): &(&Str, &Value)| !FREE.contains(&name.as_str());
    members.iter().filter(described).find_map(|(name, value)| {
        let path = duplicate_inside(value)?;
        Some(format!("{name}.{path}"))
    })
}

fn duplicate_inside(value: &Value) -> Option<String> {
    match value {
        Value::Object(inner) => duplicate_in(inner),
        Value::Array(elements) => elements.iter().find_map(duplicate_inside),
        _ => None,
    }
}

fn duplicate(field: &str) -> Fault {
    Fault::new(
        codes::DUPLICATE_FIELD,
        format!("BSON field '{field}' is a duplicate field"),
    )
}
