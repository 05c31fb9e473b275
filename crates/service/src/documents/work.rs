//! One command under way: who asks, until when, within which session.

use std::time::Instant;

use lapsedb_record::Clock;

use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};

/// One command.
pub struct Work {
    /// Who asks.
    pub ctx: Ctx,
    deadline: Option<Instant>,
}

impl Work {
    /// A command outside of any session.
    #[must_use]
    pub const fn new(ctx: Ctx) -> Work {
        Work {
            ctx,
            deadline: None,
        }
    }

    /// The same with a time it may take.
    #[must_use]
    pub fn within(mut self, limit: Option<std::time::Duration>) -> Work {
        self.deadline = limit.map(|limit| Clock::monotonic() + limit);
        self
    }

    /// The time as the language's time stamps say it: the second, and a number that grows with every commit.
    #[must_use]
    pub fn stamp(&self) -> u64 {
        self.ctx
            .service()
            .documents_state()
            .stamp(self.ctx.service().clock().now())
    }

    /// Goes on, if there is still time.
    ///
    /// # Errors
    /// When its time is up.
    pub fn in_time(&self) -> Result<()> {
        match self.deadline {
            Some(deadline) if Clock::monotonic() >= deadline => Err(Fault::new(
                code::MAX_TIME_MS_EXPIRED,
                "operation exceeded time limit",
            )),
            Some(_) | None => Ok(()),
        }
    }
}
