//! Throughput of databases and collections, as clients of this door ask for it: the offers are those of the NoSQL door.

use lapsedb_store::catalog::offer_body;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::rid::OFFER_MAX;
use lapsedb_store::{MetaChange, Offer, View};
use lapsedb_value::{Object, Value};

use crate::attempts::{Attempts, Numbers};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::look::find_collection;
use crate::documents::make::{database_for, make_plain};
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;
use crate::offers::{self, Wanted};

/// What throughput is of.
#[derive(Clone, Debug)]
pub enum Provisioned {
    /// A database, shared by its collections.
    Database(String),
    /// A collection.
    Collection(Namespace),
}

/// Whether what it is of is made, or has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// It is new.
    New,
    /// It is there.
    There,
}

impl Provisioned {
    fn database(&self) -> &str {
        match self {
            Provisioned::Database(name) => name,
            Provisioned::Collection(namespace) => &namespace.database,
        }
    }

    fn gone(&self) -> Fault {
        let message = match self {
            Provisioned::Database(name) => format!("Database {name} does not exist."),
            Provisioned::Collection(namespace) => format!("Collection {namespace} does not exist."),
        };
        Fault::new(code::NAMESPACE_NOT_FOUND, message)
    }
}

/// Makes a database or a collection, or finds it, and gives it throughput, if some is wanted.
///
/// # Errors
/// When it is there although it should be new, or the other way round, the throughput is not allowed, or who asks may not.
pub async fn provision(
    work: &mut Work,
    of: &Provisioned,
    making: Making,
    wanted: Option<&Wanted>,
) -> Result<()> {
    let ctx = &work.ctx;
    ctx.who.may_administer()?;
    if let (Making::New, Provisioned::Collection(namespace)) = (making, of)
        && !make_plain(ctx, namespace).await?
    {
        return Err(exists(format!("Collection {namespace} already exists.")));
    }
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let mut change = MetaChange::default();
        let mut numbers = Numbers::of(&view);
        let there = view.catalog().database(of.database()).is_some();
        let database = match (of, making) {
            (Provisioned::Database(name), Making::New) if there => {
                return Err(exists(format!("Database {name} already exists.")));
            }
            (Provisioned::Database(name), Making::New) => {
                database_for(&view, name, &mut change, &mut numbers)?
            }
            _ => number_of(&view, of).ok_or_else(|| of.gone())?.0,
        };
        let collection = number_of(&view, of).and_then(|(_, collection)| collection);
        if let Some(wanted) = wanted {
            let old = offers::offer_of(view.catalog(), database, collection);
            let number = match &old {
                Some(offer) => offer.number,
                None => numbers.take(OFFER_MAX)?,
            };
            let content = wanted.content(old.as_ref().map(|offer| &offer.content));
            change.put(
                keys::meta_numbered(MetaKind::Offer, number),
                offer_body(number, database, collection, content),
            );
        }
        numbers.write(&mut change);
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(());
        }
    }
}

/// What throughput a database or a collection has, as clients of Cosmos know it.
///
/// # Errors
/// When it is not there, or who asks may not.
pub async fn provisioned(work: &mut Work, of: &Provisioned) -> Result<Object> {
    work.ctx.who.may_read_account()?;
    let view = work.ctx.view().await?;
    let (database, collection) = number_of(&view, of).ok_or_else(|| of.gone())?;
    let mut told = Object::with_capacity(4);
    told.push("database", of.database());
    if let Provisioned::Collection(namespace) = of {
        told.push("collection", namespace.collection.as_str());
    }
    if let Some(offer) = offers::offer_of(view.catalog(), database, collection) {
        tell(&offer, &mut told);
    }
    Ok(told)
}

fn tell(offer: &Offer, told: &mut Object) {
    let rate = offer.content.get("offerThroughput").cloned();
    told.push("provisionedThroughput", rate.unwrap_or_default());
    if let Some(settings) = offer.content.get("offerAutopilotSettings") {
        let mut shown = Object::with_capacity(1);
        shown.push("maxThroughput", settings.get("maxThroughput").clone());
        told.push("autoScaleSettings", Value::Object(shown));
    }
}

/// The numbers of a database and of the collection in it.
fn number_of(view: &View, of: &Provisioned) -> Option<(u32, Option<lapsedb_store::CollectionId>)> {
    match of {
        Provisioned::Database(name) => {
            let database = view.catalog().database(name)?;
            Some((database.number, None))
        }
        Provisioned::Collection(namespace) => {
            let collection = find_collection(view, namespace)?;
            Some((collection.database, Some(collection.cid)))
        }
    }
}

fn exists(message: String) -> Fault {
    Fault::new(code::NAMESPACE_EXISTS, message)
}
