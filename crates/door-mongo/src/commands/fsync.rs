//! Has nothing to do: what is acknowledged is on disk.

use lapsedb_service::documents::Fault;
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(_call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut reply = Object::with_capacity(1);
    reply.push("numFiles", 1);
    Ok(Answer::Plain(reply))
}
