//! Panics of a task, caught: one request or one piece of work fails, and whatever it held is released.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// A task has panicked. What it held in its own frames is dropped with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    message: String,
}

impl Panicked {
    fn new(payload: &(dyn Any + Send)) -> Panicked {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Panicked {
            message: text.unwrap_or("no message").to_owned(),
        }
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Runs a task to its end, or to its panic. A task that has panicked is dropped before this returns, so whatever it held is released; one
/// that is large may be passed as `pin!(task)`, and is then dropped by its owner.
///
/// What a task shares with others is behind locks that unwinding releases and that are not poisoned, and behind one-shot commits that
/// happen whole or not at all: so nobody sees it half done.
///
/// # Errors
/// When the task panics.
pub async fn caught<F: Future>(task: F) -> Result<F::Output, Panicked> {
    let mut task = pin!(task);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => Poll::Ready(Err(Panicked::new(payload.as_ref()))),
        },
    )
    .await
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::panic::panic_any;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_panic_behind_an_await_is_caught_and_what_was_held_is_released() {
        lapsedb_testkit::run(async {
            let lock = Arc::new(tokio::sync::Mutex::new(()));
            let held = Arc::clone(&lock);
            let task = async move {
                let _held = held.lock_owned().await;
                tokio::task::yield_now().await;
                panic!("on {}", "purpose");
            };
            let outcome: Result<(), Panicked> = caught(task).await;
            assert_eq!(outcome.unwrap_err().to_string(), "on purpose");
            assert!(lock.try_lock().is_ok());
            assert_eq!(caught(async { 1 }).await, Ok(1));
        });
    }

    #[test]
    fn every_kind_of_payload_has_a_text() {
        lapsedb_testkit::run(async {
            let fixed = caught(async { panic!("fixed") }).await;
            assert_eq!(fixed.map(|()| 0).unwrap_err().to_string(), "fixed");
            let other = caught(async { panic_any(7) }).await;
            assert_eq!(other.map(|()| 0).unwrap_err().to_string(), "no message");
        });
    }
}
