//! Begins a login.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::auth::{Mechanism, Start, Step, start as begin};
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    let database = call.database.clone();
    start(call, fields, &database).await
}

/// The same inside a greeting, which names its database by a member.
pub(crate) async fn speculate(call: &mut Call<'_>, members: Object) -> Result<Answer, Fault> {
    let mut fields = Fields::new("saslStart", members);
    fields.raw("saslStart");
    let database = fields.text("db")?.unwrap_or_else(|| "admin".to_owned());
    start(call, fields, &database).await
}

async fn start(call: &mut Call<'_>, mut fields: Fields, database: &str) -> Result<Answer, Fault> {
    let name = fields.text("mechanism")?.unwrap_or_default();
    let payload = payload(&mut fields)?;
    let options = fields.document("options")?;
    let skip_empty = options.get("skipEmptyExchange").and_then(Value::as_bool) == Some(true);
    fields.ignore(&["autoAuthorize"]);
    fields.end()?;
    let unavailable = || {
        Fault::new(
            codes::MECHANISM_UNAVAILABLE,
            format!("Received authentication for mechanism {name} which is not enabled"),
        )
    };
    let mechanism = Mechanism::named(&name).ok_or_else(unavailable)?;
    if mechanism == Mechanism::Plain && !call.connection.peer.tls {
        return Err(unavailable());
    }
    call.connection.sasl = None;
    let first = Start {
        mechanism,
        payload: &payload,
        database,
        client: call.connection.peer.client.ip(),
        app_name: call.connection.app_name.as_deref(),
        skip_empty,
    };
    let step = begin(call.door, first).await?;
    answer(call, step)
}

/// The client's message, as bytes or as text.
pub(crate) fn payload(fields: &mut Fields) -> Result<Vec<u8>, Fault> {
    match fields.any("payload") {
        Some(Value::Binary { bytes, .. }) => Ok(bytes),
        Some(Value::String(text)) => Ok(text.as_bytes().to_vec()),
        Some(other) => Err(fields.wrong("payload", &other, "binData")),
        None => Ok(Vec::new()),
    }
}

/// What the conversation has come to.
pub(crate) fn answer(call: &mut Call<'_>, step: Step) -> Result<Answer, Fault> {
    let (done, payload) = match step {
        Step::Goes(session, payload) => {
            call.connection.sasl = Some(*session);
            (false, payload)
        }
        Step::In(login, payload) => {
            call.connection.login = Some(login);
            (true, payload)
        }
        Step::Refused | Step::Malformed => {
            tracing::warn!(client = %call.connection.peer.client, "a login at the Mongo door failed");
            return Err(Fault::new(
                codes::AUTHENTICATION_FAILED,
                "Authentication failed.",
            ));
        }
    };
    let mut reply = Object::with_capacity(4);
    reply.push("conversationId", 1);
    reply.push("done", done);
    reply.push(
        "payload",
        Value::Binary {
            subtype: 0,
            bytes: payload,
        },
    );
    Ok(Answer::Plain(reply))
}
