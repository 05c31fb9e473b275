//! A record on its way into a batch.

use lapsedb_kv::{Committed, Fill, Template, ordinal};
use lapsedb_record::header::{LSN_AT, ORDINAL_AT, WRITTEN_AT};
use lapsedb_record::{Dates, HEADER_BYTES, Header, ItemTtl, Mark, Millis, Secs, Stored};

use super::VersionNumber;
use crate::keys::Ordinal;

/// A record about to be committed: bytes with places that the commit fills.
pub(crate) struct Record {
    pub(crate) ttl: ItemTtl,
    pub(crate) index: u16,
    pub(crate) ordinal: Ordinal,
    pub(crate) charged: u32,
    /// Its number among the versions of its transaction; the first of all where nobody asks for it.
    pub(super) number: VersionNumber,
    dates: Dates,
    bytes: Vec<u8>,
}

impl Record {
    pub(super) fn new(
        ttl: ItemTtl,
        dates: Dates,
        index: u16,
        ordinal: Ordinal,
        body: &[u8],
    ) -> Record {
        let known = match ordinal {
            Ordinal::Known(ordinal) => ordinal,
            Ordinal::New(_) => 0,
        };
        let charged = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let header = Header {
            ttl,
            index,
            written: Secs(0),
            lsn: 0,
            ordinal: known,
            charged,
            dates,
        };
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        header.write(body, &mut bytes);
        Record {
            ttl,
            index,
            ordinal,
            charged,
            number: VersionNumber::default(),
            dates: header.dates,
            bytes,
        }
    }

    /// The same with its number.
    pub(super) const fn numbered(mut self, number: VersionNumber) -> Record {
        self.number = number;
        self
    }

    /// The mark of its entries, whose write time the commit fills.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            ttl: self.ttl,
            written: Secs(0),
            dates: self.dates.clone(),
        }
    }

    pub(super) fn template(&self) -> Template {
        let mut fills = vec![
            (WRITTEN_AT as u32, Fill::Seconds { plus: 0, unit: 1 }),
            (LSN_AT as u32, Fill::Stamp),
        ];
        if let Ordinal::New(index) = self.ordinal {
            fills.push((ORDINAL_AT as u32, Fill::Ordinal(index)));
        }
        Template {
            bytes: self.bytes.clone(),
            fills,
        }
    }

    /// The record as the commit has written it.
    pub(super) fn finish(mut self, committed: Committed) -> Stored<Vec<u8>> {
        let mut fill = |at: usize, number: u64| {
            if let Some(place) = self.bytes.get_mut(at..at + 8) {
                place.copy_from_slice(&number.to_be_bytes());
            }
        };
        fill(WRITTEN_AT, Millis(committed.now).secs().0);
        fill(LSN_AT, committed.stamp.0);
        if let Ordinal::New(index) = self.ordinal {
            fill(ORDINAL_AT, ordinal(committed.stamp, index));
        }
        Stored::new(self.bytes)
    }
}
