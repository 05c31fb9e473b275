//! Builds indexes anew when their policy has changed, in the background, from the request units that are left over.

use lapsedb_store::{Collection, Upkeep, View};

use crate::background::Piece;
use crate::charge;
use crate::error::Result;
use crate::service::Service;

/// Items that the request that changed the policy has built before it is answered: small collections are done then.
const ITEMS_AT_ONCE: u64 = 100;
/// Items of a collection that one step in the background builds when no throughput is provisioned.
const ITEMS_PER_STEP: u64 = 100;
/// Items that a step builds however little throughput is left, so that every build ends.
const ITEMS_PER_STEP_MIN: u64 = 5;
/// The size that an entry's item is charged by when leftover throughput is counted in items.
const ITEM_BYTES: usize = 1024;

/// Begins to build a new index. Says how far it has come, of 100.
pub(crate) async fn begin(service: &Service, collection: &Collection) -> u8 {
    let built = async {
        service
            .store()
            .build_index(collection.cid, ITEMS_AT_ONCE)
            .await?;
        let view = service.store().view().await?;
        match view.catalog().collection_numbered(collection.cid) {
            Some(collection) => view.index_progress(collection).await,
            None => Ok(100),
        }
    };
    built.await.unwrap_or_else(|error| {
        // The change stands whether or not this succeeds; the background goes on with it.
        tracing::warn!(collection = %collection.id, %error, "the index could not be begun");
        0
    })
}

impl Service {
    /// One step of building the indexes that are not whole; true if there is more to do and room to do it at once.
    pub async fn build_indexes(&self) -> bool {
        let background = &self.maintenance().background;
        let step = self.build_step();
        let more = background.run(Piece::FindIndexBuilds, step).await;
        more.unwrap_or(false)
    }

    async fn build_step(&self) -> Result<bool> {
        let view = self.store().view().await?;
        let mut more = false;
        for collection in view.catalog().in_need_of(Upkeep::IndexBuild) {
            let room = self.build_room(&view, &collection);
            let built = self.store().build_index(collection.cid, room);
            let background = &self.maintenance().background;
            let piece = Piece::BuildIndex(collection.cid);
            let whole = background.run(piece, built).await;
            more |= whole == Some(false) && room > ITEMS_PER_STEP_MIN;
        }
        Ok(more)
    }

    /// How many items may be built now.
    fn build_room(&self, view: &View, collection: &Collection) -> u64 {
        match self.throughputs().left_over(view, collection) {
            None => ITEMS_PER_STEP,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a float cast saturates"
            )]
            Some((_, left)) => ((left / charge::insert(ITEM_BYTES, 0)).max(0.0) as u64)
                .clamp(ITEMS_PER_STEP_MIN, ITEMS_PER_STEP),
        }
    }
}
