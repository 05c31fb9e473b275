//! Offers: the throughput provisioned for a database or a collection.

mod list;
mod read;
mod replace;
mod shared;
mod standard;
mod wanted;

use lapsedb_store::Offer;
use lapsedb_store::rid::{CollectionRid, DatabaseRid, OfferRid};
use lapsedb_value::{Object, Str, Value};

pub use list::list;
pub use read::read;
pub use replace::{Replaced, replace};
pub use shared::is_shared;
pub(crate) use standard::offer_of;
pub use wanted::{Migration, Wanted};

use crate::resource::push_system;

/// An offer as clients see it.
#[must_use]
pub fn offer_value(offer: &Offer) -> Value {
    let rid = OfferRid(offer.number).text();
    let (resource, resource_rid) = resource_of(offer);
    let mut object = Object::new();
    object.push("resource", Value::from(resource));
    object.push("offerType", Value::from("Invalid"));
    object.push("offerResourceId", Value::String(resource_rid));
    object.push("offerVersion", Value::from("V2"));
    object.push("content", Value::Object(offer.content.clone()));
    object.push("id", Value::String(rid.clone()));
    let own = format!("offers/{rid}/");
    push_system(&mut object, rid, own, offer.lsn, offer.written.0);
    Value::Object(object)
}

/// The link and the rid of what an offer is for.
fn resource_of(offer: &Offer) -> (String, Str) {
    let database = DatabaseRid(offer.database).text();
    match offer.collection {
        Some(cid) => {
            let rid = CollectionRid {
                db: offer.database,
                coll: cid.0,
            }
            .text();
            (format!("dbs/{database}/colls/{rid}/"), rid)
        }
        None => (format!("dbs/{database}/"), database),
    }
}
