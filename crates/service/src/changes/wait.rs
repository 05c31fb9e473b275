//! Waits until a stream may have something new: a commit, a change of a collection, a moved clock, or an expiry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lapsedb_record::{Clock, Millis};
use lapsedb_store::{Collection, Listener, Store, View};

use crate::documents::fault::Result;

/// A stream looks again after so long at the latest, in milliseconds: another process may have written.
const LOOK_AGAIN_MS: u64 = 1000;

/// Hears of what happens to some collections.
pub(crate) struct Ears {
    commits: Listener,
    circumstances: Listener,
}

impl Ears {
    /// Of one collection, or of those that have had its name. To be made before the view is taken that finds nothing.
    pub(crate) fn of(store: &Store, collections: &[Arc<Collection>]) -> Ears {
        match collections {
            [collection] => Ears {
                commits: store.listen(collection.cid),
                circumstances: store.listen_to_circumstances(),
            },
            _ => Ears::of_all(store),
        }
    }

    /// Of all collections.
    pub(crate) fn of_all(store: &Store) -> Ears {
        Ears {
            commits: store.listen_to_all(),
            circumstances: store.listen_to_circumstances(),
        }
    }

    /// Waits, until a deadline at the latest.
    pub(crate) async fn wait(&mut self, clock: &Clock, death: Option<Millis>, deadline: Instant) {
        let left = deadline.saturating_duration_since(Clock::monotonic());
        let mut longest = left.min(Duration::from_millis(LOOK_AGAIN_MS));
        if let Some(death) = death.filter(|_| !clock.is_virtual()) {
            let until = death.0.saturating_sub(clock.now().0);
            longest = longest.min(Duration::from_millis(until));
        }
        let heard = async {
            tokio::select! {
                () = self.commits.changed() => {}
                () = self.circumstances.changed() => {}
            }
        };
        // Whether somebody was heard or the time is over, the stream looks again.
        let _ = tokio::time::timeout(longest, heard).await;
    }
}

/// When the next document of some collections ends.
pub(crate) async fn next_death(
    view: &View,
    collections: &[Arc<Collection>],
) -> Result<Option<Millis>> {
    let mut next: Option<Millis> = None;
    for collection in collections {
        if let Some(death) = view.next_death(collection).await? {
            next = Some(next.map_or(death, |next| next.min(death)));
        }
    }
    Ok(next)
}
