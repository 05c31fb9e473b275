//! Wakes who waits for a collection to change, instead of letting them ask again and again.

use std::collections::HashMap;
use std::sync::Arc;

use lapsedb_kv::Then;
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::Store;
use crate::keys::CollectionId;
use crate::recent::Recent;

/// Those whom nobody listens to are not forgotten before there are so many.
const FORGET_AT_MIN: usize = 64;

/// Who waits for what: each collection somebody listens to has its newest commit here.
#[derive(Default)]
pub(crate) struct Listeners {
    by_collection: RwLock<ByCollection>,
    /// The newest commit of all.
    all: watch::Sender<u64>,
    /// Grows when the catalog has changed or the clock was moved.
    circumstances: watch::Sender<u64>,
}

#[derive(Default)]
struct ByCollection {
    senders: HashMap<CollectionId, watch::Sender<u64>>,
    /// With so many of them, those are forgotten whom nobody listens to any more.
    forget_at: usize,
}

/// Hears of commits to one collection.
pub struct Listener {
    newest: watch::Receiver<u64>,
}

impl Listener {
    /// Waits for a commit that was made since this was last asked, or since listening began. A wake is a hint: whoever
    /// wakes takes a new view and looks. Never returns if the store is closed.
    pub async fn changed(&mut self) {
        if self.newest.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Store {
    /// Listens to a collection's commits, expiries that are told among them. Begin to listen before taking the view that
    /// finds nothing, so that no commit falls between the two.
    #[must_use]
    pub fn listen(&self, cid: CollectionId) -> Listener {
        let mut all = self.listeners.by_collection.write();
        // Whom nobody listens to any more is forgotten here, where somebody comes anyway, but not every time.
        if all.senders.len() >= all.forget_at {
            let senders = &mut all.senders;
            senders.retain(|other, sender| *other == cid || sender.receiver_count() > 0);
            all.forget_at = FORGET_AT_MIN.max(all.senders.len() * 2);
        }
        let sender = all.senders.entry(cid);
        let sender = sender.or_insert_with(|| watch::Sender::new(0));
        Listener {
            newest: sender.subscribe(),
        }
    }

    /// Listens to the commits of all collections.
    #[must_use]
    pub fn listen_to_all(&self) -> Listener {
        Listener {
            newest: self.listeners.all.subscribe(),
        }
    }

    /// Listens to changes of the catalog and moves of the clock.
    #[must_use]
    pub fn listen_to_circumstances(&self) -> Listener {
        Listener {
            newest: self.listeners.circumstances.subscribe(),
        }
    }

    /// Tells those who listen that the catalog has changed or the clock was moved.
    pub fn announce_circumstances(&self) {
        self.listeners.circumstances_changed();
    }

    /// What a commit to collections is followed by: those who listen are woken. To be asked for before the commit. It belongs to the commit and not to the request that
    /// waits for it, because the request ends without a word when its client hangs up.
    pub(crate) fn announcing<C>(&self, collections: C, catalog_changed: bool) -> Then
    where
        C: IntoIterator<Item = CollectionId> + Clone + Send + 'static,
    {
        let listeners = Arc::clone(&self.listeners);
        let under_way = Recent::under_way(&self.recent, collections);
        Box::new(move |committed| {
            under_way.committed(committed.stamp.0);
            for cid in under_way.collections().clone() {
                listeners.committed(cid, committed.stamp.0);
            }
            if catalog_changed {
                listeners.circumstances_changed();
            }
        })
    }
}

impl Listeners {
    /// A collection has a new commit.
    fn committed(&self, cid: CollectionId, lsn: u64) {
        self.all.send_replace(lsn);
        let all = self.by_collection.read();
        if let Some(sender) = all.senders.get(&cid) {
            sender.send_replace(lsn);
        }
    }

    fn circumstances_changed(&self) {
        self.circumstances
            .send_modify(|changes| *changes = changes.wrapping_add(1));
    }
}
