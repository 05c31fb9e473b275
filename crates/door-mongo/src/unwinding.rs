//! What a client is answered when its command panics.

use lapsedb_service::Panicked;
use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::codes;

/// Logs a panic, and says what the client is answered: nothing of the inside.
pub(crate) fn fault(panicked: &Panicked, command: &str) -> Fault {
    tracing::error!(command, panic = %panicked, "a command panicked");
    let mut info = Object::new();
    if command == "commitTransaction" {
        // Sent again, it is answered by what the store knows.
        let label = Value::from("UnknownTransactionCommitResult");
        info.push("errorLabels", Value::Array(vec![label]));
    }
    let message = "the command failed by an error in the server, which has logged it";
    Fault::with(codes::INTERNAL_ERROR, message, info)
}
