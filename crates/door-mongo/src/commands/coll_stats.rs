//! Tells the size of a collection.

use lapsedb_service::documents::{self, Fault};
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let scale = fields.integer("scale")?.unwrap_or(1);
    fields.end()?;
    let stats = documents::collection_stats(&mut call.work(), &namespace, scale).await?;
    let mut reply = Object::with_capacity(stats.len() + 1);
    reply.push("ns", namespace.to_string());
    for (name, value) in stats {
        reply.push(name, value);
    }
    Ok(Answer::Plain(reply))
}
