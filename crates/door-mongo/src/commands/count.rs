//! Counts documents.

use lapsedb_service::documents::{self, Count, Fault};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::terms;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let count = Count {
        filter: fields.document("query")?,
        skip: fields.size("skip")?.unwrap_or(0),
        // A negative limit means the same as a positive one here.
        limit: fields.exact_integer("limit")?.unwrap_or(0).unsigned_abs(),
        terms: terms(&mut fields)?,
    };
    fields.ignore(&["fields"]);
    fields.end()?;
    let n = documents::count(&mut call.work(), &namespace, &count).await?;
    let mut reply = Object::with_capacity(1);
    reply.push(
        "n",
        i32::try_from(n).map_or(Value::Double(n as f64), Value::Int32),
    );
    Ok(Answer::Plain(reply))
}
