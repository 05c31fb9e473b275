//! Closes cursors.

use lapsedb_service::cursors;
use lapsedb_service::documents::{Fault, Namespace};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = match fields.own(call) {
        Value::String(name) => Namespace::pseudo(&call.database, &name),
        other => return Err(fields.wrong("killCursors", &other, "string")),
    };
    let Some(list) = fields.list("cursors")? else {
        return Err(fields.missing("cursors"));
    };
    let ids: Option<Vec<i64>> = list
        .iter()
        .map(|id| match id {
            Value::Int64(id) => Some(*id),
            _ => None,
        })
        .collect();
    let Some(ids) = ids else {
        return Err(fields.wrong("cursors", list.first().unwrap_or(&Value::Null), "long"));
    };
    fields.end()?;
    let killed = cursors::kill(&call.work(), &namespace, &ids)?;
    let shown = |ids: Vec<i64>| Value::Array(ids.into_iter().map(Value::Int64).collect());
    let mut reply = Object::with_capacity(4);
    reply.push("cursorsKilled", shown(killed.killed));
    reply.push("cursorsNotFound", shown(killed.not_found));
    reply.push("cursorsAlive", shown(Vec::new()));
    reply.push("cursorsUnknown", shown(Vec::new()));
    Ok(Answer::Plain(reply))
}
