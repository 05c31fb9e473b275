//! The memory that messages and bodies take: counted in the memory of all requests while they come, wait and go.

use std::sync::Arc;

use lapsedb_value::Budget;
use lapsedb_value::account::WhenStopped;
use lapsedb_value::budget::{Held, Stop};
use tokio::sync::Notify;

use crate::service::Service;

/// Shorter messages and bodies are not counted, in bytes: every connection may have one.
pub const COUNTED_BYTES_MIN: usize = 64 * 1024;

/// What counts the messages of one connection, one after the other, or the body of one request.
pub struct Counting {
    budget: Arc<Budget>,
    held: Held,
    woken: Arc<Notify>,
    _when_stopped: WhenStopped,
}

impl Counting {
    /// Nothing yet.
    #[must_use]
    pub fn new(service: &Service) -> Counting {
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
    pub const fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Counts so many bytes, and no others.
    ///
    /// # Errors
    /// When all requests together would hold too much, and this is the one to stop.
    pub fn set(&self, bytes: usize) -> Result<(), Stop> {
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
    pub fn add(&self, bytes: usize) -> Result<(), Stop> {
        self.set(self.held.bytes().saturating_add(bytes))
    }

    /// Counts bytes that are there already and cannot be refused any more.
    pub fn put(&self, bytes: usize) {
        if bytes >= COUNTED_BYTES_MIN {
            self.held.put(bytes);
        }
    }

    /// Counts nothing any more.
    pub fn clear(&self) {
        self.held.clear();
        // Also what others have drawn for the message, and no longer need: who waits for its next message holds nothing.
        self.budget.give_back();
    }

    /// Resolves when the connection has to let go of what it holds.
    pub async fn stopped(&self) -> Stop {
        loop {
            if let Some(stop) = self.budget.stopped() {
                return stop;
            }
            self.woken.notified().await;
        }
    }
}
