//! Changes of the catalog: decided on a view, committed if the catalog is still as the view saw it, else decided anew.

use lapsedb_store::{MetaChange, MetaDone, StoreError, View};

use crate::ctx::Ctx;
use crate::error::{Error, Kind, Result};
use crate::limits::RETRIES_MAX;
use crate::service::always_slower;

/// How often a change has been tried.
#[derive(Default)]
pub(crate) struct Attempts(usize);

impl Attempts {
    /// Commits a change; nothing if the catalog has changed and the verb must look again.
    ///
    /// # Errors
    /// When others were always faster, or the engine fails.
    pub(crate) async fn commit(
        &mut self,
        ctx: &Ctx,
        view: &View,
        change: MetaChange,
    ) -> Result<Option<MetaDone>> {
        match ctx.service().store().change_catalog(view, change).await {
            Ok(done) => {
                // The time that clients are told of is never before what they have just done.
                ctx.service().documents_state().seen(done.lsn);
                Ok(Some(done))
            }
            Err(StoreError::Retry) => {
                self.0 += 1;
                if self.0 >= RETRIES_MAX {
                    return Err(always_slower());
                }
                tokio::task::yield_now().await;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What was decided on a view.
pub(crate) struct Decided<T> {
    view: View,
    change: Option<MetaChange>,
    answer: T,
}

impl<T> Decided<T> {
    /// To commit a change, and then to answer something.
    pub(crate) const fn change(view: View, change: MetaChange, answer: T) -> Decided<T> {
        Decided {
            view,
            change: Some(change),
            answer,
        }
    }

    /// To change nothing.
    pub(crate) const fn nothing(view: View, answer: T) -> Decided<T> {
        Decided {
            view,
            change: None,
            answer,
        }
    }
}

/// Decides on fresh views, until what was decided is committed.
///
/// # Errors
/// When it cannot be decided, others were always faster, or the engine fails.
pub(crate) async fn change_catalog<T, E, D>(
    ctx: &Ctx,
    decide: impl Fn(View) -> D,
) -> std::result::Result<T, E>
where
    E: From<Error>,
    D: Future<Output = std::result::Result<Decided<T>, E>>,
{
    let mut attempts = Attempts::default();
    loop {
        let decided = decide(ctx.view().await?).await?;
        let Some(change) = decided.change else {
            return Ok(decided.answer);
        };
        let done = attempts.commit(ctx, &decided.view, change).await?;
        if done.is_some() {
            return Ok(decided.answer);
        }
    }
}

/// Numbers for new resources: never used twice, because what was taken is written with the change that takes it.
pub(crate) struct Numbers(u32);

impl Numbers {
    /// The numbers that are free in a view.
    pub(crate) fn of(view: &View) -> Numbers {
        Numbers(view.catalog().next)
    }

    /// Takes a number that is at most `max`: resource ids have room for so much.
    ///
    /// # Errors
    /// When they are used up.
    pub(crate) fn take(&mut self, max: u32) -> Result<u32> {
        let number = self.0;
        if number > max || number == u32::MAX {
            return Err(Error::new(
                Kind::Unavailable,
                format!(
                    "This store has given out all {max} numbers it has for resources of this kind."
                ),
            ));
        }
        self.0 += 1;
        Ok(number)
    }

    /// Writes what has been taken.
    pub(crate) fn write(self, change: &mut MetaChange) {
        change.next(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_grow_and_end() {
        let mut numbers = Numbers(5);
        assert_eq!(numbers.take(6).unwrap(), 5);
        assert_eq!(numbers.take(6).unwrap(), 6);
        assert_eq!(numbers.take(6).unwrap_err().kind, Kind::Unavailable);
        assert_eq!(numbers.take(7).unwrap(), 7);
        assert!(Numbers(u32::MAX).take(u32::MAX).is_err());
    }
}
