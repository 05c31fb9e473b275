//! Members that say how the language is meant.

use lapsedb_service::documents::{Fault, Terms};

use crate::fields::Fields;

/// The collation and the variables of a command.
pub(crate) fn terms(fields: &mut Fields, variables: &str) -> Result<Terms, Fault> {
    Ok(Terms {
        collation: fields
            .document_if("collation")?
            .filter(|collation| !collation.is_empty()),
        variables: fields.document(variables)?,
    })
}
