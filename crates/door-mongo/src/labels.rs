//! Labels on failures: by them drivers know what to send again, a write or a whole transaction.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::registry::Command;
use crate::transactions;

/// What a command is to the driver that sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Part of a transaction.
    Transaction,
    /// The end of one.
    End,
    /// A write that is sent again when it fails.
    Retryable,
    /// The beginning of a stream of changes, or its next part.
    Stream,
    /// Anything else.
    Other,
}

/// Codes after which a retryable write may be sent again.
const RETRYABLE: [i32; 12] = [
    6, 7, 89, 91, 189, 262, 9001, 10_107, 11_600, 11_602, 13_435, 13_436,
];
/// Further codes after which a stream may be resumed: of read preferences, of shards that have moved, of pools, and the one made for it.
const RESUMABLE: [i32; 7] = [63, 133, 150, 234, 249, 317, 13_388];
/// Codes after which a whole transaction may be begun again: locks, conflicts, states that are not kept any more.
const CONFLICTS: [i32; 5] = [24, 112, 239, 246, 267];
/// The code of a transaction that is not there.
const NO_SUCH_TRANSACTION: i32 = 251;

impl Role {
    pub(crate) fn of(command: &Command, body: &Object) -> Role {
        let numbered = body.contains_key("txnNumber");
        if transactions::ends(command) {
            Role::End
        } else if body.contains_key("autocommit") {
            Role::Transaction
        } else if numbered {
            Role::Retryable
        } else if command.name == "aggregate" && begins_stream(body) {
            Role::Stream
        } else {
            Role::Other
        }
    }

    /// Whether drivers send it again by itself.
    pub(crate) fn is_sent_again(self) -> bool {
        matches!(self, Role::End | Role::Retryable)
    }

    fn label(self, code: i32) -> Option<&'static str> {
        let conflict = CONFLICTS.contains(&code) || code == NO_SUCH_TRANSACTION;
        let again = RETRYABLE.contains(&code);
        match self {
            Role::Transaction | Role::End if conflict => Some("TransientTransactionError"),
            Role::Transaction if again => Some("TransientTransactionError"),
            Role::End | Role::Retryable if again => Some("RetryableWriteError"),
            Role::Stream if again || RESUMABLE.contains(&code) => {
                Some("ResumableChangeStreamError")
            }
            Role::Transaction | Role::End | Role::Retryable | Role::Stream | Role::Other => None,
        }
    }
}

/// Whether the pipeline of a command begins a stream of changes.
pub(crate) fn begins_stream(body: &Object) -> bool {
    let stages = body.get("pipeline").and_then(Value::as_array);
    let first = stages.and_then(<[Value]>::first).and_then(Value::as_object);
    first.is_some_and(|stage| stage.contains_key("$changeStream"))
}

/// A failure with its label.
pub(crate) fn of_fault(fault: Fault, role: Role) -> Fault {
    match fault {
        Fault::Said {
            code,
            message,
            mut info,
        } => {
            if let (Some(label), false) = (role.label(code), info.contains_key("errorLabels")) {
                info.push("errorLabels", Value::Array(vec![Value::from(label)]));
            }
            Fault::with(code, message, info)
        }
        other => other,
    }
}

/// The labels of a reply that says this of its write concern.
pub(crate) fn of_concern(concern: &Object, role: Role) -> Vec<Value> {
    let code = concern.get("code").and_then(Value::as_i64);
    let code = code.and_then(|code| i32::try_from(code).ok());
    let code = code.filter(|code| RETRYABLE.contains(code) && role.is_sent_again());
    let label = code.and_then(|code| role.label(code));
    label.map(Value::from).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_says_what_is_sent_again() {
        let transient = Some("TransientTransactionError");
        let retryable = Some("RetryableWriteError");
        for (role, code, label) in [
            (Role::Transaction, 112, transient),
            (Role::Transaction, 91, transient),
            (Role::Transaction, 251, transient),
            (Role::Transaction, 11_000, None),
            (Role::End, 251, transient),
            (Role::End, 91, retryable),
            (Role::End, 256, None),
            (Role::Retryable, 91, retryable),
            (Role::Retryable, 251, None),
            (Role::Other, 91, None),
            (Role::Stream, 91, Some("ResumableChangeStreamError")),
            (Role::Stream, 234, Some("ResumableChangeStreamError")),
            (Role::Stream, 286, None),
            (Role::Retryable, 234, None),
        ] {
            assert_eq!(role.label(code), label, "{role:?} {code}");
        }
    }
}
