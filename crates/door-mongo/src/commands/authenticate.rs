//! Logs in by the certificate of the client. No certificates of clients are read here, so nobody can.

use lapsedb_service::documents::Fault;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

/// Ways to log in that the server knows, but not with this command.
const ELSEWHERE: [&str; 2] = ["SCRAM-SHA-1", "SCRAM-SHA-256"];

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    let mechanism = fields.text("mechanism")?;
    let missing = fields.missing("mechanism");
    fields.text("user")?;
    fields.end()?;
    match mechanism.as_deref() {
        None => Err(missing),
        Some("MONGODB-X509") => Err(Fault::new(
            codes::AUTHENTICATION_FAILED,
            "No verified subject name available from client",
        )),
        Some("") => Err(Fault::new(codes::BAD_VALUE, "Auth mechanism not specified")),
        Some(known) if ELSEWHERE.contains(&known) => Err(Fault::new(
            codes::BAD_VALUE,
            format!("Unsupported mechanism: {known}"),
        )),
        Some(other) => Err(Fault::new(
            codes::MECHANISM_UNAVAILABLE,
            format!("Received authentication for mechanism {other} which is not enabled"),
        )),
    }
}
