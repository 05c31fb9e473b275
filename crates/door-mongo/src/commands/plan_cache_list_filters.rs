//! Lists the filters that restrict which indexes a query may use: none can be set.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.namespace(call)?;
    fields.end()?;
    let mut reply = Object::with_capacity(1);
    reply.push("filters", Value::Array(Vec::new()));
    Ok(Answer::Plain(reply))
}
