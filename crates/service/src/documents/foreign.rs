//! Other collections, as `$lookup` and its like see them: through the same view, living documents only.

use std::sync::Arc;

use lapsedb_mql::filter::{Filter, Options};
use lapsedb_mql::sort::Sort;
use lapsedb_mql::stages::{Foreign, Leading, Pipeline, Wait};
use lapsedb_mql::{MqlError, Result};
use lapsedb_store::Collection;
use lapsedb_value::Object;
use lapsedb_value::budget::{Held, object_bytes};
use parking_lot::Mutex;

use crate::documents::aggregate::start;
use crate::documents::fault::Fault;
use crate::documents::language::{Language, Terms};
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::plan::{Access, Hint, Plan, Question, plan};
use crate::documents::views::{self, Resolved};
use crate::documents::walk::Walk;
use crate::documents::work::Work;

/// Documents read in one step.
const STEP_ROWS: usize = 256;

/// The collections of a database beside the one that is read.
pub(crate) struct Others<'a> {
    look: &'a Look<'a>,
    database: &'a str,
    work: &'a Work,
    read: Mutex<Read>,
}

/// What was read of other collections.
#[derive(Default)]
struct Read {
    collections: Vec<Arc<Collection>>,
    /// When the first document expires that was read since it was last asked for; none, if none was read.
    first_expiry: Option<u64>,
}

impl Read {
    fn note(&mut self, expires: u64) {
        let first = self.first_expiry.unwrap_or(u64::MAX);
        self.first_expiry = Some(first.min(expires));
    }
}

impl<'a> Others<'a> {
    pub(crate) fn new(look: &'a Look<'a>, database: &'a str, work: &'a Work) -> Others<'a> {
        Others {
            look,
            database,
            work,
            read: Mutex::default(),
        }
    }

    /// Opens another collection, and remembers that it was read.
    async fn open(&self, namespace: &Namespace) -> std::result::Result<Look<'_>, Fault> {
        let look = self.look.beside(namespace).await?;
        if let Some(collection) = &look.collection {
            let mut read = self.read.lock();
            // Even where nothing is found in it, the answer depends on it.
            read.note(u64::MAX);
            let known = |known: &Arc<Collection>| known.cid == collection.cid;
            if !read.collections.iter().any(known) {
                read.collections.push(Arc::clone(collection));
            }
        }
        Ok(look)
    }

    /// The collections that were read.
    pub(crate) fn into_collections(self) -> Vec<Arc<Collection>> {
        self.read.into_inner().collections
    }

    /// Takes what was read from the throughput of the collection that is read.
    pub(crate) fn spend(&self, charge: f64) {
        self.look.spend(&self.work.ctx, charge);
    }

    async fn plan(
        &self,
        look: &Look<'_>,
        filter: &Filter,
        sort: Option<&Sort>,
    ) -> std::result::Result<Plan, Fault> {
        let language = Language {
            options: Options::default(),
            hint: Hint::None,
        };
        let question = Question {
            sort,
            ..Question::of(filter)
        };
        plan(look, &language, question).await
    }

    async fn read(
        &self,
        collection: &str,
        leading: Leading<'_>,
        held: &Held,
    ) -> std::result::Result<Vec<Object>, Fault> {
        let namespace = Namespace::pseudo(self.database, collection);
        let look = self.open(&namespace).await?;
        if look.collection.is_none()
            && let Some(resolved) = views::resolve(&self.look.view, &namespace)?
        {
            return self.through(&resolved, leading.filter, held).await;
        }
        let everything = Filter::everything();
        let filter = leading.filter.unwrap_or(&everything);
        let plan = self.plan(&look, filter, leading.sort).await?;
        // Without the order, any document may be among the first.
        let enough = leading.limit.filter(|_| plan.sorted);
        let enough = enough.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let mut walk = Walk::new(plan.source);
        let mut documents = Vec::new();
        let mut first = u64::MAX;
        while !walk.ended() && documents.len() < enough {
            self.work.in_time().await?;
            let rows = (enough - documents.len()).min(STEP_ROWS);
            for row in walk.next(&look, rows).await? {
                let document = row.document()?;
                if filter.matches(&document)? {
                    held.add(object_bytes(&document))?;
                    first = first.min(row.provenance().first_expiry());
                    documents.push(document);
                }
            }
        }
        self.read.lock().note(first);
        Ok(documents)
    }

    /// What a view shows.
    async fn through(
        &self,
        resolved: &Resolved,
        filter: Option<&Filter>,
        held: &Held,
    ) -> std::result::Result<Vec<Object>, Fault> {
        let terms = resolved.terms(&Terms::default())?;
        let language = terms.language(self.work, &resolved.base).await?;
        let pipeline = Pipeline::parse(&resolved.pipeline, &language.options)?;
        let look = self.open(&resolved.base).await?;
        let mut piped = start(&look, &resolved.base, &pipeline, &language).await?;
        // What the view's stages read is asked for by themselves.
        let before = self.read.lock().first_expiry.take();
        let mut documents = Vec::new();
        let mut first = before.unwrap_or(u64::MAX);
        while !piped.finished {
            self.work.in_time().await?;
            piped.step(&look, self, STEP_ROWS).await?;
            while let Some((document, provenance)) = piped.runner.take_from() {
                let wanted = match filter {
                    Some(filter) => filter.matches(&document)?,
                    None => true,
                };
                if wanted {
                    held.add(object_bytes(&document))?;
                    first = first.min(provenance.first_expiry());
                    documents.push(document);
                }
            }
        }
        self.read.lock().note(first);
        Ok(documents)
    }
}

impl Foreign for Others<'_> {
    fn documents<'a>(
        &'a self,
        collection: &'a str,
        filter: Option<&'a Filter>,
        held: &'a Held,
    ) -> Wait<'a, Vec<Object>> {
        self.leading(
            collection,
            Leading {
                filter,
                sort: None,
                limit: None,
            },
            held,
        )
    }

    fn leading<'a>(
        &'a self,
        collection: &'a str,
        leading: Leading<'a>,
        held: &'a Held,
    ) -> Wait<'a, Vec<Object>> {
        Box::pin(async move {
            let read = self.read(collection, leading, held).await;
            let read: Result<Vec<Object>> = read.map_err(said);
            read
        })
    }

    fn first_expiry(&self) -> Option<u64> {
        self.read.lock().first_expiry.take()
    }

    fn is_served<'a>(&'a self, collection: &'a str, filter: &'a Filter) -> Wait<'a, bool> {
        Box::pin(async move {
            let namespace = Namespace::pseudo(self.database, collection);
            let look = self.look.beside(&namespace).await.map_err(said)?;
            let plan = self.plan(&look, filter, None).await.map_err(said)?;
            Ok(match plan.access {
                Access::Nothing | Access::Everything { .. } => false,
                Access::Ids(_) | Access::Index(_) => true,
            })
        })
    }
}

/// A failure in the language's own words.
fn said(fault: Fault) -> MqlError {
    match fault {
        Fault::Said { code, message, .. } => MqlError::new(code, message),
        Fault::Other(error) => {
            MqlError::new(crate::documents::fault::code::INTERNAL_ERROR, error.message)
        }
    }
}
