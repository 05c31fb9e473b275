//! Has nothing to do: space is given back by itself, in the background.

use lapsedb_service::documents::{self, Fault};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    for name in ["force", "dryRun"] {
        fields.truth(name, false)?;
    }
    fields.integer("freeSpaceTargetMB")?;
    fields.end()?;
    documents::list_indexes(&mut call.work(), &namespace).await?;
    let mut reply = Object::with_capacity(1);
    reply.push("bytesFreed", Value::Int64(0));
    Ok(Answer::Plain(reply))
}
