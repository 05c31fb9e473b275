//! Tells the value of a parameter.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let body = std::mem::take(&mut call.body);
    let all = body.get(&call.name).and_then(Value::as_str) == Some("*");
    let mut reply = Object::new();
    for (name, value) in parameters(call) {
        if all || body.contains_key(name) {
            reply.push(name, value);
        }
    }
    if reply.is_empty() {
        return Err(Fault::new(72, "no option found to get"));
    }
    Ok(Answer::Plain(reply))
}

/// All parameters there are.
pub(crate) fn parameters(call: &Call<'_>) -> Vec<(&'static str, Value)> {
    let mut version = Object::with_capacity(1);
    version.push("version", "7.0");
    let monitor = &call.door.service.documents_state().ttl_monitor;
    let lifetime = call.door.service.documents_state().transaction_seconds();
    vec![
        (
            "authenticationMechanisms",
            Value::Array(
                ["SCRAM-SHA-1", "SCRAM-SHA-256", "PLAIN"]
                    .map(Value::from)
                    .to_vec(),
            ),
        ),
        (
            "enableTestCommands",
            Value::Bool(call.door.settings.test_commands),
        ),
        ("featureCompatibilityVersion", Value::Object(version)),
        ("logLevel", Value::Int32(0)),
        ("requireApiVersion", Value::Bool(false)),
        (
            "transactionLifetimeLimitSeconds",
            Value::Int64(i64::try_from(lifetime).unwrap_or(i64::MAX)),
        ),
        ("ttlMonitorEnabled", Value::Bool(monitor.enabled())),
        ("ttlMonitorSleepSecs", Value::Int32(monitor.sleep_secs())),
    ]
}
