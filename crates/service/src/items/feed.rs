//! Reads the items of a collection, of a partition or of a range, page by page.

use bytes::Bytes;
use lapsedb_query::exec::{Io, Reader};
use lapsedb_query::plan::{Condition, Cover, Track, Wanted};
use lapsedb_query::planner::{self, Tuning};
use lapsedb_record::Live;
use lapsedb_store::partition_key::{EpkRange, PartitionKey};
use lapsedb_store::{Collection, ItemKey, ItemPage, ItemRange, ScanLimits};

use crate::charge;
use crate::continuation::{Mark, invalid_token};
use crate::ctx::{Ctx, Scope};
use crate::error::{Error, Kind, Result};
use crate::items::query::access;
use crate::limits::{PAGE_BYTES_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};

/// Which items a feed or a query is about, as the request says it.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// A partition key, or the first levels of a hierarchical one.
    pub partition: Option<PartitionKey>,
    /// The id of a partition key range.
    pub range_id: Option<String>,
    /// A range of effective partition keys.
    pub epk: Option<EpkRange>,
}

/// Where a page begins and how long it may be.
#[derive(Clone, Debug, Default)]
pub struct Paging {
    /// Items at most; none if the server may choose.
    pub items_max: Option<usize>,
    /// Where an earlier page ended.
    pub resume: Option<Vec<u8>>,
}

/// A page of items.
pub struct FeedPage {
    /// Where they were found.
    pub scope: Scope,
    /// The items.
    pub items: Vec<(ItemKey, Live<Bytes>)>,
    /// Where the next page begins.
    pub resume: Option<Vec<u8>>,
    /// What it cost.
    pub charge: f64,
}

impl Selection {
    /// The stretch of the collection this selects.
    ///
    /// # Errors
    /// When the key does not fit the collection, or the range does not exist.
    pub fn range(&self, collection: &Collection) -> Result<ItemRange> {
        if let Some(range) = &self.range_id {
            // `<collection rid>,<range>` from some clients.
            let (rid, id) = range
                .rsplit_once(',')
                .map_or((None, range.as_str()), |(rid, id)| (Some(rid), id));
            if rid.is_some_and(|rid| rid != crate::resource::collection_rid(collection))
                || id.trim() != "0"
            {
                return Err(Error::new(
                    Kind::RangeGone,
                    format!("The partition key range '{range}' does not exist."),
                ));
            }
        }
        let of_key = match &self.partition {
            None => None,
            Some(key) => {
                let def = &collection.partition_key;
                let key = def
                    .prefix(key.clone())
                    .map_err(|error| Error::bad_request(error.to_string()))?;
                let whole =
                    key.components().is_empty() || key.components().len() == def.paths.len();
                Some(if whole {
                    ItemRange::Partition(
                        def.whole(key)
                            .map_err(|error| Error::bad_request(error.to_string()))?,
                    )
                } else {
                    ItemRange::Prefix(key)
                })
            }
        };
        Ok(match (of_key, &self.epk) {
            (Some(range), _) => range,
            (None, Some(epk)) if !epk.is_full() => ItemRange::Epk(epk.clone()),
            (None, _) => ItemRange::Everything,
        })
    }
}

/// One page of living items.
///
/// # Errors
/// When the collection is not there, the selection does not fit it, or who asks may not read it.
pub async fn feed(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    selection: &Selection,
    paging: &Paging,
) -> Result<FeedPage> {
    let scope = ctx.scope(address.0, address.1).await?;
    scope.expect_rid(intended)?;
    ctx.who
        .may_read_items(&scope.collection, selection.partition.as_ref())?;
    let throughputs = ctx.service().throughputs();
    throughputs.admit(&scope.view, &scope.collection)?;
    let range = selection.range(&scope.collection)?;
    let limits = ScanLimits {
        items_max: paging
            .items_max
            .unwrap_or(PAGE_ITEMS_DEFAULT)
            .clamp(1, PAGE_ITEMS_MAX),
        bytes_max: PAGE_BYTES_MAX,
    };
    let mark = Mark::of_items(&scope.collection, &range);
    let resume = match &paging.resume {
        None => None,
        Some(token) => Some(mark.read(token).ok_or_else(invalid_token)?),
    };
    let page = match range {
        ItemRange::Everything => {
            let view = &scope.view;
            view.scan(&scope.collection, &range, resume, limits).await?
        }
        ItemRange::Partition(_)
        | ItemRange::Prefix(_)
        | ItemRange::Epk(_)
        | ItemRange::Spans(_) => part(&scope, range, resume, limits).await?,
    };
    let bytes = page.items.iter().map(|(_, item)| item.body().len()).sum();
    let charge = charge::feed(bytes);
    throughputs.spend(&scope.view, &scope.collection, charge);
    Ok(FeedPage {
        scope,
        items: page.items,
        resume: page.resume.map(|place| mark.write(&place)),
        charge,
    })
}

/// First byte of a resume point of a part of a collection: what follows is an ordinal.
const BY_CREATION: u8 = b'o';
/// The same: what follows is the key of an item.
const BY_KEY: u8 = b'i';

/// One page of the items in a part of a collection, in the order of creation.
async fn part(
    scope: &Scope,
    range: ItemRange,
    resume: Option<&[u8]>,
    limits: ScanLimits,
) -> Result<ItemPage> {
    let collection = &scope.collection;
    let condition = match &range {
        ItemRange::Partition(partition) => access::in_partition(collection, partition, |path| {
            access::index_of(collection, path)
        }),
        ItemRange::Everything | ItemRange::Prefix(_) | ItemRange::Epk(_) | ItemRange::Spans(_) => {
            Condition::Always
        }
    };
    let (track, place) = match resume.and_then(<[u8]>::split_first) {
        None => (None, None),
        Some((&BY_CREATION, place)) => (Some(Track::Ordinal), Some(place)),
        Some((&BY_KEY, place)) => (Some(Track::Items), Some(place)),
        Some(_) => return Err(invalid_token()),
    };
    let wanted = Wanted {
        condition,
        within: range.into_spans(collection),
        points: false,
        order: None,
        by_creation: true,
        cover: Cover::Items,
        has: &|_, _| true,
    };
    let mut io = Io::new(&scope.view, collection);
    let choice = planner::choose(&mut io, &wanted, track, &Tuning::default())
        .await?
        .ok_or_else(invalid_token)?;
    let mut reader = Reader::new(choice.plan, wanted.within, None, &|_| true);
    if place.is_some_and(|place| !reader.start_at(place)) {
        return Err(invalid_token());
    }
    let tag = match reader.track() {
        Track::Items => BY_KEY,
        Track::Ordinal | Track::Index(_) => BY_CREATION,
    };
    let (mut page, mut bytes) = (ItemPage::default(), 0);
    // One more than the page holds says where the next one begins.
    while let Some(step) = {
        let room = limits.items_max.saturating_sub(page.items.len());
        reader.next(&mut io, room.saturating_add(1)).await?
    } {
        for candidate in step {
            if page.items.len() >= limits.items_max || bytes >= limits.bytes_max {
                page.resume = Some([&[tag], candidate.place.as_slice()].concat());
                return Ok(page);
            }
            let Some(item) = candidate.item else {
                continue;
            };
            bytes += item.body().len();
            page.items.push((candidate.key, item));
        }
    }
    Ok(page)
}
