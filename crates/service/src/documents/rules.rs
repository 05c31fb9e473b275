//! What a written document has to fulfil, through either door.

use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_mql::expressions::Env;
use lapsedb_mql::filter::Options;
use lapsedb_mql::validation::Validator;
use lapsedb_record::Millis;
use lapsedb_store::Collection;
use lapsedb_value::{Budget, Object, Str, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::ID;
use crate::documents::kept::options_of;

/// The rules of one collection.
pub(crate) struct Rules {
    collection: Str,
    validator: Option<Validator>,
    /// Documents that were wrong before may stay wrong.
    moderate: bool,
    /// What is wrong is written all the same, and logged.
    warns: bool,
    /// The field that must hold a date.
    time_field: Option<String>,
}

impl Rules {
    /// The rules of a collection, if it has any. Who bypasses validation is still held to what the collection is.
    ///
    /// # Errors
    /// When the validator cannot be read.
    pub(crate) fn of(
        collection: &Collection,
        now: Millis,
        bypass: bool,
        budget: &Arc<Budget>,
    ) -> Result<Option<Rules>> {
        let Some(options) = options_of(collection) else {
            return Ok(None);
        };
        let word = |name: &str| options.get(name).and_then(Value::as_str);
        let off = bypass || word("validationLevel") == Some("off");
        let validator = match options.get("validator").and_then(Value::as_object) {
            Some(validator) if !off => Some(parse(validator, options, now, budget)?),
            Some(_) | None => None,
        };
        let time_field = options
            .get("timeseries")
            .and_then(|series| series.get("timeField").as_str().map(str::to_owned));
        if validator.is_none() && time_field.is_none() {
            return Ok(None);
        }
        Ok(Some(Rules {
            collection: collection.id.clone(),
            validator,
            moderate: word("validationLevel") == Some("moderate"),
            warns: word("validationAction") == Some("warn"),
            time_field,
        }))
    }

    /// Refuses a document that does not fulfil them; an old one that did not either excuses it where that is allowed.
    ///
    /// # Errors
    /// When it does not, with the reasons.
    pub(crate) fn check(&self, old: Option<&Object>, new: &Object) -> Result<()> {
        if let Some(field) = &self.time_field
            && !matches!(new.get(field), Some(Value::Date(_)))
        {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("'{field}' must be present and contain a valid BSON UTC datetime value"),
            ));
        }
        let Some(validator) = &self.validator else {
            return Ok(());
        };
        if validator.accepts(new)
            || (self.moderate && old.is_some_and(|old| !validator.accepts(old)))
        {
            return Ok(());
        }
        if self.warns {
            let id = new.get(ID).unwrap_or(&Value::Null);
            tracing::warn!(collection = %self.collection, %id, "a document that fails its collection's validator was written");
            return Ok(());
        }
        let mut info = Object::with_capacity(2);
        info.push(
            "failingDocumentId",
            new.get(ID).cloned().unwrap_or(Value::Null),
        );
        info.push("details", Value::Object(validator.explain(new)));
        let mut more = Object::with_capacity(1);
        more.push("errInfo", Value::Object(info));
        Err(Fault::with(
            code::DOCUMENT_VALIDATION_FAILURE,
            "Document failed validation",
            more,
        ))
    }
}

fn parse(
    validator: &Object,
    options: &Object,
    now: Millis,
    budget: &Arc<Budget>,
) -> Result<Validator> {
    let collation = match options.get("collation").and_then(Value::as_object) {
        Some(collation) => Collation::parse(collation)?.map(Arc::new),
        None => None,
    };
    let now = i64::try_from(now.0).unwrap_or(i64::MAX);
    let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
    let options = Options {
        collation,
        env: Arc::new(Env::new(now, seed).within(Arc::clone(budget))),
        ..Options::default()
    };
    Ok(Validator::parse(validator, &options)?)
}
