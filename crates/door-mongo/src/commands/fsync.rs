//! Has nothing to do: what is acknowledged is on disk.

use lapsedb_service::documents::Fault;
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.only_on_admin()?;
    let mut fields = Fields::of(call);
    fields.own(call);
    if fields.truth("lock", false)? {
        return Err(Fault::new(
            115,
            "fsync with 'lock' is not supported: writes are never held back",
        ));
    }
    fields.ignore(&["async"]);
    fields.end()?;
    let mut reply = Object::with_capacity(1);
    reply.push("numFiles", 1);
    Ok(Answer::Plain(reply))
}
