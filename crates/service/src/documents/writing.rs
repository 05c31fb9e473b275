//! Writes of one command: put together in one transaction of the store, committed, or begun anew.

use std::sync::Arc;

use lapsedb_store::{Collection, Refused, StoreError, Txn, View};
use lapsedb_value::{Object, Value};

use crate::charge;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::{DocumentId, ID};
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;
use crate::service::always_slower;

/// What a command's writes have done.
#[derive(Clone, Debug, Default)]
pub struct Wrote {
    /// Documents inserted, matched or deleted.
    pub n: u64,
    /// Documents changed.
    pub modified: u64,
    /// Documents an upsert has made: which statement, and their `_id`.
    pub upserted: Vec<(usize, Value)>,
    /// What failed.
    pub faults: Vec<WriteFault>,
    /// Statements that had been executed before, by an earlier attempt of the client.
    pub retried: Vec<i32>,
}

/// One statement that failed.
#[derive(Clone, Debug)]
pub struct WriteFault {
    /// Which.
    pub index: usize,
    /// Why.
    pub fault: Fault,
}

/// A transaction of the store with documents in it.
pub(crate) struct Writing<'a> {
    txn: Txn<'a>,
    namespace: &'a Namespace,
    charge: f64,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(
        view: &'a View,
        collection: &Arc<Collection>,
        namespace: &'a Namespace,
    ) -> Writing<'a> {
        Writing {
            txn: Txn::new(view, collection),
            namespace,
            charge: 0.0,
        }
    }

    /// What it costs so far.
    pub(crate) const fn charge(&self) -> f64 {
        self.charge
    }

    /// The document at an address.
    pub(crate) async fn get(&mut self, id: &DocumentId) -> Result<Option<Object>> {
        let key = id.key(self.txn.collection());
        let found = self.txn.get(&key, id.partition()).await?;
        Ok(found.map(|found| found.document))
    }

    /// Writes a new document, if its `_id` is free.
    pub(crate) async fn insert(&mut self, document: Object) -> Result<()> {
        let id = DocumentId::of_document(&document);
        if self.get(&id).await?.is_some() {
            return Err(taken(self.namespace, &document));
        }
        let written = self.put(&id, document).await?;
        self.charge += charge::insert(written.bytes, written.terms);
        Ok(())
    }

    async fn put(&mut self, id: &DocumentId, document: Object) -> Result<lapsedb_store::Written> {
        let key = id.key(self.txn.collection());
        let document = Arc::new(document);
        let put = self
            .txn
            .put(&key, id.partition(), Arc::clone(&document))
            .await?;
        match put {
            Ok(written) => Ok(written),
            Err(Refused::UniqueKey) => Err(taken(self.namespace, &document)),
        }
    }

    /// Removes a document that was seen.
    pub(crate) async fn delete(&mut self, id: &DocumentId, bytes: usize) -> Result<()> {
        let key = id.key(self.txn.collection());
        self.txn.delete(&key, id.partition()).await?;
        self.charge += charge::delete(bytes);
        Ok(())
    }

    /// Commits; false, if the store has changed and all must be decided anew.
    pub(crate) async fn commit(self, work: &Work) -> Result<bool> {
        if self.txn.is_empty() {
            return Ok(true);
        }
        match self.txn.commit(work.ctx.service().store()).await {
            Ok(done) => {
                work.ctx.service().documents_state().seen(done.lsn);
                Ok(true)
            }
            Err(StoreError::Retry) => {
                tokio::task::yield_now().await;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The answer to an `_id` that another document has.
fn taken(namespace: &Namespace, document: &Object) -> Fault {
    let id = document.get(ID).cloned().unwrap_or(Value::Null);
    let mut pattern = Object::with_capacity(1);
    pattern.push(ID, 1);
    let mut value = Object::with_capacity(1);
    value.push(ID, id);
    duplicate(namespace, "_id_", pattern, value)
}

/// The answer to a key that another document has.
pub(crate) fn duplicate(
    namespace: &Namespace,
    index: &str,
    pattern: Object,
    value: Object,
) -> Fault {
    let shown: Vec<String> = value
        .iter()
        .map(|(name, value)| format!("{name}: {}", crate::documents::shell::text(value)))
        .collect();
    let message = format!(
        "E11000 duplicate key error collection: {namespace} index: {index} dup key: {{ {} }}",
        shown.join(", ")
    );
    let mut info = Object::with_capacity(2);
    info.push("keyPattern", Value::Object(pattern));
    info.push("keyValue", Value::Object(value));
    Fault::with(code::DUPLICATE_KEY, message, info)
}

/// Counts attempts, so that a verb that always loses ends some day.
#[derive(Default)]
pub(crate) struct Tries(usize);

impl Tries {
    pub(crate) fn again(&mut self) -> Result<()> {
        self.0 += 1;
        if self.0 >= crate::limits::RETRIES_MAX {
            return Err(always_slower().into());
        }
        Ok(())
    }
}
