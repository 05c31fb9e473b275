//! Makes a collection or a view, with options.

mod capped;
mod clustered;
mod same;
mod time_series;
mod validation;

use lapsedb_mql::collation::Collation;
use lapsedb_store::View;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::create_indexes;
use crate::documents::look::find_collection;
use crate::documents::make::{make, make_in};
use crate::documents::members::{Members, invalid};
use crate::documents::namespace::Namespace;
use crate::documents::views::{find_view, make_view};
use crate::documents::work::Work;
use crate::documents::writable::{Writable, check_no_validator};

pub(crate) use capped::{max_of, size_of};
pub(crate) use same::{check_same, check_same_collection};
pub(crate) use validation::{ACTIONS, LEVELS, check_validator};

/// The members of a command that say what is made.
pub const CREATE_OPTIONS: [&str; 18] = [
    "autoIndexId",
    "capped",
    "changeStreamPreAndPostImages",
    "clusteredIndex",
    "collation",
    "expireAfterSeconds",
    "idIndex",
    "indexOptionDefaults",
    "max",
    "pipeline",
    "size",
    "storageEngine",
    "temp",
    "timeseries",
    "validationAction",
    "validationLevel",
    "validator",
    "viewOn",
];

/// Makes a collection or a view. One that is there with the same options stays as it is.
///
/// # Errors
/// When the name is taken by something made with other options, an option is wrong, or who asks may not.
pub async fn create(work: &mut Work, namespace: &Namespace, members: &Object) -> Result<()> {
    let members = Members {
        context: "create",
        of: members,
    };
    if members.any("viewOn").is_some() || members.any("pipeline").is_some() {
        if work.in_transaction() {
            return Err(Fault::new(
                code::NOT_SUPPORTED_IN_TRANSACTION,
                format!("Cannot create view {namespace} in a multi-document transaction."),
            ));
        }
        return view(work, Writable::for_view(namespace)?, &members).await;
    }
    let options = options(namespace, &members)?;
    let target = match options.contains_key("timeseries") {
        true => Writable::for_view(namespace)?,
        false => Writable::for_collection(namespace)?,
    };
    check_no_validator(namespace, &options)?;
    let seen = work.ctx.view().await?;
    if let Some(view) = find_view(&seen, namespace) {
        return check_same(namespace, None, &view.definition, &options);
    }
    if !new(work, &seen, target, &options).await? {
        there_already(work, namespace, &options).await?;
    }
    match time_series::ttl_index(&options) {
        Some(index) => {
            create_indexes(work, namespace, vec![index]).await?;
            Ok(())
        }
        None => Ok(()),
    }
}

/// Refuses a collection that is there with other options; in a transaction, any.
async fn there_already(work: &Work, namespace: &Namespace, options: &Object) -> Result<()> {
    work.ctx.who.may_administer()?;
    if !work.in_transaction()
        && let Some(found) = find_collection(&work.ctx.view().await?, namespace)
    {
        return check_same_collection(namespace, &found, options);
    }
    Err(Fault::new(
        code::NAMESPACE_EXISTS,
        format!("Collection {namespace} already exists."),
    ))
}

/// Makes a collection; in a transaction, for the transaction alone until it commits. Says whether it is new.
async fn new(work: &Work, seen: &View, target: Writable<'_>, options: &Object) -> Result<bool> {
    let namespace = target.namespace();
    let Some(transaction) = work.transaction() else {
        let there = find_collection(seen, namespace).is_some();
        return Ok(!there && make(&work.ctx, target, options).await?);
    };
    let view = transaction.view.as_ref();
    if view.is_some_and(|view| work.collection(view, namespace).is_some()) {
        return Ok(false);
    }
    make_in(&work.ctx, transaction, target, options).await?;
    Ok(true)
}

async fn view(work: &mut Work, target: Writable<'_>, members: &Members<'_>) -> Result<()> {
    let pipeline = members.objects("pipeline")?.unwrap_or_default().to_vec();
    let Some(on) = members.text("viewOn")? else {
        return Err(invalid("'pipeline' requires 'viewOn' to also be specified"));
    };
    for name in CREATE_OPTIONS {
        if !["viewOn", "pipeline", "collation"].contains(&name) && members.any(name).is_some() {
            return Err(invalid(format!(
                "the '{name}' field is not allowed for a view"
            )));
        }
    }
    let collation = members.object("collation")?;
    make_view(&work.ctx, target, on, pipeline, collation).await
}

/// The options of a time series that is nothing else.
///
/// # Errors
/// When what is said of it is wrong.
pub(crate) fn time_series_options(namespace: &Namespace, series: &Object) -> Result<Object> {
    let mut members = Object::with_capacity(1);
    members.push("timeseries", Value::Object(series.clone()));
    let members = Members {
        context: "create",
        of: &members,
    };
    options(namespace, &members)
}

/// The options as they are kept and shown.
fn options(namespace: &Namespace, members: &Members<'_>) -> Result<Object> {
    let mut kept = Object::new();
    if members.any("temp").is_some() {
        return Err(invalid("the 'temp' field is an invalid option"));
    }
    if members.any("autoIndexId").and_then(Value::as_bool) == Some(false) {
        return Err(Fault::new(
            50_001,
            format!(
                "autoIndexId:false is not allowed for collection {namespace} because it can be replicated"
            ),
        ));
    }
    time_series::read(namespace, members, &mut kept)?;
    clustered::read(members, &mut kept)?;
    if members.any("expireAfterSeconds").is_some() && !kept.contains_key("expireAfterSeconds") {
        return Err(invalid(
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        ));
    }
    capped::read(members, &mut kept)?;
    images(members, &mut kept)?;
    engines(members, &mut kept)?;
    check_id_index(members)?;
    let collation = match members.object("collation")? {
        Some(collation) => Collation::parse(collation)?,
        None => None,
    };
    validation::read(members, collation.as_ref(), &mut kept)?;
    if let Some(collation) = collation {
        kept.push("collation", Value::Object(collation.to_object()));
    }
    Ok(kept)
}

/// Whether changes show documents as they were before.
fn images(members: &Members<'_>, kept: &mut Object) -> Result<()> {
    let Some(images) = members.object("changeStreamPreAndPostImages")? else {
        return Ok(());
    };
    let images = Members {
        context: "create.changeStreamPreAndPostImages",
        of: images,
    };
    images.only(&["enabled"])?;
    if images.any("enabled").is_none() {
        return Err(images.missing("enabled"));
    }
    if images.truth("enabled")? {
        kept.push(
            "changeStreamPreAndPostImages",
            Value::Object(images.of.clone()),
        );
    }
    Ok(())
}

/// Refuses engines that nobody knows.
pub(crate) fn check_engines(engines: &Object) -> Result<()> {
    for (name, value) in engines {
        if value.as_object().is_none() {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("'storageEngine.{name}' has to be an embedded document."),
            ));
        }
        if !["wiredTiger", "lapsedb"].contains(&name.as_str()) {
            return Err(invalid(format!(
                "{name} is not a registered storage engine for this server"
            )));
        }
    }
    Ok(())
}

/// What is said of storage engines is kept and means nothing here.
fn engines(members: &Members<'_>, kept: &mut Object) -> Result<()> {
    if let Some(engines) = members.object("storageEngine")? {
        check_engines(engines)?;
        kept.push("storageEngine", Value::Object(engines.clone()));
    }
    if let Some(defaults) = members.object("indexOptionDefaults")? {
        let defaults = Members {
            context: "create.indexOptionDefaults",
            of: defaults,
        };
        defaults.only(&["storageEngine"])?;
        kept.push("indexOptionDefaults", Value::Object(defaults.of.clone()));
    }
    Ok(())
}

fn check_id_index(members: &Members<'_>) -> Result<()> {
    let Some(index) = members.object("idIndex")? else {
        return Ok(());
    };
    let key = index.get("key").and_then(Value::as_object);
    let ascending = key
        .is_some_and(|key| key.len() == 1 && key.get("_id").and_then(Value::as_f64) == Some(1.0));
    if ascending {
        return Ok(());
    }
    let shown = crate::documents::shell::text(index.get("key").unwrap_or(&Value::Null));
    Err(Fault::new(
        code::BAD_VALUE,
        format!("The field 'key' for an _id index must be {{_id: 1}}, but got {shown}"),
    ))
}
