//! Writes of one command: put together in one transaction of the store, committed, or begun anew.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lapsedb_mql::update::Described;
use lapsedb_record::{Clock, Dates};
use lapsedb_store::{
    Collection, Duplicate, ItemKey, Refused, StoreError, Txn, Unindexable, View, Written,
};
use lapsedb_value::budget::{Held, object_bytes};
use lapsedb_value::{Object, Value};

use crate::changes::note::{self, Origin};
use crate::charge;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::{DocumentId, ID};
use crate::documents::kept::{cap_of, is_time_series};
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::rules::Rules;
use crate::documents::work::Work;
use crate::documents::writable::Writable;
use crate::sessions::{Change, Overlay, Retry, write_conflict};

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

/// Bytes of documents that one commit has, unless a single one has more.
const WRITING_BYTES: usize = 16 << 20;

/// A transaction of the store with documents in it.
pub(crate) struct Writing<'a> {
    txn: Txn<'a>,
    namespace: &'a Namespace,
    charge: f64,
    changes: Vec<Change>,
    /// Bytes of documents that it has read or is to write, and what counts them.
    bytes: usize,
    held: Option<Held>,
    rules: Option<Rules>,
    /// The statement it is for; none at the commit of a transaction.
    work: Option<&'a Work>,
    /// What the statement's transaction has changed before, and which of it was done again here.
    overlay: Option<Arc<Overlay>>,
    replayed: HashSet<DocumentId>,
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
            changes: Vec::new(),
            bytes: 0,
            held: None,
            rules: None,
            work: None,
            overlay: None,
            replayed: HashSet::new(),
        }
    }

    /// Begins to write on top of what a statement sees.
    pub(crate) async fn on(
        look: &'a Look<'_>,
        collection: &Arc<Collection>,
        target: Writable<'a>,
    ) -> Result<Writing<'a>> {
        let namespace = target.namespace();
        let mut writing = Writing::new(&look.view, collection, namespace);
        writing.rules = Rules::of(
            collection,
            look.view.now(),
            look.bypasses_validation(),
            look.work.budget(),
        )?;
        if look.work.in_transaction() && is_time_series(collection) {
            return Err(Fault::new(
                code::NOT_SUPPORTED_IN_TRANSACTION,
                format!(
                    "Cannot perform a multi-document transaction on a time-series collection: {namespace}"
                ),
            ));
        }
        writing.work = Some(look.work);
        writing.held = Some(Held::new(look.work.received()));
        writing.txn.wait_until(look.work.deadline());
        match &look.overlay {
            // Which documents have taken or given up unique values is known only once all is done again.
            Some(overlay) if collection.indexes.all().iter().any(|index| index.unique) => {
                writing.replay(overlay).await?;
            }
            overlay => writing.overlay.clone_from(overlay),
        }
        Ok(writing)
    }

    /// Does again what the transaction has done to one document.
    async fn catch_up(&mut self, id: &DocumentId) -> Result<()> {
        let Some(overlay) = &self.overlay else {
            return Ok(());
        };
        match overlay.of(id) {
            Some(change) if self.replayed.insert(id.clone()) => {
                let change = change.clone();
                self.repeat(&change, &[]).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Does again what a transaction has done, in the order of its statements.
    pub(crate) async fn replay(&mut self, overlay: &Overlay) -> Result<()> {
        for change in overlay.replayed() {
            self.repeat(change, &[]).await?;
        }
        Ok(())
    }

    /// Does one change again.
    ///
    /// # Errors
    /// When the record that it changes has expired since: written again, it would be revived.
    async fn repeat(&mut self, change: &Change, note: &[u8]) -> Result<()> {
        if change
            .base
            .as_ref()
            .is_some_and(|base| !self.txn.is_live(base))
        {
            return Err(write_conflict());
        }
        let key = change.id.key(self.txn.collection());
        let partition = change.id.partition();
        match &change.document {
            Some(document) => {
                let own = (&change.id, &key);
                self.put(own, Arc::clone(document), note).await?;
            }
            None => self.txn.delete_noted(&key, partition, note).await?,
        }
        Ok(())
    }

    /// Does a transaction's steps again, one by one, so that each of them is told.
    pub(crate) async fn retell(&mut self, overlay: &Overlay, origin: &Origin) -> Result<()> {
        for (order, change) in overlay.steps() {
            self.txn.step(*order);
            let note = note::write(self.txn.collection(), &change.described, Some(origin));
            self.repeat(change, &note).await?;
        }
        Ok(())
    }

    /// The transaction of the store.
    pub(crate) fn into_txn(self) -> Txn<'a> {
        self.txn
    }

    /// What it costs so far.
    pub(crate) const fn charge(&self) -> f64 {
        self.charge
    }

    /// Whether it holds so much that it should be committed before more is added.
    pub(crate) const fn is_full(&self) -> bool {
        self.bytes >= WRITING_BYTES
    }

    /// Counts bytes that it is to hold until it is committed, or refuses them: before anything of them is in the transaction.
    fn admit(&mut self, bytes: usize) -> Result<()> {
        if let Some(held) = &self.held {
            held.add(bytes)?;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Counts bytes that are in the transaction and so cannot be refused any more: who hears of a failure must not find them written.
    fn hold(&mut self, bytes: usize) {
        if let Some(held) = &self.held {
            held.put(bytes);
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The document at an address.
    pub(crate) async fn get(&mut self, id: &DocumentId) -> Result<Option<Object>> {
        self.catch_up(id).await?;
        let key = id.key(self.txn.collection());
        let found = self.txn.get(&key, id.partition()).await?;
        Ok(found.map(|found| found.document))
    }

    /// Writes a new document, if its `_id` is free; in a time series, also if it is not.
    pub(crate) async fn insert(&mut self, document: impl Into<Arc<Object>>) -> Result<()> {
        let document = document.into();
        let mut id = DocumentId::of_document(&document);
        let mut key = id.key(self.txn.collection());
        self.check(None, &document)?;
        self.catch_up(&id).await?;
        if self.txn.is_taken(&key, id.partition()).await? {
            if !is_time_series(self.txn.collection()) {
                let fault = taken(self.namespace, &document);
                return Err(self.disputed(fault).await);
            }
            id = id.beside();
            key = id.key(self.txn.collection());
        }
        let written = self
            .write((id, &key), document, true, Described::Whole)
            .await?;
        self.charge += charge::insert(written.bytes, written.terms);
        // The document itself is counted by who has read it.
        self.hold(written.bytes);
        Ok(())
    }

    /// Writes a document in place of the one that is there.
    pub(crate) async fn replace(
        &mut self,
        id: &DocumentId,
        document: Object,
        described: Described,
    ) -> Result<()> {
        let key = id.key(self.txn.collection());
        let own = (id.clone(), &key);
        self.admit(object_bytes(&document))?;
        let document = Arc::new(document);
        let written = self.write(own, document, false, described).await?;
        self.charge += charge::replace(written.bytes, written.terms);
        self.hold(written.bytes);
        Ok(())
    }

    /// Refuses a document that does not fulfil the collection's rules.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn check(&self, old: Option<&Object>, new: &Object) -> Result<()> {
        match &self.rules {
            Some(rules) => rules.check(old, new),
            None => Ok(()),
        }
    }

    async fn write(
        &mut self,
        (id, key): (DocumentId, &ItemKey),
        document: Arc<Object>,
        fresh: bool,
        described: Described,
    ) -> Result<Written> {
        self.catch_up(&id).await?;
        let note = note::write(self.txn.collection(), &described, None);
        let written = match self.put((&id, key), Arc::clone(&document), &note).await {
            Err(fault) if fault.code() == Some(code::DUPLICATE_KEY) => {
                return Err(self.disputed(fault).await);
            }
            put => put?,
        };
        self.changes.push(Change {
            id,
            document: Some(document),
            fresh,
            described,
            base: None,
            dates: Dates::new(),
        });
        Ok(written)
    }

    async fn put(
        &mut self,
        (id, key): (&DocumentId, &ItemKey),
        document: Arc<Object>,
        note: &[u8],
    ) -> Result<Written> {
        let copy = Arc::clone(&document);
        let put = self.txn.put_noted(key, id.partition(), copy, note);
        match put.await? {
            Ok(written) => Ok(written),
            Err(refused) => Err(refusal(self.namespace, refused, &document)),
        }
    }

    /// A key that is taken may be about to become free, if an open transaction has claimed it: then the statement waits and
    /// is decided anew, or conflicts, if it is in a transaction itself.
    async fn disputed(&self, fault: Fault) -> Fault {
        let Some(work) = self.work else {
            return fault;
        };
        let claims = work.ctx.service().store().claims();
        let own = work
            .transaction()
            .and_then(|transaction| transaction.claims.as_ref());
        let touched = self.txn.touched();
        if !claims.is_claimed(own, &touched) {
            return fault;
        }
        if own.is_some() {
            return write_conflict();
        }
        claims.settled(work.deadline(), &touched).await;
        Fault::again()
    }

    /// Removes a document that was seen.
    pub(crate) async fn delete(&mut self, id: &DocumentId, bytes: usize) -> Result<()> {
        self.catch_up(id).await?;
        let key = id.key(self.txn.collection());
        let note = note::write(self.txn.collection(), &Described::Whole, None);
        self.txn.delete_noted(&key, id.partition(), &note).await?;
        self.charge += charge::delete(bytes);
        self.hold(bytes);
        self.changes.push(Change {
            id: id.clone(),
            document: None,
            fresh: false,
            described: Described::Whole,
            base: None,
            dates: Dates::new(),
        });
        Ok(())
    }

    /// Commits, together with what the session is to remember; false, if the store has changed and all must be decided
    /// anew. In a transaction nothing is committed yet, but another's change is noticed at once.
    pub(crate) async fn commit(
        mut self,
        work: &Work,
        retry: Option<&Retry>,
        executed: &[(i32, Object)],
    ) -> Result<bool> {
        if self.changes.is_empty() {
            return Ok(true);
        }
        if let Some(transaction) = work.transaction() {
            not_capped(self.txn.collection(), self.namespace)?;
            let claimed = match &transaction.claims {
                Some(claims) => claims.claim(self.txn.written()).await,
                None => false,
            };
            // What was committed since the transaction's snapshot is not its to overwrite.
            if !claimed || !self.txn.still_holds(&work.ctx.view().await?).await? {
                return Err(write_conflict());
            }
            let collection = self.txn.collection();
            let lens = self.txn.view().lens(collection);
            for change in &mut self.changes {
                change.base = self.txn.found_live(&change.id.key(collection));
                if let Some(document) = &change.document {
                    change.dates = collection.dates_of(document);
                }
                // A date of the past ends a document as it is written: its absence is committed.
                if change.shown(&lens).is_none() {
                    change.document = None;
                }
            }
            transaction.absorb(self.namespace, self.changes)?;
            return Ok(true);
        }
        if let Some(cap) = cap_of(self.txn.collection()) {
            self.txn.make_room(cap).await?;
        }
        if let Some(retry) = retry
            && !executed.is_empty()
        {
            self.txn.note(&retry.note(executed));
        }
        let collection = Arc::clone(self.txn.collection());
        match self.txn.commit(work.ctx.service().store()).await {
            Ok(done) => {
                let state = work.ctx.service().documents_state();
                state.seen(done.lsn);
                for document in self
                    .changes
                    .iter()
                    .filter_map(|change| change.document.as_ref())
                {
                    state.dateless.look(&collection, self.namespace, document);
                }
                Ok(true)
            }
            Err(StoreError::Retry) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Refuses to write to a capped collection in a transaction: who writes to it does so one after the other.
fn not_capped(collection: &Collection, namespace: &Namespace) -> Result<()> {
    match cap_of(collection) {
        Some(_) => Err(Fault::new(
            code::NOT_SUPPORTED_IN_TRANSACTION,
            format!(
                "Collection '{namespace}' is a capped collection. Writes in transactions are not allowed on capped collections."
            ),
        )),
        None => Ok(()),
    }
}

/// The answer to a write that the store refuses.
pub(crate) fn refusal(namespace: &Namespace, refused: Refused, document: &Object) -> Fault {
    match refused {
        Refused::UniqueKey => taken(namespace, document),
        Refused::Duplicate(duplicate) => {
            let Duplicate {
                index,
                pattern,
                values,
                collation,
            } = *duplicate;
            self::duplicate(namespace, (&index, collation), pattern, values)
        }
        Refused::Unindexable(why) => {
            let code = match &why {
                Unindexable::ParallelArrays { .. } => code::CANNOT_INDEX_PARALLEL_ARRAYS,
                Unindexable::AmbiguousPath { .. } => code::AMBIGUOUS_INDEX_PATH,
                Unindexable::Refused { code, .. } => *code,
                Unindexable::HashedArray { .. } => HASHED_ARRAY,
            };
            Fault::new(code, why.to_string())
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
    duplicate(namespace, ("_id_", None), pattern, value)
}

/// The answer to a key that another document has.
pub(crate) fn duplicate(
    namespace: &Namespace,
    (index, collation): (&str, Option<Object>),
    pattern: Object,
    value: Object,
) -> Fault {
    // Under a collation a text is the key of its order, in hex.
    let shown = |(name, value): (&lapsedb_value::Str, &Value)| match (value, &collation) {
        (Value::String(key), Some(_)) => format!("{name}: \"0x{key}\""),
        (value, _) => format!("{name}: {}", crate::documents::shell::text(value)),
    };
    let shown: Vec<String> = value.iter().map(shown).collect();
    let ordered = match &collation {
        Some(collation) => {
            let text = crate::documents::shell::text(&Value::Object(collation.clone()));
            format!(" collation: {text}")
        }
        None => String::new(),
    };
    let message = format!(
        "E11000 duplicate key error collection: {namespace} index: {index}{ordered} dup key: {{ {} }}",
        shown.join(", ")
    );
    let mut info = Object::with_capacity(3);
    info.push("keyPattern", Value::Object(pattern));
    info.push("keyValue", Value::Object(value));
    if let Some(collation) = collation {
        info.push("collation", Value::Object(collation));
    }
    Fault::with(code::DUPLICATE_KEY, message, info)
}

/// Code of an array under a hashed field.
const HASHED_ARRAY: i32 = 16_766;

/// How often a statement is tried again without a pause.
const EAGER_TRIES: u64 = 10;
/// The longest pause between two tries, in milliseconds.
const PAUSE_MS_MAX: u64 = 50;
/// How long a statement is tried again because others have changed or claimed what it writes, in seconds.
const TRIES_SECONDS_MAX: u64 = 120;

/// Tries of one statement: conflicts are not told to a client who is in no transaction, but some day there is an end.
pub(crate) struct Tries {
    count: u64,
    begun: Instant,
}

impl Default for Tries {
    fn default() -> Tries {
        Tries {
            count: 0,
            begun: Clock::monotonic(),
        }
    }
}

impl Tries {
    /// Waits a little, if there is still time for another try.
    ///
    /// # Errors
    /// When others were faster for too long.
    pub(crate) async fn again(&mut self) -> Result<()> {
        self.count += 1;
        let most = Duration::from_secs(TRIES_SECONDS_MAX);
        if Clock::monotonic().saturating_duration_since(self.begun) >= most {
            return Err(Fault::new(
                code::LOCK_TIMEOUT,
                format!(
                    "Others have changed or claimed the same documents for {TRIES_SECONDS_MAX} seconds; nothing was written by this statement"
                ),
            ));
        }
        match self.count.checked_sub(EAGER_TRIES) {
            None => tokio::task::yield_now().await,
            Some(late) => {
                let pause = Duration::from_millis((late + 1).min(PAUSE_MS_MAX));
                tokio::time::sleep(pause).await;
            }
        }
        Ok(())
    }
}
