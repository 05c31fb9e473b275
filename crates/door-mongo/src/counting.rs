//! The memory that a connection's messages take: counted in the memory of all requests while they come, wait and go.

use std::sync::Arc;

use lapsedb_service::Service;
use lapsedb_service::documents::RawDocument;
use lapsedb_value::Budget;
use lapsedb_value::account::WhenStopped;
use lapsedb_value::budget::{Held, Stop, object_bytes};
use tokio::sync::Notify;

use crate::wire::{Incoming, Message, Sequence};

/// Shorter messages are not counted, in bytes: every connection may have one.
pub(crate) const COUNTED_BYTES_MIN: usize = 64 * 1024;

/// What counts the messages of one connection, one after the other.
pub(crate) struct Counting {
    budget: Arc<Budget>,
    held: Held,
    woken: Arc<Notify>,
    _when_stopped: WhenStopped,
}

impl Counting {
    /// Nothing yet.
    pub(crate) fn new(service: &Service) -> Counting {
        let budget = Budget::new(usize::MAX).drawing_from(service.memory());
        let (budget, woken) = (Arc::new(budget), Arc::new(Notify::new()));
        let wakes = Arc::clone(&woken);
        Counting {
            _when_stopped: budget.when_stopped(Arc::new(move |_| wakes.notify_one())),
            held: Held::new(&budget),
            budget,
            woken,
        }
    }

    /// What is asked by who works for the message.
    pub(crate) const fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Counts so many bytes, and no others.
    ///
    /// # Errors
    /// When all requests together would hold too much, and this is the one to stop.
    pub(crate) fn set(&self, bytes: usize) -> Result<(), Stop> {
        let before = self.held.bytes();
        if bytes < COUNTED_BYTES_MIN && before == 0 {
            return Ok(());
        }
        match bytes.checked_sub(before) {
            Some(more) => self.held.add(more),
            None => {
                self.held.remove(before - bytes);
                Ok(())
            }
        }
    }

    /// Counts so many bytes more.
    ///
    /// # Errors
    /// As `set`.
    pub(crate) fn add(&self, bytes: usize) -> Result<(), Stop> {
        self.set(self.held.bytes().saturating_add(bytes))
    }

    /// Counts bytes that are there already and cannot be refused any more.
    pub(crate) fn put(&self, bytes: usize) {
        if bytes >= COUNTED_BYTES_MIN {
            self.held.put(bytes);
        }
    }

    /// Counts nothing any more.
    pub(crate) fn clear(&self) {
        if self.held.bytes() > 0 {
            self.held.clear();
            self.budget.give_back();
        }
    }

    /// Resolves when the connection has to let go of what it holds.
    pub(crate) async fn stopped(&self) -> Stop {
        loop {
            if let Some(stop) = self.budget.stopped() {
                return stop;
            }
            self.woken.notified().await;
        }
    }
}

/// Bytes that a message takes once it has been read.
pub(crate) fn message_bytes(incoming: &Incoming) -> usize {
    if incoming.bytes < COUNTED_BYTES_MIN && incoming.compressor.is_none() {
        return incoming.bytes;
    }
    match &incoming.message {
        Message::Msg(msg) => {
            let beside = msg.sequences.iter().map(|(_, sequence)| match sequence {
                Sequence::Read(documents) => documents.iter().map(object_bytes).sum::<usize>(),
                Sequence::Raw(documents) => {
                    documents.iter().map(RawDocument::raw_bytes).sum::<usize>()
                }
            });
            object_bytes(&msg.body) + beside.sum::<usize>()
        }
        Message::Query(query) => object_bytes(&query.body),
    }
}
