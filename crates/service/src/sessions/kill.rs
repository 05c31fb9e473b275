//! Ends, kills, prolongs and lists sessions.

use lapsedb_value::{Object, Value};

use crate::ctx::Ctx;
use crate::documents::fault::Result;
use crate::sessions::SessionId;

/// Which sessions.
#[derive(Clone, Debug)]
pub enum Which {
    /// All.
    All,
    /// These.
    Ids(Vec<SessionId>),
    /// Those of these users, by the digests of their names.
    Users(Vec<[u8; 32]>),
}

impl Which {
    fn holds(&self, id: &SessionId) -> bool {
        match self {
            Which::All => true,
            Which::Ids(ids) => ids.contains(id),
            Which::Users(users) => users.contains(&id.user),
        }
    }
}

/// Forgets sessions: their transactions have never happened, and their cursors are closed.
pub fn end_sessions(ctx: &Ctx, which: &Which) {
    let state = ctx.service().documents_state();
    state.sessions.doom(|id| which.holds(id), true);
    state.cursors.close_of(|id| which.holds(id));
}

/// Ends what sessions are doing; the sessions themselves stay.
pub fn kill_sessions(ctx: &Ctx, which: &Which) {
    let state = ctx.service().documents_state();
    state.sessions.doom(|id| which.holds(id), false);
    state.cursors.close_of(|id| which.holds(id));
}

/// Sessions are remembered from now on as if they had been used.
///
/// # Errors
/// When there are too many.
pub fn refresh_sessions(ctx: &Ctx, ids: &[SessionId]) -> Result<()> {
    let now = ctx.service().clock().now();
    for id in ids {
        ctx.service().documents_state().sessions.session(id, now)?;
    }
    Ok(())
}

/// The sessions that are known, as documents.
#[must_use]
pub fn list_sessions(ctx: &Ctx, which: &Which) -> Vec<Object> {
    let all = ctx.service().documents_state().sessions.all.lock();
    let mut found: Vec<_> = all
        .iter()
        .filter(|(id, _)| which.holds(id))
        .map(|(id, slot)| (id.clone(), slot.used))
        .collect();
    drop(all);
    found.sort();
    let shown = |(id, used): (SessionId, lapsedb_record::Millis)| {
        let mut session = Object::with_capacity(2);
        session.push("_id", Value::Object(id.shown()));
        let used = i64::try_from(used.0).unwrap_or(i64::MAX);
        session.push("lastUse", Value::Date(used));
        session
    };
    found.into_iter().map(shown).collect()
}
