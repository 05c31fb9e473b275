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
