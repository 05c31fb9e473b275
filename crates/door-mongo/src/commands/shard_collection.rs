//! Accepts that a collection is sharded, and makes it, if it is not there: it lies on one server whatever its key.

use lapsedb_service::documents::{self, Fault, Namespace};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.only_on_admin()?;
    let mut fields = Fields::of(call);
    let Value::String(name) = fields.own(call) else {
        return Err(fields.missing("shardCollection"));
    };
    let key = fields.document("key")?;
    if fields.truth("unique", false)? {
        return Err(Fault::new(
            115,
            "shardCollection with 'unique' is not supported: make a unique index",
        ));
    }
    fields.ignore(&["numInitialChunks", "presplitHashedZones", "collation"]);
    fields.end()?;
    let known = |part: &Value| part.as_str() == Some("hashed") || part.as_f64() == Some(1.0);
    if key.is_empty() || !key.values().all(known) {
        return Err(Fault::new(
            codes::BAD_VALUE,
            "the shard key must name fields, each with 1 or \"hashed\"",
        ));
    }
    let Some((database, collection)) = name.split_once('.') else {
        return Err(Fault::new(
            73,
            format!("Invalid namespace specified '{name}'"),
        ));
    };
    let namespace = Namespace::new(database, collection)?;
    documents::make_plain(&call.ctx(), &namespace).await?;
    let mut reply = Object::with_capacity(1);
    reply.push("collectionsharded", namespace.to_string());
    Ok(Answer::Plain(reply))
}
