//! Accepts that a database is sharded: there is one server, and all of it is there.

use lapsedb_service::documents::{Fault, namespace};
use lapsedb_value::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.only_on_admin()?;
    let mut fields = Fields::of(call);
    let Value::String(database) = fields.own(call) else {
        return Err(fields.missing("enableSharding"));
    };
    fields.text("primaryShard")?;
    fields.end()?;
    namespace::check_database(&database)?;
    Ok(Answer::ok())
}
