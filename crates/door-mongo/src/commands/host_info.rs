//! Tells of the machine.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::hello;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    fields.end()?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut system = Object::with_capacity(8);
    system.push("currentTime", hello::now(call));
    system.push("hostname", hello::host(call));
    system.push("cpuAddrSize", 64);
    system.push("memSizeMB", Value::Int64(0));
    system.push("memLimitMB", Value::Int64(0));
    system.push("numCores", i32::try_from(cores).unwrap_or(i32::MAX));
    system.push("cpuArch", std::env::consts::ARCH);
    system.push("numaEnabled", false);
    let mut os = Object::with_capacity(3);
    os.push("type", std::env::consts::OS);
    os.push("name", std::env::consts::OS);
    os.push("version", "");
    let mut reply = Object::with_capacity(3);
    reply.push("system", Value::Object(system));
    reply.push("os", Value::Object(os));
    reply.push("extra", Value::Object(Object::new()));
    Ok(Answer::Plain(reply))
}
