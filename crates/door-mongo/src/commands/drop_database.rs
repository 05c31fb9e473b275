//! Drops a database with its collections.

use lapsedb_service::documents::{self, Fault};
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;
use crate::profiling;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    if fields.own(call).as_f64() != Some(1.0) {
        return Err(Fault::new(
            5_255_100,
            "Have to pass 1 as 'dropDatabase' parameter",
        ));
    }
    fields.end()?;
    let database = call.database.clone();
    let mut reply = Object::with_capacity(1);
    let mut work = call.work();
    let dropping = documents::drop_database(&mut work, &database);
    if profiling::drop_with(call.door, &database, dropping).await? {
        reply.push("dropped", database);
    }
    Ok(Answer::Plain(reply))
}
