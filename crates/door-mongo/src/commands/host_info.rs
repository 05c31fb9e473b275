//! Tells of the machine.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::hello;
use crate::fields::Fields;
use crate::machine;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    fields.end()?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut system = Object::with_capacity(8);
    system.push("currentTime", hello::now(call));
    system.push("hostname", hello::host(call));
    system.push("cpuAddrSize", 64);
    if let Some(bytes) = machine::memory() {
        let megabytes = Value::Int64(i64::try_from(bytes >> 20).unwrap_or(i64::MAX));
        system.push("memSizeMB", megabytes.clone());
        system.push("memLimitMB", megabytes);
    }
    system.push("numCores", i32::try_from(cores).unwrap_or(i32::MAX));
    system.push("cpuArch", std::env::consts::ARCH);
    system.push("numaEnabled", false);
    let mut os = Object::with_capacity(3);
    os.push("type", capitalised(std::env::consts::OS));
    let name = machine::system_name().unwrap_or_else(|| std::env::consts::OS.to_owned());
    os.push("name", name);
    os.push("version", machine::kernel().unwrap_or_default());
    let mut reply = Object::with_capacity(3);
    reply.push("system", Value::Object(system));
    reply.push("os", Value::Object(os));
    reply.push("extra", Value::Object(Object::new()));
    Ok(Answer::Plain(reply))
}

/// A name as systems are called in this answer: `Linux`, `Windows`.
fn capitalised(name: &str) -> String {
    let mut rest = name.chars();
    let first = rest.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(rest).collect()
}
