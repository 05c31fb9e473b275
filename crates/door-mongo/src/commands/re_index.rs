//! Lists the indexes as they stand: every write keeps them whole, so that none is ever built anew.

use lapsedb_service::documents::{self, Fault};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    fields.end()?;
    let all = documents::list_indexes(&mut call.work(), &namespace).await?;
    let count = i32::try_from(all.len()).unwrap_or(i32::MAX);
    let mut reply = Object::with_capacity(3);
    reply.push("nIndexesWas", count);
    reply.push("nIndexes", count);
    let all = all.into_iter().map(Value::Object).collect();
    reply.push("indexes", Value::Array(all));
    Ok(Answer::Plain(reply))
}
