//! What documents of a collection have to fulfil.

use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_mql::filter::Options;
use lapsedb_mql::validation::Validator;
use lapsedb_value::{Object, Value};

use crate::documents::fault::Result;
use crate::documents::members::Members;

/// Which writes are held to a validator.
pub(crate) const LEVELS: [&str; 3] = ["off", "moderate", "strict"];
/// What becomes of a write that fails it.
pub(crate) const ACTIONS: [&str; 2] = ["error", "warn"];

/// Reads `validator`, `validationLevel` and `validationAction`.
pub(super) fn read(
    members: &Members<'_>,
    collation: Option<&Collation>,
    kept: &mut Object,
) -> Result<()> {
    if let Some(validator) = members.object("validator")?
        && !validator.is_empty()
    {
        check_validator(validator, collation)?;
        kept.push("validator", Value::Object(validator.clone()));
    }
    for (name, words) in [
        ("validationLevel", LEVELS.as_slice()),
        ("validationAction", ACTIONS.as_slice()),
    ] {
        if let Some(word) = members.word(name, words)? {
            kept.push(name, word);
        }
    }
    Ok(())
}

/// Refuses a validator that cannot be read.
pub(crate) fn check_validator(validator: &Object, collation: Option<&Collation>) -> Result<()> {
    let options = Options {
        collation: collation.cloned().map(Arc::new),
        ..Options::default()
    };
    Validator::parse(validator, &options)?;
    Ok(())
}
