//! Drops a collection.

use lapsedb_service::documents::{self, Dropped, Fault};
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    fields.ignore(&["encryptedFields"]);
    fields.end()?;
    let mut reply = Object::with_capacity(2);
    match documents::drop_collection(&mut call.work(), &namespace).await? {
        Dropped::Nothing => {}
        Dropped::View => reply.push("ns", namespace.to_string()),
        Dropped::Collection { indexes } => {
            let indexes = i32::try_from(indexes).unwrap_or(i32::MAX);
            reply.push("nIndexesWas", indexes);
            reply.push("ns", namespace.to_string());
        }
    }
    Ok(Answer::Plain(reply))
}
