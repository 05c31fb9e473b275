//! Makes images of the catalog: from an older one, or whole.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};

use crate::catalog::changes::{self, Position, Touched};
use crate::catalog::image::{CatalogWork, FIRST_NUMBER, ImageKind};
use crate::catalog::{Catalog, MetaRecord};
use crate::error::Result;
use crate::index::named::FilterCompiler;
use crate::keys;

/// How many catalog records one scan step brings.
const CATALOG_SCAN_ROWS: usize = 1000;
/// How many bytes one scan step brings.
const CATALOG_SCAN_BYTES: usize = 8 << 20;

impl Catalog {
    /// The catalog of a snapshot, from an image of an older one; none, if it is not known what has changed since.
    pub(super) async fn moved_to(
        &self,
        snapshot: &impl Snapshot,
        to: Position,
        language: Option<&FilterCompiler>,
    ) -> Result<Option<Catalog>> {
        match changes::since(self, snapshot, to).await? {
            Some(touched) => Ok(Some(self.with(touched, snapshot, to, language).await?)),
            None => Ok(None),
        }
    }

    /// This image with some records as a snapshot has them.
    async fn with(
        &self,
        touched: Touched,
        snapshot: &impl Snapshot,
        to: Position,
        language: Option<&FilterCompiler>,
    ) -> Result<Catalog> {
        let mut catalog = self.clone();
        catalog.stand_at(to, snapshot).await?;
        // All go before any comes, so that names can pass from one to another.
        for (kind, key) in &touched {
            catalog.remove(*kind, key);
        }
        let (kinds, keys): (Vec<_>, Vec<_>) = touched.into_iter().unzip();
        let records = snapshot.multi_get(Space::Meta, &keys).await?;
        self.work.reads(records.len());
        for ((kind, key), record) in kinds.into_iter().zip(&keys).zip(records) {
            if let Some(bytes) = record {
                let record = MetaRecord::read(bytes.as_ref())?;
                catalog.insert(kind, key, &record, language)?;
            }
        }
        Ok(catalog)
    }

    async fn stand_at(&mut self, at: Position, snapshot: &impl Snapshot) -> Result<()> {
        self.epoch = at.epoch;
        self.changes = at.changes;
        let next = snapshot.get(Space::Meta, keys::NEXT).await?;
        let next = next.as_ref().and_then(|next| next.as_ref().first_chunk());
        self.next = next.map_or(FIRST_NUMBER, |next| u32::from_be_bytes(*next));
        let logins = snapshot.get(Space::Meta, keys::LOGINS).await?;
        let logins = logins.as_ref().and_then(|it| it.as_ref().first_chunk());
        self.logins = logins.map_or(0, |logins| u64::from_be_bytes(*logins));
        Ok(())
    }

    /// Reads the whole catalog from a snapshot: at the start, and when it is not known what has changed.
    pub(super) async fn load(
        snapshot: &impl Snapshot,
        at: Position,
        work: Arc<CatalogWork>,
        language: Option<&FilterCompiler>,
    ) -> Result<Catalog> {
        let mut catalog = Catalog::empty();
        catalog.work = work;
        catalog.stand_at(at, snapshot).await?;
        for kind in ImageKind::ALL {
            let records = scan_keyed(snapshot, keys::meta_all(kind.meta())).await?;
            catalog.work.reads(records.len());
            for (key, record) in records {
                catalog.insert(kind, &key, &record, language)?;
            }
        }
        Ok(catalog)
    }
}

/// All records under a prefix.
pub(crate) async fn scan_all(snapshot: &impl Snapshot, prefix: Vec<u8>) -> Result<Vec<MetaRecord>> {
    let keyed = scan_keyed(snapshot, prefix).await?;
    Ok(keyed.into_iter().map(|(_, record)| record).collect())
}

/// All records under a prefix, with their keys.
async fn scan_keyed(snapshot: &impl Snapshot, prefix: Vec<u8>) -> Result<Vec<(Bytes, MetaRecord)>> {
    let mut records = Vec::new();
    let mut scan = Scan {
        rows_max: CATALOG_SCAN_ROWS,
        bytes_max: CATALOG_SCAN_BYTES,
        ..Scan::prefix(Space::Meta, &prefix)
    };
    loop {
        let page = snapshot.scan(scan.clone()).await?;
        for (key, value) in &page.rows {
            records.push((key.clone(), MetaRecord::read(value)?));
        }
        match page.rows.last() {
            Some((key, _)) if page.more => scan.resume_after(key),
            Some(_) | None => return Ok(records),
        }
    }
}
