//! Makes indexes.

use lapsedb_service::documents::{self, Fault};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;
use crate::notes;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let specs = fields.documents("indexes")?;
    if let Some(quorum) = fields.any("commitQuorum")
        && quorum.as_i64().is_some_and(|members| members > 1)
    {
        return Err(Fault::new(
            278,
            "Not enough data-bearing nodes to satisfy commit quorum",
        ));
    }
    if fields.truth("ignoreUnknownIndexOptions", false)? {
        return Err(Fault::new(
            115,
            "createIndexes with 'ignoreUnknownIndexOptions' is not supported: unknown options are refused",
        ));
    }
    fields.end()?;
    let mut work = call.begin().await?;
    let created = documents::create_indexes(&mut work, &namespace, specs).await;
    let created = work.end(created).await?;
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let mut reply = Object::with_capacity(5);
    reply.push("numIndexesBefore", number(created.before));
    reply.push("numIndexesAfter", number(created.after));
    reply.push("createdCollectionAutomatically", created.made_collection);
    reply.push("commitQuorum", "votingMembers");
    let mut said = Vec::new();
    for (names, note) in [
        (&created.not_by_value, notes::not_by_value as notes::Note),
        (&created.dateless, notes::dateless),
    ] {
        if !names.is_empty() {
            said.push(note(&namespace, &names.join(", ")));
        }
    }
    if !said.is_empty() {
        reply.push("note", said.join("; "));
    } else if created.before == created.after {
        reply.push("note", Value::from("all indexes already exist"));
    }
    Ok(Answer::Plain(reply))
}
