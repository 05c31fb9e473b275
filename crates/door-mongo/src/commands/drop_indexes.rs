//! Drops indexes.

use lapsedb_service::documents::{self, Fault, WhichIndexes};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let which = match fields.any("index") {
        Some(Value::String(name)) if name == "*" => WhichIndexes::All,
        Some(Value::String(name)) => WhichIndexes::Named(vec![name.to_string()]),
        Some(Value::Object(key)) => WhichIndexes::Keyed(key),
        Some(Value::Array(names)) => {
            let names: Option<Vec<_>> = names
                .iter()
                .map(|name| name.as_str().map(str::to_owned))
                .collect();
            let wrong = || Fault::new(codes::TYPE_MISMATCH, "dropIndexes takes an array of names");
            WhichIndexes::Named(names.ok_or_else(wrong)?)
        }
        Some(other) => return Err(fields.wrong("index", &other, "string")),
        None => return Err(fields.missing("index")),
    };
    fields.end()?;
    let before = documents::drop_indexes(&mut call.work(), &namespace, &which).await?;
    let mut reply = Object::with_capacity(2);
    reply.push("nIndexesWas", i32::try_from(before).unwrap_or(i32::MAX));
    if matches!(which, WhichIndexes::All) {
        reply.push("msg", "non-_id indexes dropped for collection");
    }
    Ok(Answer::Plain(reply))
}
