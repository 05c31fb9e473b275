//! Replaces a client encryption key: it is wrapped with another key, or in another way.

use lapsedb_value::Object;

use crate::client_encryption_keys::{KEYS, record};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::named::Named;
use crate::names;
use crate::reply::{Conditions, Reply};

/// Wraps a key anew; its name and its `_rid` stay.
///
/// # Errors
/// When it is not there or not as the client knows it, the key is not as it should be, or who asks may not.
pub async fn replace(
    ctx: &Ctx,
    db: &str,
    id: &str,
    body: &Object,
    conditions: &Conditions,
) -> Result<Reply> {
    let new = |old: &Named| {
        names::same_id(body, &old.id)?;
        record(old.number, body)
    };
    KEYS.replace(ctx, (db, id), conditions, new).await
}
