//! Makes a collection or a view.

use lapsedb_service::documents::{self, CREATE_OPTIONS, Fault};
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let mut members = Object::new();
    for name in CREATE_OPTIONS {
        if let Some(value) = fields.any(name) {
            members.push(name, value);
        }
    }
    // An option of releases long ago that nobody reads.
    fields.ignore(&["flags"]);
    if fields.any("encryptedFields").is_some() {
        return Err(Fault::new(
            115,
            "collections with 'encryptedFields' are not supported",
        ));
    }
    fields.end()?;
    let mut work = call.begin().await?;
    let made = documents::create(&mut work, &namespace, &members).await;
    work.end(made).await?;
    Ok(Answer::ok())
}
