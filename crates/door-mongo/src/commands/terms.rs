//! Members that say how the language is meant.

use lapsedb_service::documents::{Fault, Hint, Terms};
use lapsedb_value::{Object, Value};

use crate::codes;
use crate::fields::Fields;

/// The member of commands that write by which empty time stamps at the top of documents stay as they are.
pub(crate) const KEEP_EMPTY_STAMPS: &str = "bypassEmptyTsReplacement";

/// The collation, the hint and the variables of a command.
pub(crate) fn terms(fields: &mut Fields) -> Result<Terms, Fault> {
    let variables = fields.document("let")?;
    Ok(Terms {
        variables,
        ..statement_terms(fields)?
    })
}

/// The collation and the hint of a command or of a statement.
pub(crate) fn statement_terms(fields: &mut Fields) -> Result<Terms, Fault> {
    Ok(Terms {
        collation: fields
            .document_if("collation")?
            .filter(|collation| !collation.is_empty()),
        variables: Object::new(),
        constants: None,
        hint: match fields.any("hint") {
            None => Hint::None,
            Some(Value::String(name)) => Hint::Name(name.to_string()),
            Some(Value::Object(key)) if key.is_empty() => Hint::None,
            Some(Value::Object(key)) => Hint::Key(key),
            Some(_) => {
                return Err(Fault::new(
                    codes::FAILED_TO_PARSE,
                    "Hint must be a string or an object",
                ));
            }
        },
    })
}

/// How many documents the first batch of a list may have; all that fit, if nothing is said.
pub(crate) fn batch_size(
    fields: &mut Fields,
    context: &'static str,
) -> Result<Option<usize>, Fault> {
    let mut cursor = Fields::new(context, fields.document("cursor")?);
    let size = cursor.size("batchSize")?;
    cursor.end()?;
    Ok(size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)))
}
