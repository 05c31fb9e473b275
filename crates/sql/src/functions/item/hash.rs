//! `HASH`: a number that is the same for equal values.

use std::hash::Hasher;

use lapsedb_value::Value;
use lapsedb_value::order::hash_into;

use crate::functions::args::{self, Args};

/// Whole numbers up to this many bits are doubles without loss.
const BITS: u32 = 53;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    for at in 0..args.len() {
        hash_into(args::defined(args, at)?, &mut hasher);
    }
    Some(Value::number(
        (hasher.finish() >> (u64::BITS - BITS)) as f64,
    ))
}

/// FNV-1a: the same on every machine and in every version, unlike the standard library's hasher.
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
