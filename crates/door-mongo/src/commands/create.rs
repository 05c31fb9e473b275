//! Makes a collection.

use lapsedb_service::documents::{self, Fault};
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

/// Options that are kept and shown.
const KEPT: [&str; 3] = ["changeStreamPreAndPostImages", "collation", "storageEngine"];
/// Options of older releases that change nothing.
const WITHOUT_EFFECT: [&str; 4] = ["autoIndexId", "flags", "temp", "indexOptionDefaults"];

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let mut options = Object::new();
    for name in KEPT {
        if let Some(value) = fields.any(name) {
            options.push(name, value);
        }
    }
    fields.ignore(&WITHOUT_EFFECT);
    if fields.any("expireAfterSeconds").is_some() {
        return Err(Fault::new(
            codes::INVALID_OPTIONS,
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        ));
    }
    for name in [
        "capped",
        "size",
        "max",
        "timeseries",
        "clusteredIndex",
        "viewOn",
        "pipeline",
        "encryptedFields",
        "validator",
        "validationLevel",
        "validationAction",
    ] {
        if let Some(value) = fields.any(name) {
            if value.as_bool() == Some(false) {
                continue;
            }
            return Err(Fault::new(
                115,
                format!("collections with '{name}' are not supported"),
            ));
        }
    }
    fields.end()?;
    let made = documents::make(&call.ctx(), &namespace, &options).await?;
    if made {
        return Ok(Answer::ok());
    }
    Err(Fault::new(
        48,
        format!("Collection {namespace} already exists."),
    ))
}
