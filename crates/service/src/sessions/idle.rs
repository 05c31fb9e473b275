//! Transactions that wait for their clients, as they are shown to who asks what is running.

use lapsedb_record::Millis;
use lapsedb_record::clock::format_iso;
use lapsedb_value::{Object, Value};

use crate::sessions::{SessionId, Sessions, State};

impl Sessions {
    /// The open transactions of which no command is running; only those of one user, if one is named.
    pub(crate) fn idle(&self, host: &str, now: Millis, user: Option<[u8; 32]>) -> Vec<Object> {
        let all = self.all.lock();
        let mut idle = Vec::new();
        for (id, slot) in all.iter() {
            if user.is_some_and(|user| id.user != user) {
                continue;
            }
            // One that is locked has a command running.
            let Ok(session) = slot.session.try_lock() else {
                continue;
            };
            let transaction = session.transaction.as_ref();
            if let Some(open) = transaction.filter(|own| matches!(own.state, State::Active)) {
                let ends = Millis(open.begun.0.saturating_add(self.lifetime_ms()));
                let shown = shown(id, session.number, (open.begun, now, ends), host);
                idle.push((open.begun, id.clone(), shown));
            }
        }
        drop(all);
        idle.sort_by(|(a, id, _), (b, other, _)| (a, id).cmp(&(b, other)));
        idle.into_iter().map(|(_, _, shown)| shown).collect()
    }
}

fn shown(
    id: &SessionId,
    number: i64,
    (begun, now, ends): (Millis, Millis, Millis),
    host: &str,
) -> Object {
    let open = now.0.saturating_sub(begun.0).saturating_mul(1000);
    let mut parameters = Object::with_capacity(2);
    parameters.push("txnNumber", Value::Int64(number));
    parameters.push("autocommit", false);
    let mut transaction = Object::with_capacity(4);
    transaction.push("parameters", Value::Object(parameters));
    transaction.push("startWallClockTime", format_iso(begun));
    transaction.push(
        "timeOpenMicros",
        Value::Int64(i64::try_from(open).unwrap_or(i64::MAX)),
    );
    transaction.push("expiryTime", format_iso(ends));
    let mut shown = Object::with_capacity(9);
    shown.push("type", "idleSession");
    shown.push("host", host);
    shown.push("desc", "inactive transaction");
    shown.push("lsid", Value::Object(id.shown()));
    shown.push("transaction", Value::Object(transaction));
    shown.push("waitingForLock", false);
    shown.push("active", false);
    shown.push("locks", Value::Object(Object::new()));
    shown.push("lockStats", Value::Object(Object::new()));
    shown
}
