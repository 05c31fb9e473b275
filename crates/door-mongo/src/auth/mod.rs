//! Logging in: SCRAM with both hashes, and plain over TLS; and what who is logged in may do.

mod admit;
mod login;
mod password;
mod rights;
mod sasl;
mod scram;
mod throttle;
mod users;

pub(crate) use admit::admit;
pub(crate) use login::{Kind, Login};
pub(crate) use password::{Hash, credentials};
pub(crate) use sasl::{Mechanism, Session, Start, Step, start};
pub(crate) use throttle::Throttle;
#[cfg(test)]
pub(crate) use users::Asker;
pub(crate) use users::{Users, is_account};
