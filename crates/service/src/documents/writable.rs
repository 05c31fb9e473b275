//! Names that clients may write to. Names that begin with `system.` are reserved; each way to write to a collection refuses them
//! in its own words, as MongoDB does.
//!
//! What makes a collection and what writes documents takes a [`Writable`] instead of a namespace, so that no way to write leaves
//! the question out.

use std::ops::Deref;

use lapsedb_store::{Catalog, Collection};
use lapsedb_value::Object;

use crate::documents::fault::{Fault, Result, code};
use crate::documents::namespace::Namespace;
use crate::documents::views::SYSTEM_VIEWS;
use crate::error;
use crate::operations::PROFILE_COLLECTION;

/// How reserved names begin.
const SYSTEM: &str = "system.";
/// What no name may have inside.
const INNER_SYSTEM: &str = ".system.";
/// Reserved names that clients may use in every database.
const ANYWHERE: [&str; 2] = ["system.js", "system.users"];
/// Those that they may use in `admin` alone.
const IN_ADMIN: [&str; 2] = ["system.roles", "system.version"];
/// Databases that pipelines write nothing to.
const INTERNAL: [&str; 3] = ["admin", "config", "local"];

/// Codes of pipelines that write to a reserved name, and to a database of the server's own.
const OUT_RESERVED: i32 = 17_385;
const OUT_INTERNAL: i32 = 31_321;
const MERGE_RESERVED: i32 = 31_319;
const MERGE_INTERNAL: i32 = 31_320;

/// A namespace that may be written to, in the way that was asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writable<'n>(&'n Namespace);

impl Deref for Writable<'_> {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        self.0
    }
}

impl<'n> Writable<'n> {
    /// For writes of documents and indexes.
    ///
    /// # Errors
    /// When the name is reserved.
    pub(crate) fn for_documents(namespace: &'n Namespace) -> Result<Writable<'n>> {
        match refused_documents(namespace) {
            None => Ok(Writable(namespace)),
            Some((code, text)) => Err(Fault::new(code, text)),
        }
    }

    /// For a collection that is made by name. The records of the profiler may be given their collection beforehand.
    ///
    /// # Errors
    /// When the name is reserved.
    pub(crate) fn for_collection(namespace: &'n Namespace) -> Result<Writable<'n>> {
        match refused_name(namespace) {
            None => Ok(Writable(namespace)),
            Some((code, text)) => Err(Fault::new(code, text)),
        }
    }

    /// For a view, and for a time series, which clients of MongoDB see as one.
    ///
    /// # Errors
    /// When the name is reserved, for whatever.
    pub(crate) fn for_view(namespace: &'n Namespace) -> Result<Writable<'n>> {
        let target = Writable::for_collection(namespace)?;
        match is_reserved(&namespace.collection) {
            false => Ok(target),
            true => Err(Fault::new(
                code::INVALID_NAMESPACE,
                "View name cannot start with 'system.', which is reserved for system namespaces",
            )),
        }
    }

    /// For a collection that gets another name.
    ///
    /// # Errors
    /// When the old or the new name is reserved.
    pub(crate) fn for_rename(from: &Namespace, to: &'n Namespace) -> Result<Writable<'n>> {
        for (which, namespace) in [("source", from), ("target", to)] {
            if let Some((_, why)) = refused_documents(namespace) {
                let text = format!("error with {which} namespace: {why}");
                return Err(Fault::new(code::ILLEGAL_OPERATION, text));
            }
        }
        Ok(Writable(to))
    }

    /// For `$out`.
    ///
    /// # Errors
    /// When the name is reserved, or the database the server's own.
    pub(crate) fn for_out(namespace: &'n Namespace) -> Result<Writable<'n>> {
        let Namespace {
            database,
            collection,
        } = namespace;
        if is_reserved(collection) {
            let text = format!("Can't $out to special collection: {collection}");
            return Err(Fault::new(OUT_RESERVED, text));
        }
        if INTERNAL.contains(&database.as_str()) {
            let text = format!("Can't $out to internal database: {database}");
            return Err(Fault::new(OUT_INTERNAL, text));
        }
        // It is filled under another name, and renamed.
        Writable::for_rename(namespace, namespace)
    }

    /// For `$merge`.
    ///
    /// # Errors
    /// When the name is reserved, or the database the server's own.
    pub(crate) fn for_merge(namespace: &'n Namespace) -> Result<Writable<'n>> {
        let Namespace {
            database,
            collection,
        } = namespace;
        if is_reserved(collection) {
            let text = format!("Cannot $merge to special collection: {collection}");
            return Err(Fault::new(MERGE_RESERVED, text));
        }
        if INTERNAL.contains(&database.as_str()) {
            let text = format!("Cannot $merge to internal database: {database}");
            return Err(Fault::new(MERGE_INTERNAL, text));
        }
        Writable::for_documents(namespace)
    }

    /// For a collection that becomes a capped one.
    ///
    /// # Errors
    /// When the name is reserved, for whatever.
    pub(crate) fn for_conversion(namespace: &'n Namespace) -> Result<Writable<'n>> {
        if is_reserved(&namespace.collection) {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("Invalid namespace: {namespace} is reserved and cannot be converted"),
            ));
        }
        Writable::for_documents(namespace)
    }

    /// For the profiler alone, which no client's command goes through.
    pub(crate) fn for_profiler(records: &'n ProfileRecords) -> Writable<'n> {
        Writable(&records.0)
    }

    /// The namespace itself.
    pub(crate) const fn namespace(self) -> &'n Namespace {
        self.0
    }
}

/// Where the profiler writes.
pub(crate) struct ProfileRecords(Namespace);

impl ProfileRecords {
    /// Those of a database.
    ///
    /// # Errors
    /// When the database cannot be called so.
    pub(crate) fn of(database: &str) -> Result<ProfileRecords> {
        Namespace::new(database, PROFILE_COLLECTION).map(ProfileRecords)
    }
}

/// Refuses the NoSQL API to write items where clients of the MongoDB API may write no documents.
///
/// # Errors
/// When the collection is one of the MongoDB API, and its name reserved.
pub(crate) fn check_items(catalog: &Catalog, collection: &Collection) -> error::Result<()> {
    if collection.mongo.is_none() || !collection.id.contains(SYSTEM) {
        return Ok(());
    }
    let database = catalog.database_numbered(collection.database);
    let database = database.map_or("", |database| &database.id);
    match refused_documents(&Namespace::pseudo(database, &collection.id)) {
        None => Ok(()),
        Some(_) => Err(error::Error::forbidden(format!(
            "The container '{}' belongs to the MongoDB API, which reserves its name: its items can be read, but not written.",
            collection.id
        ))),
    }
}

/// Refuses a validator for a reserved name: what the server writes there is held to none.
///
/// # Errors
/// When the name is reserved, for whatever, and the options have a validator.
pub(crate) fn check_no_validator(namespace: &Namespace, options: &Object) -> Result<()> {
    match is_reserved(&namespace.collection) && options.contains_key("validator") {
        false => Ok(()),
        true => Err(Fault::new(
            code::INVALID_OPTIONS,
            format!("Document validators not allowed on system collection {namespace}"),
        )),
    }
}

/// Whether a name belongs to the system, whoever may use it.
pub(crate) fn is_reserved(collection: &str) -> bool {
    collection.starts_with(SYSTEM)
}

/// Whether clients may use a reserved name as any other.
fn is_for_clients(namespace: &Namespace) -> bool {
    let name = namespace.collection.as_str();
    ANYWHERE.contains(&name) || (namespace.database == "admin" && IN_ADMIN.contains(&name))
}

/// Why clients may not write documents to a collection, with the code that says so.
fn refused_documents(namespace: &Namespace) -> Option<(i32, String)> {
    // What is in them is decided by the server alone.
    if [PROFILE_COLLECTION, SYSTEM_VIEWS].contains(&namespace.collection.as_str()) {
        let text = format!("cannot write to {namespace}");
        return Some((code::INVALID_NAMESPACE, text));
    }
    refused_name(namespace)
}

/// Why clients may not make a collection, with the code that says so.
fn refused_name(namespace: &Namespace) -> Option<(i32, String)> {
    let name = namespace.collection.as_str();
    if is_reserved(name) && name != PROFILE_COLLECTION && !is_for_clients(namespace) {
        let text = format!("Invalid system namespace: {namespace}");
        return Some((code::INVALID_NAMESPACE, text));
    }
    name.contains(INNER_SYSTEM)
        .then(|| (code::BAD_VALUE, format!("Invalid namespace: {namespace}")))
}
