//! Sessions as clients name them: a number of their own, and whose it is.

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions::{Asked, SessionId};
use lapsedb_value::{Object, Value};

use crate::auth::Login;
use crate::codes;
use crate::fields::whole;
use crate::types;

/// The digest of who has logged in; that of nothing, where nobody has.
pub(crate) fn user_digest(login: Option<&Login>) -> [u8; 32] {
    match login {
        Some(login) => SessionId::user(&login.user, &login.database),
        None => SessionId::nobody(),
    }
}

/// Whose sessions a client may name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    digest: [u8; 32],
    /// Nobody has to log in, so that a client may say whose a session is.
    named_freely: bool,
}

impl Owner {
    /// Who asks on a connection.
    pub(crate) fn of(login: Option<&Login>, auth: bool) -> Owner {
        Owner {
            digest: user_digest(login),
            named_freely: login.is_none() && !auth,
        }
    }

    /// One user alone.
    pub(crate) const fn only(digest: [u8; 32]) -> Owner {
        Owner {
            digest,
            named_freely: false,
        }
    }
}

/// What a command says of its session and its transaction, taken out of it.
pub(crate) fn take(body: &mut Object, owner: Owner) -> Result<Asked, Fault> {
    let invalid = |text: &str| Fault::new(codes::INVALID_OPTIONS, text);
    let session = match body.remove("lsid") {
        None => None,
        Some(lsid) => Some(read(&lsid, owner)?),
    };
    let number = match body.remove("txnNumber") {
        None => None,
        Some(Value::Int64(number)) if number < 0 => {
            return Err(invalid("Transaction number cannot be negative"));
        }
        Some(Value::Int64(number)) => Some(number),
        Some(other) => return Err(wrong("txnNumber", &other, "long")),
    };
    if number.is_some() && session.is_none() {
        return Err(invalid(
            "Transaction number requires a session ID to also be specified",
        ));
    }
    let start = match body.remove("startTransaction") {
        None => false,
        Some(Value::Bool(true)) => true,
        Some(Value::Bool(false)) => {
            return Err(invalid("Specifying startTransaction=false is not allowed."));
        }
        Some(other) => return Err(wrong("startTransaction", &other, "bool")),
    };
    let in_transaction = match body.remove("autocommit") {
        None => false,
        Some(Value::Bool(false)) => true,
        Some(Value::Bool(true)) => {
            return Err(invalid("Specifying autocommit=true is not allowed."));
        }
        Some(other) => return Err(wrong("autocommit", &other, "bool")),
    };
    if in_transaction && number.is_none() {
        return Err(invalid(
            "'autocommit' field requires a transaction number to also be specified",
        ));
    }
    if start && !in_transaction {
        return Err(invalid(
            "'startTransaction' field requires 'autocommit' field to also be specified",
        ));
    }
    let small = |value: &Value| i32::try_from(whole(value)).unwrap_or(0);
    Ok(Asked {
        session,
        number,
        start,
        in_transaction,
        first_statement: body.remove("stmtId").map_or(0, |value| small(&value)),
        statements: body
            .remove("stmtIds")
            .and_then(|value| Some(value.as_array()?.iter().map(small).collect())),
        read_at: None,
    })
}

/// A session as a client names it. Whose it is the client may say only as it is, unless nobody has to log in.
pub(crate) fn read(lsid: &Value, owner: Owner) -> Result<SessionId, Fault> {
    let Value::Object(members) = lsid else {
        return Err(wrong("lsid", lsid, "object"));
    };
    let mut user = owner.digest;
    let mut id = None;
    for (name, value) in members.iter() {
        match (name.as_str(), value) {
            ("id", Value::Binary { bytes, .. }) if bytes.len() == 16 => id = Some(bytes.clone()),
            ("id", Value::Binary { .. }) => {
                return Err(Fault::new(
                    207,
                    "uuid must be a 16-byte binary field with UUID (4) subtype",
                ));
            }
            ("id", other) => return Err(wrong("lsid.id", other, "binData")),
            ("uid", Value::Binary { bytes, .. })
                if bytes.as_slice() == owner.digest
                    || (owner.named_freely && bytes.len() == 32) =>
            {
                user = bytes.as_slice().try_into().unwrap_or(user);
            }
            ("uid", Value::Binary { .. }) => {
                return Err(Fault::new(
                    codes::UNAUTHORIZED,
                    "Unauthorized to set user digest in LogicalSessionId",
                ));
            }
            ("uid", other) => return Err(wrong("lsid.uid", other, "binData")),
            (unknown, _) => {
                return Err(Fault::new(
                    codes::UNKNOWN_FIELD,
                    format!(
                        "BSON field 'OperationSessionInfo.lsid.{unknown}' is an unknown field."
                    ),
                ));
            }
        }
    }
    match id {
        Some(id) => Ok(SessionId { id, user }),
        None => Err(Fault::new(
            codes::MISSING_FIELD,
            "BSON field 'OperationSessionInfo.lsid.id' is missing but a required field",
        )),
    }
}

fn wrong(name: &str, found: &Value, expected: &str) -> Fault {
    Fault::new(
        codes::TYPE_MISMATCH,
        format!(
            "BSON field 'OperationSessionInfo.{name}' is the wrong type '{}', expected type '{expected}'",
            types::name(found)
        ),
    )
}
