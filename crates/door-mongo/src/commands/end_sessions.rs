//! Ends or prolongs sessions.

use lapsedb_service::documents::Fault;
use lapsedb_value::Value;

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let list = call.body.remove(&call.name).unwrap_or_default();
    if call.name != "refreshSessions" {
        let ids: Vec<_> = list
            .as_array()
            .unwrap_or_default()
            .iter()
            .filter_map(|session| match session.get("id") {
                Value::Binary { bytes, .. } => Some(bytes.clone()),
                _ => None,
            })
            .collect();
        call.door.service.documents_state().forget_sessions(&ids);
    }
    Ok(Answer::ok())
}
