//! Says what this server is.

use lapsedb_service::documents::{DOCUMENT_BYTES_MAX, Fault};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;

/// The release whose behaviour this door follows.
pub(crate) const VERSION: &str = "7.0.0";
const VERSION_PARTS: [i32; 4] = [7, 0, 0, 0];

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut info = Object::with_capacity(16);
    info.push("version", VERSION);
    info.push("gitVersion", "unknown");
    info.push("modules", Value::Array(Vec::new()));
    info.push("allocator", "mimalloc");
    info.push("javascriptEngine", "none");
    info.push("sysInfo", "deprecated");
    info.push(
        "versionArray",
        Value::Array(VERSION_PARTS.map(Value::Int32).to_vec()),
    );
    info.push("openssl", Value::Object(Object::new()));
    info.push("buildEnvironment", Value::Object(Object::new()));
    info.push("bits", 64);
    info.push("debug", false);
    info.push(
        "maxBsonObjectSize",
        i32::try_from(DOCUMENT_BYTES_MAX).unwrap_or(i32::MAX),
    );
    info.push("storageEngines", Value::Array(vec![Value::from("lapsedb")]));
    let mut own = Object::with_capacity(1);
    own.push("version", call.door.settings.version.as_str());
    info.push("lapsedb", Value::Object(own));
    Ok(Answer::Plain(info))
}
