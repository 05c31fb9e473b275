//! A session and the transaction it is in.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lapsedb_record::Clock;
use lapsedb_store::View;

use crate::documents::Namespace;
use crate::sessions::{Change, Overlay, TRANSACTION_IDLE_SECONDS};

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Under way.
    Active,
    /// Done.
    Committed,
    /// Given up.
    Aborted,
}

/// A session's newest transaction or retryable write.
pub(crate) struct Session {
    /// Its number; -1 before the first.
    pub(crate) number: i64,
    pub(crate) transaction: Option<Transaction>,
}

impl Default for Session {
    fn default() -> Session {
        Session {
            number: -1,
            transaction: None,
        }
    }
}

impl Session {
    /// Gives a transaction up that was idle too long.
    pub(crate) fn end_if_idle(&mut self) {
        let idle = Duration::from_secs(TRANSACTION_IDLE_SECONDS);
        if let Some(transaction) = &mut self.transaction
            && transaction.state == State::Active
            && Clock::monotonic().saturating_duration_since(transaction.used) >= idle
        {
            transaction.abort();
        }
    }
}

/// A transaction: a view, and what it has changed on top of it.
pub(crate) struct Transaction {
    pub(crate) state: State,
    pub(crate) view: Option<View>,
    overlays: parking_lot::Mutex<HashMap<Namespace, Arc<Overlay>>>,
    /// Whether a statement has already been executed.
    pub(crate) begun: bool,
    /// Collections that its first statement has made.
    pub(crate) made: Vec<Namespace>,
    pub(crate) used: Instant,
}

impl Transaction {
    pub(crate) fn new(view: View) -> Transaction {
        Transaction {
            state: State::Active,
            view: Some(view),
            overlays: parking_lot::Mutex::default(),
            begun: false,
            made: Vec::new(),
            used: Clock::monotonic(),
        }
    }

    /// What it has changed in a collection.
    pub(crate) fn overlay(&self, namespace: &Namespace) -> Option<Arc<Overlay>> {
        self.overlays.lock().get(namespace).cloned()
    }

    /// What it has changed, collection by collection.
    pub(crate) fn overlays(&self) -> Vec<(Namespace, Arc<Overlay>)> {
        let overlays = self.overlays.lock();
        overlays
            .iter()
            .map(|(namespace, overlay)| (namespace.clone(), Arc::clone(overlay)))
            .collect()
    }

    /// Adds a statement's changes.
    pub(crate) fn absorb(&self, namespace: &Namespace, changes: Vec<Change>) {
        let mut overlays = self.overlays.lock();
        let overlay = overlays.entry(namespace.clone()).or_default();
        Arc::make_mut(overlay).absorb(changes);
    }

    /// Gives it up: nothing of it remains.
    pub(crate) fn abort(&mut self) {
        self.state = State::Aborted;
        self.view = None;
        self.overlays.lock().clear();
    }
}
