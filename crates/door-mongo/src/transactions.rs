//! What a command may be in a transaction or as a retryable write, and which failures say "try all of it again".

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::codes;
use crate::generic::Generic;
use crate::registry::{self, Command};

/// Writes that a client may send again.
const RETRYABLE: [&str; 4] = ["delete", "findAndModify", "insert", "update"];
/// Commands that need something which an earlier command of the transaction has opened.
const NEVER_FIRST: [&str; 2] = ["getMore", "killCursors"];

/// Whether a command ends a transaction.
pub(crate) fn ends(command: &Command) -> bool {
    ["commitTransaction", "abortTransaction"].contains(&command.name)
}

/// Refuses what cannot be done in a transaction, or not so.
pub(crate) fn check(
    command: &Command,
    generic: &Generic,
    database: &str,
    body: &Object,
) -> Result<(), Fault> {
    let session = &generic.session;
    let name = command.name;
    if !session.in_transaction {
        if session.number.is_some() && !RETRYABLE.contains(&name) {
            return Err(Fault::new(
                50_768,
                format!(
                    "txnNumber may only be provided for multi-document transactions and retryable write commands. autocommit:false was not provided, and {name} is not a retryable write command."
                ),
            ));
        }
        return Ok(());
    }
    if ends(command) {
        return Ok(());
    }
    allowed(command, session.start, database, body)?;
    let invalid = |text: &str| Err(Fault::new(codes::INVALID_OPTIONS, text));
    if generic.write_concern.is_some() {
        return invalid("writeConcern is not allowed within a multi-statement transaction");
    }
    if generic.read_concern.is_some() && !session.start {
        return invalid("Only the first command in a transaction may specify a readConcern");
    }
    Ok(())
}

fn allowed(command: &Command, start: bool, database: &str, body: &Object) -> Result<(), Fault> {
    let name = command.name;
    let refused = |text: String| Err(Fault::new(codes::NOT_SUPPORTED_IN_TRANSACTION, text));
    if !registry::IN_TRANSACTION.contains(&name) {
        return refused(format!(
            "Cannot run '{name}' in a multi-document transaction."
        ));
    }
    if start && NEVER_FIRST.contains(&name) {
        return refused(format!(
            "Cannot run {name} as the first operation in a multi-document transaction."
        ));
    }
    if ["config", "local"].contains(&database) {
        return refused(format!(
            "Cannot run command against the '{database}' database in a transaction."
        ));
    }
    let collection = body.get(name).and_then(Value::as_str).unwrap_or_default();
    if RETRYABLE.contains(&name) && collection.starts_with("system.") {
        return Err(Fault::new(
            50_791,
            format!(
                "Cannot write to system collection {database}.{collection} within a transaction."
            ),
        ));
    }
    Ok(())
}
