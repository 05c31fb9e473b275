//! Finds the different values of a field.

use lapsedb_service::documents::{self, Distinct, Fault};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::terms;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let Some(key) = fields.text("key")? else {
        return Err(fields.missing("key"));
    };
    let distinct = Distinct {
        key,
        filter: fields.document("query")?,
        terms: terms(&mut fields)?,
    };
    fields.end()?;
    let mut work = call.begin().await?;
    let values = documents::distinct(&mut work, &namespace, &distinct).await;
    let read_at = work.read_stamp();
    let values = work.end(values).await?;
    let mut reply = Object::with_capacity(2);
    reply.push("values", Value::Array(values));
    if let Some(stamp) = read_at {
        reply.push("atClusterTime", Value::Timestamp(stamp));
    }
    Ok(Answer::Plain(reply))
}
