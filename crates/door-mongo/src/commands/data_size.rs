//! Tells how many bytes a collection's documents have.

use lapsedb_service::documents::{self, Fault, Namespace};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let Value::String(name) = fields.own(call) else {
        return Err(fields.missing("dataSize"));
    };
    fields.ignore(&["estimate"]);
    fields.end()?;
    let Some((database, collection)) = name.split_once('.') else {
        return Err(Fault::new(
            73,
            format!("Invalid namespace specified '{name}'"),
        ));
    };
    let namespace = Namespace::new(database, collection)?;
    let stats = documents::collection_stats(&mut call.work(), &namespace, 1).await?;
    let mut reply = Object::with_capacity(3);
    for (shown, of) in [("size", "size"), ("numObjects", "count")] {
        reply.push(shown, stats.get(of).cloned().unwrap_or_default());
    }
    reply.push("millis", 0);
    Ok(Answer::Plain(reply))
}
