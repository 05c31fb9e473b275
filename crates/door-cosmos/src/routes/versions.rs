//! The change feed of all versions and deletes: `GET …/docs` with `A-IM: Full-Fidelity Feed`.

use lapsedb_service::items::changes::Start as AnyStart;
use lapsedb_service::items::versions::{self, Request, Start, VersionsPage};
use lapsedb_service::{
    Collection, Error, Event, EventImage, EventKind, Result, address_of, resource,
};
use lapsedb_value::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::routes::{changes, items};
use crate::{envelope, headers};

/// Every change, page by page; 304 and where the reader stands if there is none.
///
/// # Errors
/// As the verb says, and when the start is neither now nor a cursor.
pub(super) async fn feed(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    let request = Request {
        selection: items::selection(call)?,
        start: start(call)?,
        items_max: call.page_size()?,
    };
    let intended = call.text(&headers::INTENDED_COLLECTION_RID)?;
    let page = versions::versions(&call.ctx, (db, coll), intended, &request).await?;
    let body = match page.events.len() {
        0 => None,
        _ => Some(body(&page)?),
    };
    let count = page.events.len();
    Ok(changes::answer(call, &page.scope, body, count, page.next, page.charge).await)
}

fn start(call: &Call<'_>) -> Result<Start> {
    let since = changes::since(call)?;
    match changes::start(call)? {
        AnyStart::Now if since.is_none() => Ok(Start::Now),
        // A client may go on sending the time it once began at: the cursor decides.
        AnyStart::After(lsn) => Ok(Start::After(lsn)),
        AnyStart::Beginning | AnyStart::Now => Err(Error::bad_request(
            "You must read the change feed from within the retention period. The change feed of all versions and deletes begins with If-None-Match: * (now) or with an etag it has answered; from the beginning or from a point in time it cannot be read.",
        )),
    }
}

fn body(page: &VersionsPage) -> Result<Vec<u8>> {
    let collection = &page.scope.collection;
    let mut body = envelope::open(&resource::collection_rid(collection), "Documents");
    for (at, event) in page.events.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        write_event(collection, event, &mut body)?;
    }
    envelope::close(&mut body, page.events.len());
    Ok(body)
}

fn write_event(collection: &Collection, event: &Event, out: &mut Vec<u8>) -> Result<()> {
    let (operation, expired) = match event.kind {
        EventKind::Create => ("create", false),
        EventKind::Replace => ("replace", false),
        EventKind::Delete => ("delete", false),
        EventKind::Expire => ("delete", true),
    };
    let image = |image: &EventImage, out: &mut Vec<u8>| {
        resource::write_item(collection, image.header(), image.body()?, out)
    };
    out.extend_from_slice(b"{\"current\":");
    match &event.current {
        Some(current) => image(current, out)?,
        None => out.extend_from_slice(b"{}"),
    }
    let before = event.previous.as_ref();
    let deleted = event.current.is_none();
    let metadata = format!(
        ",\"metadata\":{{\"operationType\":\"{operation}\",\"lsn\":{},\"crts\":{},\"previousImageLSN\":{},\"timeToLiveExpired\":{expired}",
        event.place.lsn,
        event.happened.0,
        before.map_or(0, |before| before.header().lsn),
    );
    out.extend_from_slice(metadata.as_bytes());
    if deleted {
        write_address(collection, event, out);
    }
    out.push(b'}');
    // The service shows the version before it on deletes and expiries only; of a replacement, its lsn.
    if let Some(before) = before.filter(|_| deleted) {
        out.extend_from_slice(b",\"previous\":");
        image(before, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Id and partition key of an item that is gone: each path of the key by its name, as far as the item had it.
fn write_address(collection: &Collection, event: &Event, out: &mut Vec<u8>) {
    let Some((partition, id)) = address_of(collection, &event.key) else {
        return;
    };
    out.extend_from_slice(b",\"id\":");
    json::write_str(&id, out);
    out.extend_from_slice(b",\"partitionKey\":{");
    let paths = collection.document.get("partitionKey");
    let paths = paths.and_then(|key| key.get("paths").as_array());
    let mut first = true;
    for (path, component) in paths.into_iter().flatten().zip(partition.components()) {
        let value = component.to_value();
        if value.is_undefined() {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        let name = path.as_str().unwrap_or_default();
        json::write_str(name.strip_prefix('/').unwrap_or(name), out);
        out.push(b':');
        json::write(&value, out);
    }
    out.push(b'}');
}
