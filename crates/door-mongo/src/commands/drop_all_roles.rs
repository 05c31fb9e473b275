//! Removes all roles that were defined in a database.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::roles;
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    fields.end()?;
    let gone = roles::drop_all(&call.ctx(), &call.database).await?;
    let mut reply = Object::with_capacity(1);
    reply.push("n", i32::try_from(gone).unwrap_or(i32::MAX));
    Ok(Answer::Plain(reply))
}
