//! `/dbs/{db}/clientencryptionkeys` and `/dbs/{db}/clientencryptionkeys/{key}`.

use http::Method;
use lapsedb_service::{Result, client_encryption_keys};

use crate::answer::Answer;
use crate::call::Call;
use crate::routes::feed::{self, Feed};
use crate::routes::{method_not_allowed, resource};

/// Lists, queries or makes client encryption keys.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>, db: &str) -> Result<Answer> {
    match feed::of(call)? {
        Feed::Read(ask) => Ok(feed::answer(
            client_encryption_keys::list(&call.ctx, db, &ask).await?,
            "ClientEncryptionKeys",
        )),
        Feed::Create => {
            let reply = client_encryption_keys::create(&call.ctx, db, &call.object()?).await?;
            Ok(resource::answer(&reply))
        }
    }
}

/// Reads or replaces a client encryption key.
///
/// # Errors
/// As the verb says.
pub async fn one(call: &Call<'_>, db: &str, key: &str) -> Result<Answer> {
    let conditions = resource::conditions(call)?;
    let ctx = &call.ctx;
    let reply = match *call.method {
        Method::GET => client_encryption_keys::read(ctx, db, key, &conditions).await?,
        Method::PUT => {
            client_encryption_keys::replace(ctx, db, key, &call.object()?, &conditions).await?
        }
        _ => return Err(method_not_allowed(call)),
    };
    Ok(resource::answer(&reply))
}
