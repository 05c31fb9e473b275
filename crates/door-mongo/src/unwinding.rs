//! Panics of a command, caught: one request fails, and whatever it held is let go.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::codes;

/// A command has panicked. What it held in its own frames was dropped on the way.
#[derive(Debug)]
pub(crate) struct Panicked {
    message: String,
}

impl Panicked {
    /// Logs it, and says what the client is answered: nothing of the inside.
    pub(crate) fn fault(&self, command: &str) -> Fault {
        tracing::error!(command, panic = self.message, "a command panicked");
        let mut info = Object::new();
        if command == "commitTransaction" {
            // Sent again, it is answered by what the store knows.
            let label = Value::from("UnknownTransactionCommitResult");
            info.push("errorLabels", Value::Array(vec![label]));
        }
        let message = "the command failed by an error in the server, which has logged it";
        Fault::with(codes::INTERNAL_ERROR, message, info)
    }
}

/// Runs a future to its end, or to its panic. A future that has panicked is dropped before this returns.
///
/// What a command shares with others is behind locks that are let go by unwinding, and behind one-shot commits that happen
/// whole or not at all: so nobody sees it half done.
pub(crate) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut future = pin!(future);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => std::task::Poll::Ready(Err(Panicked {
                message: text(payload.as_ref()),
            })),
        },
    )
    .await
}

fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_panic_behind_a_wait_is_caught_and_what_was_held_is_let_go() {
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        let held = Arc::clone(&lock);
        let panicked = caught(async move {
            let _held = held.lock_owned().await;
            tokio::task::yield_now().await;
            panic!("on purpose");
        });
        let outcome: Result<(), Panicked> = panicked.await;
        assert_eq!(outcome.unwrap_err().message, "on purpose");
        assert!(lock.try_lock().is_ok());
        assert_eq!(caught(async { 1 }).await.unwrap(), 1);
    }
}
