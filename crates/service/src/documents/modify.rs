//! Changes what a collection was made with.

use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{Collection, MetaChange};
use lapsedb_value::{Object, Value};

use crate::attempts::Attempts;
use crate::documents::create::{ACTIONS, LEVELS, check_validator, max_of, size_of};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::kept::{cap_of, options_of};
use crate::documents::look::find_collection;
use crate::documents::members::{Members, invalid};
use crate::documents::namespace::Namespace;
use crate::documents::views;
use crate::documents::work::Work;
use crate::documents::writable::check_no_validator;

/// The members of a command that say what is changed.
pub const MODIFY_OPTIONS: [&str; 6] = [
    "cappedMax",
    "cappedSize",
    "changeStreamPreAndPostImages",
    "validationAction",
    "validationLevel",
    "validator",
];

/// Changes options of a collection.
///
/// # Errors
/// When the collection is not there or cannot have the option, an option is wrong, or who asks may not.
pub async fn modify(work: &mut Work, namespace: &Namespace, members: &Object) -> Result<()> {
    let ctx = &work.ctx;
    ctx.who.may_administer()?;
    let members = Members {
        context: "collMod",
        of: members,
    };
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let Some(collection) = find_collection(&view, namespace) else {
            views::refuse(&view, namespace)?;
            return Err(Fault::new(
                code::NAMESPACE_NOT_FOUND,
                format!("ns does not exist: {namespace}"),
            ));
        };
        let options = changed(&collection, &members)?;
        check_no_validator(namespace, &options)?;
        if members.of.is_empty() && !collection.history.kept {
            return Ok(());
        }
        let mut change = rewritten(&collection, options);
        change.asked(collection.cid, members.of.clone());
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(());
        }
    }
}

/// The collection's record with other options.
pub(crate) fn rewritten(collection: &Collection, options: Object) -> MetaChange {
    let mut kept = collection.mongo.as_deref().cloned().unwrap_or_default();
    kept.insert("options", Value::Object(options));
    let mut body = collection.body();
    body.mongo = Some(&kept);
    let mut change = MetaChange::default();
    let key = keys::meta_numbered(MetaKind::Collection, collection.cid.0);
    change.put(key, body.into_object());
    change
}

fn changed(collection: &Collection, members: &Members<'_>) -> Result<Object> {
    let mut options = options_of(collection).cloned().unwrap_or_default();
    let sizes = [
        ("size", size_of(members, "cappedSize")?),
        ("max", max_of(members, "cappedMax")?),
    ];
    for (name, value) in sizes {
        let Some(value) = value else { continue };
        if cap_of(collection).is_none() {
            return Err(invalid("Collection must be capped."));
        }
        options.insert(name, value);
    }
    if let Some(validator) = members.object("validator")? {
        check_validator(validator, None).map_err(|fault| match fault {
            Fault::Said { code, message, .. } => Fault::new(
                code,
                format!("Parsing of collection validator failed :: caused by :: {message}"),
            ),
            other => other,
        })?;
        match validator.is_empty() {
            true => options.remove("validator"),
            false => options.insert("validator", Value::Object(validator.clone())),
        };
    }
    for (name, words) in [
        ("validationLevel", LEVELS.as_slice()),
        ("validationAction", ACTIONS.as_slice()),
    ] {
        if let Some(word) = members.word(name, words)? {
            options.insert(name, word);
        }
    }
    if let Some(images) = members.object("changeStreamPreAndPostImages")? {
        let images = Members {
            context: "collMod.changeStreamPreAndPostImages",
            of: images,
        };
        images.only(&["enabled"])?;
        if images.any("enabled").is_none() {
            return Err(images.missing("enabled"));
        }
        match images.truth("enabled")? {
            true => options.insert(
                "changeStreamPreAndPostImages",
                Value::Object(images.of.clone()),
            ),
            false => options.remove("changeStreamPreAndPostImages"),
        };
    }
    Ok(options)
}
