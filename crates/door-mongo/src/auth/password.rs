//! From a password to what mechanisms keep of it.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};
use md5::Digest as _;

use crate::auth::scram::Credentials;
pub(crate) use crate::auth::scram::Hash;
use crate::codes;

/// Code of a password without a sign.
const EMPTY_PASSWORD: i32 = 50_687;
/// Code of a password with a sign that SASLprep does not let through.
const PROHIBITED_SIGN: i32 = 50_692;

/// The bytes of a password that a mechanism works on.
pub(crate) fn prepared(hash: Hash, name: &str, password: &str) -> Option<Vec<u8>> {
    match hash {
        Hash::Sha1 => Some(digest(name, password).into_bytes()),
        Hash::Sha256 => Some(stringprep::saslprep(password).ok()?.as_bytes().to_vec()),
    }
}

/// What the older mechanism takes for a password.
fn digest(name: &str, password: &str) -> String {
    let text = format!("{name}:mongo:{password}");
    let digest = md5::Md5::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What some mechanisms keep of a new password, by their names.
pub(crate) async fn credentials(
    name: &str,
    password: &str,
    hashes: &[Hash],
    digested: bool,
) -> Result<Object, Fault> {
    if password.is_empty() {
        return Err(Fault::new(EMPTY_PASSWORD, "Password cannot be empty"));
    }
    let mut kept = Object::with_capacity(2);
    for hash in hashes.iter().copied() {
        let bytes = match (hash, digested) {
            (Hash::Sha1, true) => password.as_bytes().to_vec(),
            (Hash::Sha256, true) => {
                return Err(Fault::new(
                    codes::BAD_VALUE,
                    "Use of SCRAM-SHA-256 requires undigested passwords",
                ));
            }
            (Hash::Sha1 | Hash::Sha256, false) => {
                prepared(hash, name, password).ok_or_else(|| {
                    Fault::new(
                        PROHIBITED_SIGN,
                        "the password has a sign that SASLprep (RFC 4013) prohibits",
                    )
                })?
            }
        };
        let credentials = blocking(move || Credentials::new(hash, &bytes)).await?;
        kept.push(hash.mechanism(), Value::Object(credentials.stored()));
    }
    Ok(kept)
}

/// Does what is meant to take long, aside from the threads that answer others.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Fault::new(codes::INTERNAL_ERROR, "the password could not be hashed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_prepared_as_each_mechanism_asks() {
        let sha1 = prepared(Hash::Sha1, "user", "pencil").unwrap();
        assert_eq!(sha1, b"1c33006ec1ffd90f9cadcbcc0e118200");
        let prepared = |text: &str| prepared(Hash::Sha256, "user", text);
        assert_eq!(prepared("I\u{ad}X").unwrap(), b"IX");
        assert_eq!(prepared("\u{2168}").unwrap(), b"IX");
        assert_eq!(prepared("a\u{7}b"), None);
    }
}
