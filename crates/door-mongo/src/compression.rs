//! Counts the bytes before and after compression, for each compressor. It compresses nothing itself.

use std::sync::atomic::{AtomicU64, Ordering};

use lapsedb_value::{Object, Value};

use crate::wire::Compressor;

/// Bytes that a direction was given, and bytes that it made of them: without the headers of messages.
#[derive(Debug, Default)]
struct Bytes {
    came_in: AtomicU64,
    came_out: AtomicU64,
}

/// The counts of one compressor.
#[derive(Debug, Default)]
struct Counts {
    compressed: Bytes,
    decompressed: Bytes,
}

/// The counts of all compressors, in the order of [`Compressor::NAMED`].
#[derive(Debug, Default)]
pub(crate) struct Compression([Counts; Compressor::NAMED.len()]);

impl Bytes {
    fn add(&self, (before, after): (usize, usize)) {
        let add = |to: &AtomicU64, bytes: usize| {
            to.fetch_add(u64::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
        };
        add(&self.came_in, before);
        add(&self.came_out, after);
    }

    fn shown(&self) -> Value {
        let number = |counter: &AtomicU64| {
            let bytes = counter.load(Ordering::Relaxed);
            Value::Int64(i64::try_from(bytes).unwrap_or(i64::MAX))
        };
        let mut shown = Object::with_capacity(2);
        shown.push("bytesIn", number(&self.came_in));
        shown.push("bytesOut", number(&self.came_out));
        Value::Object(shown)
    }
}

impl Compression {
    /// Counts a reply: its length before and after.
    pub(crate) fn compressed(&self, compressor: Option<Compressor>, bytes: (usize, usize)) {
        if let Some(counts) = self.counts(compressor) {
            counts.compressed.add(bytes);
        }
    }

    /// Counts a message: its length before and after.
    pub(crate) fn decompressed(&self, compressor: Option<Compressor>, bytes: (usize, usize)) {
        if let Some(counts) = self.counts(compressor) {
            counts.decompressed.add(bytes);
        }
    }

    fn counts(&self, compressor: Option<Compressor>) -> Option<&Counts> {
        let compressor = compressor?;
        let mut named = Compressor::NAMED.iter().zip(&self.0);
        let found = named.find(|((_, known), _)| *known == compressor);
        found.map(|(_, counts)| counts)
    }

    /// As `serverStatus` shows it.
    pub(crate) fn shown(&self) -> Object {
        let mut shown = Object::with_capacity(self.0.len());
        for ((name, _), counts) in Compressor::NAMED.iter().zip(&self.0) {
            let mut one = Object::with_capacity(2);
            one.push("compressor", counts.compressed.shown());
            one.push("decompressor", counts.decompressed.shown());
            shown.push(*name, Value::Object(one));
        }
        shown
    }
}
