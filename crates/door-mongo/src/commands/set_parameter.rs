//! Changes a parameter; none of them has an effect on what is seen.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::get_parameter;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let body = std::mem::take(&mut call.body);
    let mut reply = Object::with_capacity(1);
    for (name, value) in body.iter().skip(1) {
        let was = get_parameter::parameters(call)
            .into_iter()
            .find(|(known, _)| name == known);
        match was {
            Some((_, was)) => {
                set(call, name, value)?;
                reply.insert("was", was)
            }
            None => {
                let message = format!(
                    "attempted to set unrecognized parameter [{name}], use help:true to see options "
                );
                return Err(Fault::new(72, message));
            }
        };
    }
    if reply.is_empty() {
        return Err(Fault::new(
            72,
            "no option found to set, use help:true to see options ",
        ));
    }
    Ok(Answer::Plain(reply))
}

/// Sets what can be set; the others are as they are.
fn set(call: &Call<'_>, name: &str, value: &Value) -> Result<(), Fault> {
    let monitor = &call.door.service.documents_state().ttl_monitor;
    let wrong = |wanted: &str| Fault::new(codes::BAD_VALUE, format!("{name} must be {wanted}"));
    match name {
        "ttlMonitorEnabled" => {
            let number = || value.as_f64().map(|number| number != 0.0);
            let enabled = value.as_bool().or_else(number);
            monitor.enable(enabled.ok_or_else(|| wrong("true or false"))?);
        }
        "ttlMonitorSleepSecs" => {
            let secs = value.as_i64().and_then(|secs| i32::try_from(secs).ok());
            let secs = secs.filter(|secs| *secs > 0);
            monitor.set_sleep_secs(secs.ok_or_else(|| wrong("greater than 0"))?);
        }
        "transactionLifetimeLimitSeconds" => {
            let secs = value.as_i64().and_then(|secs| u64::try_from(secs).ok());
            let secs = secs.filter(|secs| *secs > 0);
            let state = call.door.service.documents_state();
            state.set_transaction_seconds(secs.ok_or_else(|| wrong("greater than 0"))?);
        }
        _ => {}
    }
    Ok(())
}
