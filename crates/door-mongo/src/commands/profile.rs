//! Says which commands of a database are recorded, and changes it.

use lapsedb_service::documents::Fault;
use lapsedb_service::operations::{Level, Profiled, Profiler, Slow};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::{Fields, whole};
use crate::profiling;

const NOTE: &str = "When a filter expression is set, slowms and sampleRate are not used for profiling and slow-query log lines.";

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let level = match fields.own(call) {
        number if number.is_number() => Level::numbered(whole(&number)),
        other => return Err(fields.wrong("profile", &other, "long")),
    };
    let slow_ms = fields.integer("slowms")?;
    let sample_rate = match fields.any("sampleRate") {
        None => None,
        Some(number) if number.is_number() => number.as_f64(),
        Some(other) => return Err(fields.wrong("sampleRate", &other, "double")),
    };
    if sample_rate.is_some_and(|rate| !(0.0..=1.0).contains(&rate)) {
        return Err(Fault::new(
            codes::BAD_VALUE,
            "'sampleRate' must be between 0.0 and 1.0 inclusive",
        ));
    }
    let filter = match fields.any("filter") {
        None => None,
        Some(Value::String(unset)) if unset == "unset" => Some(None),
        Some(Value::Object(filter)) => {
            Profiler::check_filter(&filter)?;
            Some(Some(filter))
        }
        Some(other) => return Err(fields.wrong("filter", &other, "object")),
    };
    fields.end()?;
    let profiler = &call.door.service.documents_state().operations.profiler;
    let (was, slow) = profiler.settings(&call.database);
    let filters = matches!(filter, Some(Some(_))) || was.filter.is_some();
    let reply = reply(&was, &slow, filters);
    let profiled = Profiled {
        level: level.unwrap_or(was.level),
        filter: filter.unwrap_or(was.filter),
    };
    if profiled.level != Level::Off {
        profiling::begin(&call.door.service, &call.database).await?;
    }
    let slow = Slow {
        milliseconds: slow_ms.unwrap_or(slow.milliseconds),
        sample_rate: sample_rate.unwrap_or(slow.sample_rate),
    };
    profiler.set(&call.database, profiled, slow);
    Ok(Answer::Plain(reply))
}

/// What held until now.
fn reply(was: &Profiled, slow: &Slow, filters: bool) -> Object {
    let mut reply = Object::with_capacity(5);
    reply.push("was", was.level.number());
    let slow_ms = i32::try_from(slow.milliseconds).unwrap_or(i32::MAX);
    reply.push("slowms", slow_ms);
    reply.push("sampleRate", Value::Double(slow.sample_rate));
    if let Some(filter) = &was.filter {
        reply.push("filter", Value::Object(filter.clone()));
    }
    if filters {
        reply.push("note", NOTE);
    }
    reply
}
