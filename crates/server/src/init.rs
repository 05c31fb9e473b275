//! What `--init` names, applied before the server is ready: databases, containers and first items, as JSON.
//!
//! Only what is missing is made: a container that is there keeps its definition, an item that is there its content, so that the same
//! file may be given at every start. `docs/init.md` shows the form.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapsedb_service::collections;
use lapsedb_service::databases;
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::limits::NESTING_LEVELS_MAX;
use lapsedb_service::{Ctx, Error, Kind, Service, Who};
use lapsedb_value::{Object, Value, json};

/// Items written in one commit.
const ITEMS_PER_COMMIT: usize = 100;

/// Applies a file, or every `.json` file of a folder by name. A failure is one line that names the file.
pub async fn apply(service: &Arc<Service>, path: &Path) -> Result<(), String> {
    let ctx = Ctx::new(Arc::clone(service), Who::Master);
    for file in files(path)? {
        apply_file(&ctx, &file)
            .await
            .map_err(|problem| format!("--init {}: {problem}", file.display()))?;
    }
    Ok(())
}

fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error: std::io::Error| format!("--init {}: {error}", path.display());
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|ending| ending == "json") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

async fn apply_file(ctx: &Ctx, file: &Path) -> Result<(), String> {
    let text = std::fs::read(file).map_err(|error| error.to_string())?;
    let limits = json::Limits {
        depth_max: NESTING_LEVELS_MAX,
        duplicates_refused: &[],
    };
    let root = json::parse(&text, &limits).map_err(|error| error.to_string())?;
    for database in list(&root, "databases", true)? {
        let id = name(database, "a database")?;
        let mut body = Object::new();
        body.push("id", id);
        missing_only(databases::create(ctx, &body, None).await).map_err(|error| at(id, &error))?;
        for container in list(database, "containers", false)? {
            apply_container(ctx, id, container).await?;
        }
    }
    Ok(())
}

async fn apply_container(ctx: &Ctx, database: &str, container: &Value) -> Result<(), String> {
    let id = name(container, "a container")?;
    let place = format!("{database}/{id}");
    let mut definition = container.as_object().cloned().unwrap_or_default();
    definition.remove("items");
    let definition = Value::Object(definition);
    let made = collections::create(ctx, database, &definition, None).await;
    missing_only(made).map_err(|error| at(&place, &error))?;
    for items in list(container, "items", false)?.chunks(ITEMS_PER_COMMIT) {
        apply_items(ctx, (database, id), items)
            .await
            .map_err(|error| at(&place, &error))?;
    }
    Ok(())
}

async fn apply_items(ctx: &Ctx, address: (&str, &str), items: &[Value]) -> Result<(), Error> {
    let scope = ctx.scope(address.0, address.1).await?;
    let mut ops = Vec::with_capacity(items.len());
    for item in items {
        let object = item.as_object().cloned();
        let object = object.ok_or_else(|| Error::bad_request("an item must be an object"))?;
        let partition = scope.collection.partition_key.extract(&object);
        ops.push(ItemOp {
            action: Action::Create(Document::new(object)?),
            partition: Some(partition),
            if_match: None,
            if_none_match: None,
            minimal: true,
        });
    }
    let ran = items::run(ctx, address, None, &ops, Mode::Each).await?;
    ran.results.into_iter().try_for_each(missing_only)
}

/// What is there already is left as it is.
fn missing_only<T>(made: Result<T, Error>) -> Result<(), Error> {
    match made {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind, Kind::Conflict | Kind::DatabaseNameTaken) => Ok(()),
        Err(error) => Err(error),
    }
}

fn at(place: &str, error: &Error) -> String {
    format!("{place}: {}", error.message)
}

fn name<'v>(value: &'v Value, what: &str) -> Result<&'v str, String> {
    value
        .get("id")
        .as_str()
        .ok_or_else(|| format!("{what} lacks the string 'id'"))
}

/// The elements of an array; none if it is not there and need not be.
fn list<'v>(value: &'v Value, member: &str, needed: bool) -> Result<&'v [Value], String> {
    match value.get(member) {
        Value::Array(elements) => Ok(elements),
        Value::Undefined if !needed => Ok(&[]),
        _ => Err(format!("'{member}' must be an array")),
    }
}
