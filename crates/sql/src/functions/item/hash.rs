//! `HASH`: a number that is the same for equal values.
//!
//! The service mixes bytes with one lane of 64 bits of MurmurHash3 x64. A value starts from a constant of its type, mixed into the
//! seed; numbers then add a double and the bits that do not fit one, texts their UTF-8, arrays the hash of each element. What the
//! service starts true, null and objects with is not known: theirs are constants of our own, and so are their numbers.

use std::hash::Hasher;

use lapsedb_value::Value;
use lapsedb_value::order::hash_into;

use crate::error::SqlError;
use crate::functions::args::{self, Args};
use crate::plan::Expr;
use crate::span::Span;

const FALSE: u64 = 0xb9d5_13f6_4037_4a9e;
const NUMBER: u64 = 0x92d5_e4f1_9fb0_b3fe;
const STRING: u64 = 0xc495_960b_1bf3_031d;
const ARRAY: u64 = 0x47f9_1c76_36e3_eacc;
/// The first element of an array starts with this, the next with one more.
const ELEMENT: u64 = 0xa6a9_465f_6993_03c9;

// Ours.
const NULL: u64 = 0x5d0c_3a1b_8f27_e641;
const TRUE: u64 = 0x83e6_51c9_0b7d_f2a5;
const OBJECT: u64 = 0x2b94_fe07_d1a8_6c33;
const MEMBER: u64 = 0xe17a_4d60_39c5_82bb;
const OTHER: u64 = 0x6f31_b8d2_54e9_07cd;

/// Value, modulo, seed.
pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let seed = match args.len() {
        0..=2 => 0,
        _ => args::integer(args, 2)?,
    };
    let hash = hash(args::any(args, 0), seed as u64);
    Some(Value::from(match args.len() {
        0 | 1 => hash as i64,
        _ => {
            let modulo = args::integer(args, 1)?.unsigned_abs();
            i64::try_from(hash.checked_rem(modulo)?).ok()?
        }
    }))
}

/// The modulo has to be written in the query.
pub(crate) fn check(args: &[Expr], _: Span) -> Result<(), SqlError> {
    let Some(modulo) = args.get(1) else {
        return Ok(());
    };
    match modulo.constant().and_then(Value::as_i64) {
        Some(modulo) if modulo != 0 => Ok(()),
        _ => Err(SqlError::hash_modulo(modulo.span)),
    }
}

fn hash(value: &Value, seed: u64) -> u64 {
    let start = |kind: u64| mix(&kind.to_le_bytes(), seed);
    match value {
        Value::Undefined => seed,
        Value::Null => start(NULL),
        Value::Bool(true) => start(TRUE),
        Value::Bool(false) => start(FALSE),
        Value::String(text) => mix(text.as_bytes(), start(STRING)),
        Value::Array(items) => {
            let mut hash_so_far = start(ARRAY);
            for (item, at) in items.iter().zip(0u64..) {
                let item = hash(item, ELEMENT.wrapping_add(at));
                hash_so_far = mix(&item.to_le_bytes(), hash_so_far);
            }
            hash_so_far
        }
        Value::Object(object) => {
            // The order of members does not count.
            let name_seed = mix(&STRING.to_le_bytes(), MEMBER);
            let members = object.iter().fold(0, |members, (name, value)| {
                members ^ hash(value, mix(name.as_bytes(), name_seed))
            });
            mix(&members.to_le_bytes(), start(OBJECT))
        }
        value if value.is_number() => mix(&number(value), start(NUMBER)),
        value => {
            // What only BSON knows, by what makes two of them equal.
            let mut lane = Lane(start(OTHER));
            hash_into(value, &mut lane);
            lane.finish()
        }
    }
}

/// A number as double, and up to 10 bits more: whole numbers of 64 bits are distinguished.
fn number(value: &Value) -> [u8; 10] {
    let (double, more) = match value.as_i64() {
        Some(whole) => extended(whole),
        None => (value.as_f64().unwrap_or(f64::NAN), 0),
    };
    let mut bytes = [0; 10];
    let (head, tail) = bytes.split_at_mut(8);
    head.copy_from_slice(&double.to_le_bytes());
    tail.copy_from_slice(&more.to_le_bytes());
    bytes
}

/// A whole number as the double next to it towards zero, and the bits that are missing there, the highest first.
fn extended(whole: i64) -> (f64, u16) {
    let digits = whole.unsigned_abs();
    let zeros = digits.leading_zeros() + digits.trailing_zeros();
    // Zero has all of them twice.
    if u64::BITS.saturating_sub(zeros) <= f64::MANTISSA_DIGITS {
        return (whole as f64, 0);
    }
    // The leading one is not kept, as in a double.
    let fraction = digits << (digits.leading_zeros() + 1);
    let exponent = 1023 + u64::from(u64::BITS - 1 - digits.leading_zeros());
    let sign = u64::from(whole < 0) << 63;
    let double = f64::from_bits(sign | (exponent << 52) | (fraction >> 12));
    (double, ((fraction & 0xfff) << 4) as u16)
}

/// One lane of MurmurHash3 x64.
fn mix(bytes: &[u8], seed: u64) -> u64 {
    let scramble = |block: u64| {
        let block = block.wrapping_mul(0x87c3_7b91_1142_53d5);
        block.rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f)
    };
    let (blocks, rest) = bytes.as_chunks::<8>();
    let mut state = seed;
    for block in blocks {
        state ^= scramble(u64::from_le_bytes(*block));
        state = state.rotate_left(27).wrapping_mul(5);
        state = state.wrapping_add(0x52dc_e729);
    }
    let tail = rest
        .iter()
        .rev()
        .fold(0, |tail, byte| (tail << 8) | u64::from(*byte));
    state ^= scramble(tail) ^ bytes.len() as u64;
    state = (state ^ (state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    state = (state ^ (state >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    state ^ (state >> 33)
}

struct Lane(u64);

impl Hasher for Lane {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = mix(bytes, self.0);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
