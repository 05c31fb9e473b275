//! Drops a database with its collections.

use lapsedb_service::documents::{self, Fault};
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    fields.end()?;
    let database = call.database.clone();
    let mut reply = Object::with_capacity(1);
    if documents::drop_database(&mut call.work(), &database).await? {
        reply.push("dropped", database);
    }
    Ok(Answer::Plain(reply))
}
