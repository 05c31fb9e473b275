//! Reads documents.

use lapsedb_store::Collection;
use lapsedb_value::{Object, Value};

use crate::cursors::{self, Batch, Feed, Held, Keep, KeyOf, Query, Room, Shows, Tail, Tally};
use crate::documents::FIRST_BATCH_DOCUMENTS;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::kept::cap_of;
use crate::documents::language::{Language, Sort, Terms};
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::needed::Needed;
use crate::documents::plan::{Access, Question, plan};
use crate::documents::rights::Needs;
use crate::documents::search;
use crate::documents::sorted::sorted;
use crate::documents::views;
use crate::documents::walk::{Source, Walk};
use crate::documents::work::Work;
use crate::logins::action::Action;

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Find {
    /// Which documents.
    pub filter: Object,
    /// What of them.
    pub projection: Object,
    /// In which order.
    pub sort: Object,
    /// How many are passed over.
    pub skip: u64,
    /// How many come at most; 0 means all.
    pub limit: u64,
    /// How many come at once.
    pub batch_size: Option<usize>,
    /// No cursor is wanted for the rest.
    pub single_batch: bool,
    /// The cursor does not end by being idle.
    pub no_timeout: bool,
    /// Only entries of the hinted index from this key on.
    pub min: Object,
    /// Only entries of the hinted index before this key.
    pub max: Object,
    /// Show the keys by which an index names documents instead of them.
    pub return_key: bool,
    /// Show each document's place in the order of creation beside it.
    pub show_record_id: bool,
    /// How texts compare and which variables there are.
    pub terms: Terms,
    /// It goes on at the end of a capped collection.
    pub tail: Option<Tail>,
}

/// A find that has been read and planned.
pub(crate) struct Planned {
    pub(crate) query: Query,
    /// The order to put documents in, if they do not come in it.
    pub(crate) order: Option<Sort>,
    pub(crate) access: Access,
    /// Entries that were read to make the plan.
    pub(crate) read: u64,
}

impl Find {
    /// Makes a plan of it.
    pub(crate) async fn plan(
        &self,
        look: &Look<'_>,
        language: &Language,
        counts: bool,
    ) -> Result<Planned> {
        let filter = language.filter(&self.filter)?;
        let language = &language.behind(&filter);
        let projection = language.projection(&self.projection)?;
        let sort = language.sort(&self.sort)?;
        let filter = search::near_enough(look, language, filter, self).await?;
        let edges = !self.min.is_empty() || !self.max.is_empty();
        let question = Question {
            filter: &filter,
            sort: sort.as_ref(),
            edges: edges.then_some((&self.min, &self.max)),
            changes: false,
            entries: self.return_key || counts,
        };
        if let (Some(_), Some(collection)) = (self.tail, &look.collection) {
            check_tail(self, collection)?;
        }
        let mut plan = plan(look, language, question).await?;
        if self.tail.is_some() && look.collection.is_some() {
            // Whoever waits for what is to come reads in the order of coming.
            plan.source = Source::Everything;
            plan.access = Access::Everything { reverse: false };
        }
        let key = match &plan.access {
            Access::Nothing | Access::Everything { .. } => KeyOf::None,
            Access::Ids(_) => KeyOf::Id,
            Access::Index(index) => KeyOf::Index(index.name.clone()),
        };
        let (order, sort) = match plan.sorted {
            true => (None, sort.filter(|sort| !sort.is_natural())),
            false => (sort.clone(), sort),
        };
        let natural = matches!(plan.access, Access::Everything { .. });
        let capped = look.collection.as_deref().and_then(cap_of).is_some();
        let query = Query {
            holds_on: natural && capped,
            position: None,
            walk: Walk::new(plan.source),
            needed: Needed::by(&filter),
            tail: self.tail.filter(|_| look.collection.is_some()),
            filter,
            projection,
            skip: self.skip,
            left: if self.limit == 0 {
                u64::MAX
            } else {
                self.limit
            },
            sort,
            shows: Shows {
                key: self.return_key.then_some(key),
                record_id: self.show_record_id,
            },
            tally: Tally::default(),
        };
        Ok(Planned {
            query,
            order,
            access: plan.access,
            read: plan.read,
        })
    }
}

/// The first batch of what matches.
///
/// # Errors
/// When the filter is wrong, its time is up, or the engine fails.
pub async fn find(work: &mut Work, namespace: &Namespace, find: &Find) -> Result<Batch> {
    let language = find.terms.language(work, namespace).await?;
    let look = match Look::fresh(work, namespace).await {
        Ok(look) => look,
        Err(fault) => {
            return match views::resolved(work, namespace).await? {
                Some(resolved) => views::find(work, namespace, &resolved, find).await,
                None => Err(fault),
            };
        }
    };
    let mut planned = find.plan(&look, &language, false).await?;
    let feed = match planned.order.take() {
        None => Feed::Query(Box::new(planned.query)),
        Some(sort) => {
            let found = sorted(work, &look, &mut planned.query, &sort).await?;
            Feed::Held(Held::new(found, Some(look.view.now()), work.memory()))
        }
    };
    let documents_max = find.batch_size.unwrap_or(FIRST_BATCH_DOCUMENTS);
    let room = Room::new(Some(documents_max), work.memory());
    let keep = Keep {
        needs: Needs::Own(Action::Find),
        single_batch: find.single_batch,
        no_timeout: find.no_timeout,
    };
    cursors::open(work, &look, namespace, feed, room, keep).await
}

/// Refuses to wait where nothing stays in the order of its insertion, or to wait in another order.
fn check_tail(find: &Find, collection: &Collection) -> Result<()> {
    let natural = find.sort.get("$natural").and_then(Value::as_f64) == Some(1.0);
    let message = match () {
        () if !find.sort.is_empty() && !natural => {
            "cannot use tailable option with a sort other than {$natural: 1}"
        }
        () if find.single_batch => "cannot use tailable option with the 'singleBatch' option",
        () if cap_of(collection).is_none() => {
            "error processing query: tailable cursor requested on non capped collection"
        }
        () => return Ok(()),
    };
    Err(Fault::new(code::BAD_VALUE, message))
}
