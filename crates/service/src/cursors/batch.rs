//! How much fits into one batch.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_value::Budget;
use lapsedb_value::budget::Held;

/// Bytes of the documents of one batch at most; a larger document comes alone.
const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A batch being filled.
pub(crate) struct Room {
    documents: Vec<Bytes>,
    documents_max: usize,
    bytes: usize,
    /// What the documents take.
    held: Held,
}

impl Room {
    /// Room for so many documents; for as many as fit, if the client does not say.
    pub(crate) fn new(documents_max: Option<usize>, budget: &Arc<Budget>) -> Room {
        Room {
            documents: Vec::new(),
            documents_max: documents_max.unwrap_or(usize::MAX),
            bytes: 0,
            held: Held::new(budget),
        }
    }

    /// Whether nothing has been taken yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Whether nothing was asked for at all.
    pub(crate) const fn is_none(&self) -> bool {
        self.documents_max == 0
    }

    /// How many more documents may come.
    pub(crate) fn left(&self) -> usize {
        self.documents_max - self.documents.len().min(self.documents_max)
    }

    /// Takes a document, if it fits.
    pub(crate) fn take(&mut self, document: Bytes) -> Result<(), Bytes> {
        let over = self.bytes + document.len() > BATCH_BYTES_MAX;
        if self.left() == 0 || (over && !self.documents.is_empty()) {
            return Err(document);
        }
        self.bytes += document.len();
        self.held.put(document.len());
        self.documents.push(document);
        Ok(())
    }

    /// What was taken, and what counts it.
    pub(crate) fn into_documents(self) -> (Vec<Bytes>, Arc<Held>) {
        (self.documents, Arc::new(self.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_ends_by_number_or_by_bytes_but_has_one() {
        let budget = Arc::default();
        let mut room = Room::new(Some(2), &budget);
        assert!(room.take(Bytes::from_static(b"a")).is_ok());
        assert!(room.take(Bytes::from_static(b"a")).is_ok());
        assert!(room.take(Bytes::from_static(b"a")).is_err());
        let large = Bytes::from(vec![0; BATCH_BYTES_MAX + 1]);
        let mut room = Room::new(None, &budget);
        assert!(room.take(large.clone()).is_ok());
        assert!(room.take(Bytes::from_static(b"a")).is_err());
        let mut room = Room::new(None, &budget);
        assert!(room.take(Bytes::from_static(b"a")).is_ok());
        assert!(room.take(large).is_err());
        assert!(Room::new(Some(0), &budget).is_none());
    }
}
