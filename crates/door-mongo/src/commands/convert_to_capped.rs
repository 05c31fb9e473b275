//! Makes a collection one that holds only so much.

use lapsedb_service::documents::{self, Fault};
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let mut members = Object::with_capacity(1);
    if let Some(size) = fields.any("size") {
        members.push("size", size);
    }
    fields.end()?;
    documents::convert_to_capped(&mut call.work(), &namespace, &members).await?;
    Ok(Answer::ok())
}
