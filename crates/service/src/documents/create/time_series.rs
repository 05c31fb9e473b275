//! Time series: plain collections whose documents have a date in one field, by which they may expire.

use lapsedb_value::{Object, Value};

use crate::documents::fault::Result;
use crate::documents::members::{Members, invalid};
use crate::documents::namespace::Namespace;

/// Options that no time series may have; nor may it be capped, but a client may say that it is not.
const NOT_WITH: [&str; 4] = [
    "validator",
    "validationLevel",
    "validationAction",
    "clusteredIndex",
];
/// How close measurements lie, and how many seconds a bucket would span.
const GRANULARITIES: [(&str, i32); 3] =
    [("seconds", 3600), ("minutes", 86_400), ("hours", 2_592_000)];
/// Seconds a document may live at most.
const SECONDS_MAX: i64 = i32::MAX as i64;

/// Reads `timeseries` and the life of its documents.
pub(super) fn read(namespace: &Namespace, members: &Members<'_>, kept: &mut Object) -> Result<()> {
    let Some(series) = members.object("timeseries")? else {
        return Ok(());
    };
    let capped = members.truth("capped")?.then_some("capped");
    let given = |name: &&str| members.any(name).is_some();
    if let Some(name) = capped.or_else(|| NOT_WITH.into_iter().find(given)) {
        return Err(invalid(format!(
            "{namespace}: 'timeseries' is not allowed with '{name}'"
        )));
    }
    let series = Members {
        context: "create.timeseries",
        of: series,
    };
    series.only(&[
        "timeField",
        "metaField",
        "granularity",
        "bucketMaxSpanSeconds",
        "bucketRoundingSeconds",
    ])?;
    let Some(time) = series.text("timeField")? else {
        return Err(series.missing("timeField"));
    };
    let meta = series.text("metaField")?;
    for (name, field) in [("timeField", Some(time)), ("metaField", meta)] {
        if field.is_some_and(|field| field.contains('.')) {
            return Err(invalid(format!(
                "{namespace}: '{name}' must be a top-level field and not contain a '.'"
            )));
        }
    }
    if meta == Some("_id") {
        return Err(invalid("'metaField' cannot be \"_id\""));
    }
    if meta == Some(time) {
        return Err(invalid("'metaField' cannot be the same as 'timeField'"));
    }
    let words = GRANULARITIES.map(|(word, _)| word);
    let granularity = series.word("granularity", &words)?.unwrap_or("seconds");
    let span = GRANULARITIES
        .iter()
        .find(|(word, _)| *word == granularity)
        .map_or(0, |(_, span)| *span);
    if let Some(seconds) = members.number("expireAfterSeconds", 0, SECONDS_MAX)? {
        kept.push("expireAfterSeconds", Value::Int64(seconds));
    }
    let mut shown = Object::with_capacity(4);
    shown.push("timeField", time);
    if let Some(meta) = meta {
        shown.push("metaField", meta);
    }
    shown.push("granularity", granularity);
    shown.push("bucketMaxSpanSeconds", span);
    kept.push("timeseries", Value::Object(shown));
    Ok(())
}

/// The index by which the documents of a time series expire, if they do.
pub(super) fn ttl_index(options: &Object) -> Option<Object> {
    let time = options.get("timeseries")?.get("timeField").as_str()?;
    let seconds = options.get("expireAfterSeconds")?;
    let mut key = Object::with_capacity(1);
    key.push(time, 1);
    let mut index = Object::with_capacity(3);
    index.push("key", Value::Object(key));
    index.push("name", format!("{time}_1"));
    index.push("expireAfterSeconds", seconds.clone());
    Some(index)
}
