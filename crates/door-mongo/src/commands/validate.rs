//! Checks a collection: every document is read.

use lapsedb_service::documents::{self, Count, Fault};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let full = fields.truth("full", false)?;
    if fields.truth("background", false)? && full {
        return Err(Fault::new(
            codes::INVALID_OPTIONS,
            "Running the validate command with both { background: true } and { full: true } is not supported.",
        ));
    }
    for name in ["repair", "fixMultikey"] {
        if fields.truth(name, false)? {
            return Err(Fault::new(
                115,
                format!(
                    "validate with '{name}' is not supported: nothing is ever repaired in place"
                ),
            ));
        }
    }
    fields.ignore(&["metadata", "checkBSONConformance", "scandata"]);
    fields.end()?;
    let stats = documents::collection_stats(&mut call.work(), &namespace, 1).await?;
    if stats.get("nindexes").and_then(Value::as_i64) == Some(0) {
        return Err(Fault::new(
            26,
            format!("Collection '{namespace}' does not exist to validate."),
        ));
    }
    // A filter that says something makes every document be read.
    let mut exists = Object::with_capacity(1);
    exists.push("$exists", true);
    let mut filter = Object::with_capacity(1);
    filter.push("_id", Value::Object(exists));
    let count = Count {
        filter,
        ..Count::default()
    };
    let records = documents::count(&mut call.work(), &namespace, &count).await?;
    let mut reply = Object::with_capacity(8);
    reply.push("ns", namespace.to_string());
    reply.push("nInvalidDocuments", 0);
    reply.push("nrecords", i32::try_from(records).unwrap_or(i32::MAX));
    reply.push(
        "nIndexes",
        stats.get("nindexes").cloned().unwrap_or_default(),
    );
    reply.push("valid", true);
    for name in [
        "warnings",
        "errors",
        "extraIndexEntries",
        "missingIndexEntries",
    ] {
        reply.push(name, Value::Array(Vec::new()));
    }
    Ok(Answer::Plain(reply))
}
