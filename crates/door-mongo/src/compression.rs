//! Counts what compression does: bytes before and after, for each way of packing. It packs nothing itself.

use std::sync::atomic::{AtomicU64, Ordering};

use lapsedb_value::{Object, Value};

use crate::wire::Compressor;

/// Bytes that went into something, and bytes that came out.
#[derive(Debug, Default)]
struct Passed {
    came_in: AtomicU64,
    came_out: AtomicU64,
}

/// What was done in one way of packing.
#[derive(Debug, Default)]
struct Way {
    packed: Passed,
    unpacked: Passed,
}

/// What was done in all of them, in the order of [`Compressor::NAMED`].
#[derive(Debug, Default)]
pub(crate) struct Compression([Way; Compressor::NAMED.len()]);

impl Passed {
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
    /// Counts a reply: how long it was, and how long it is packed.
    pub(crate) fn packed(&self, compressor: Option<Compressor>, bytes: (usize, usize)) {
        if let Some(way) = self.way(compressor) {
            way.packed.add(bytes);
        }
    }

    /// Counts a message: how long it came, and how long it is unpacked.
    pub(crate) fn unpacked(&self, compressor: Option<Compressor>, bytes: (usize, usize)) {
        if let Some(way) = self.way(compressor) {
            way.unpacked.add(bytes);
        }
    }

    fn way(&self, compressor: Option<Compressor>) -> Option<&Way> {
        let compressor = compressor?;
        let mut named = Compressor::NAMED.iter().zip(&self.0);
        let found = named.find(|((_, known), _)| *known == compressor);
        found.map(|(_, way)| way)
    }

    /// As `serverStatus` shows it.
    pub(crate) fn shown(&self) -> Object {
        let mut shown = Object::with_capacity(self.0.len());
        for ((name, _), way) in Compressor::NAMED.iter().zip(&self.0) {
            let mut one = Object::with_capacity(2);
            one.push("compressor", way.packed.shown());
            one.push("decompressor", way.unpacked.shown());
            shown.push(*name, Value::Object(one));
        }
        shown
    }
}
