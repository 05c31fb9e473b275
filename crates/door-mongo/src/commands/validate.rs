//! Checks a collection.

use lapsedb_service::documents::{self, Fault};
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
    let found = documents::validate(&mut call.work(), &namespace).await?;
    let number = |n: u64| Value::from(i64::try_from(n).unwrap_or(i64::MAX));
    let mut keys = Object::with_capacity(found.named.len());
    for (name, named) in &found.named {
        keys.push(name.as_str(), number(*named));
    }
    let texts =
        |texts: &[String]| Value::Array(texts.iter().map(|text| text.as_str().into()).collect());
    let mut reply = Object::with_capacity(11);
    reply.push("ns", namespace.to_string());
    reply.push("nInvalidDocuments", number(found.unreadable));
    reply.push("nrecords", number(found.documents));
    reply.push("nIndexes", number(found.indexes));
    reply.push("keysPerIndex", Value::Object(keys));
    reply.push("valid", found.errors.is_empty());
    reply.push("warnings", texts(&[]));
    reply.push("errors", texts(&found.errors));
    for name in ["extraIndexEntries", "missingIndexEntries"] {
        reply.push(name, texts(&[]));
    }
    Ok(Answer::Plain(reply))
}
