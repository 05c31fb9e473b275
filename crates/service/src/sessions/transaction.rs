//! A session and the transaction it is in.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lapsedb_record::Millis;
use lapsedb_store::{Claimant, Collection, View};
use lapsedb_value::Budget;
use lapsedb_value::account::WhenStopped;
use lapsedb_value::budget::Held;

use crate::documents::Namespace;
use crate::documents::fault::{Fault, Result, code};
use crate::sessions::{Change, Overlay, TRANSACTION_BYTES_MAX, TRANSACTION_DOCUMENTS_MAX};

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Under way.
    Active,
    /// Done.
    Committed,
    /// Given up.
    Aborted,
    /// The engine failed while it committed it: the store tells once it is written again, or the next start.
    Unknown,
}

/// A session's newest transaction or retryable write.
pub(crate) struct Session {
    /// Its number; -1 before the first.
    pub(crate) number: i64,
    pub(crate) transaction: Option<Transaction>,
    /// Whether what it did in an earlier life of the process was looked up.
    pub(crate) recalled: bool,
    /// Set by whoever kills the session while a command of it is under way.
    pub(crate) doomed: Arc<AtomicBool>,
}

impl Default for Session {
    fn default() -> Session {
        Session {
            number: -1,
            transaction: None,
            recalled: false,
            doomed: Arc::default(),
        }
    }
}

impl Session {
    /// Gives a transaction up that has lasted too long, or whose session was killed meanwhile.
    pub(crate) fn end_if_over(&mut self, now: Millis, lifetime_ms: u64) {
        let doomed = self.doomed.swap(false, Ordering::SeqCst);
        if let Some(transaction) = &mut self.transaction
            && transaction.state == State::Active
            && (doomed || now.0.saturating_sub(transaction.begun.0) >= lifetime_ms)
        {
            transaction.abort();
        }
    }
}

/// A transaction: a view, and what it has changed on top of it.
pub(crate) struct Transaction {
    pub(crate) state: State,
    pub(crate) view: Option<View>,
    /// What nobody else may change before it ends.
    pub(crate) claims: Option<Claimant>,
    pub(crate) begun: Millis,
    changed: parking_lot::Mutex<Changed>,
    _when_stopped: Option<WhenStopped>,
}

#[derive(Default)]
struct Changed {
    overlays: HashMap<Namespace, Arc<Overlay>>,
    /// Collections it makes, in order: there only for itself until it commits.
    made: Vec<(Namespace, Arc<Collection>)>,
    documents: usize,
    bytes: usize,
    /// What they take, while it is counted.
    held: Option<Held>,
}

impl Transaction {
    /// One that begins. When its budget is stopped, because all requests together hold too much, it is given up as if its session
    /// was killed.
    pub(crate) fn new(
        view: View,
        claims: Claimant,
        budget: Budget,
        doomed: &Arc<AtomicBool>,
    ) -> Transaction {
        let (budget, doomed) = (Arc::new(budget), Arc::clone(doomed));
        let stop = move |_| doomed.store(true, Ordering::SeqCst);
        let changed = Changed {
            held: Some(Held::new(&budget)),
            ..Changed::default()
        };
        Transaction {
            state: State::Active,
            begun: view.now(),
            view: Some(view),
            claims: Some(claims),
            changed: parking_lot::Mutex::new(changed),
            _when_stopped: Some(budget.when_stopped(Arc::new(stop))),
        }
    }

    /// One that was committed in an earlier life of the process.
    pub(crate) fn committed() -> Transaction {
        Transaction {
            state: State::Committed,
            begun: Millis(0),
            view: None,
            claims: None,
            changed: parking_lot::Mutex::default(),
            _when_stopped: None,
        }
    }

    /// What it has changed in a collection.
    pub(crate) fn overlay(&self, namespace: &Namespace) -> Option<Arc<Overlay>> {
        self.changed.lock().overlays.get(namespace).cloned()
    }

    /// What it has changed, collection by collection.
    pub(crate) fn overlays(&self) -> Vec<(Namespace, Arc<Overlay>)> {
        let changed = self.changed.lock();
        changed
            .overlays
            .iter()
            .map(|(namespace, overlay)| (namespace.clone(), Arc::clone(overlay)))
            .collect()
    }

    /// Adds a statement's changes.
    ///
    /// # Errors
    /// When it has changed more than one commit can take.
    pub(crate) fn absorb(&self, namespace: &Namespace, changes: Vec<Change>) -> Result<()> {
        let mut changed = self.changed.lock();
        let first = u32::try_from(changed.documents).unwrap_or(u32::MAX);
        changed.documents += changes.len();
        let bytes = changes.iter().map(Change::bytes).sum::<usize>();
        changed.bytes += bytes;
        if let Some(held) = &changed.held {
            held.add(bytes)?;
        }
        if changed.documents > TRANSACTION_DOCUMENTS_MAX || changed.bytes > TRANSACTION_BYTES_MAX {
            return Err(Fault::new(
                code::TRANSACTION_TOO_LARGE,
                format!(
                    "Total size of all transaction operations must be at most {TRANSACTION_DOCUMENTS_MAX} documents and {TRANSACTION_BYTES_MAX} bytes; this one has {} documents and {} bytes",
                    changed.documents, changed.bytes
                ),
            ));
        }
        let overlay = changed.overlays.entry(namespace.clone()).or_default();
        Arc::make_mut(overlay).absorb(changes, first);
        Ok(())
    }

    /// A collection that it makes.
    pub(crate) fn made(&self, namespace: &Namespace) -> Option<Arc<Collection>> {
        let changed = self.changed.lock();
        let own = changed.made.iter().find(|(name, _)| name == namespace);
        own.map(|(_, collection)| Arc::clone(collection))
    }

    /// All collections that it makes, in order.
    pub(crate) fn all_made(&self) -> Vec<(Namespace, Arc<Collection>)> {
        self.changed.lock().made.clone()
    }

    /// It makes a collection, or changes one that it makes.
    pub(crate) fn make(&self, namespace: &Namespace, collection: Arc<Collection>) {
        let mut changed = self.changed.lock();
        match changed.made.iter_mut().find(|(name, _)| name == namespace) {
            Some((_, own)) => *own = collection,
            None => changed.made.push((namespace.clone(), collection)),
        }
    }

    /// Gives it up: nothing of it remains.
    pub(crate) fn abort(&mut self) {
        self.end(State::Aborted);
    }

    /// Lets go of all it has.
    pub(crate) fn end(&mut self, state: State) {
        self.state = state;
        self.view = None;
        self.claims = None;
        *self.changed.lock() = Changed::default();
    }
}
