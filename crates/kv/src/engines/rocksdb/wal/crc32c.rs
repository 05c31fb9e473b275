//! CRC-32C, the checksum of RocksDB's log records.

/// Castagnoli's polynomial, least significant bit first.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// Bytes taken in one step.
const STEP_BYTES: usize = 8;
/// What RocksDB adds to a rotated checksum, so that the checksum of data that holds checksums is not trivial.
const MASK_DELTA: u32 = 0xa282_ead8;
const MASK_ROTATION: u32 = 15;

/// `TABLES[n][b]` is the effect of byte `b` once `n` more bytes have followed it.
static TABLES: [[u32; 256]; STEP_BYTES] = tables();

const fn tables() -> [[u32; 256]; STEP_BYTES] {
    let mut tables = [[0; 256]; STEP_BYTES];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            state = (state >> 1) ^ (POLYNOMIAL * (state & 1));
            bit += 1;
        }
        tables[0][byte] = state;
        byte += 1;
    }
    let mut table = 1;
    while table < STEP_BYTES {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = tables[0][(before & 0xff) as usize] ^ (before >> 8);
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// A checksum that grows with its data.
#[derive(Clone, Copy)]
pub struct Crc32c(u32);

impl Crc32c {
    /// Of no data.
    pub const fn new() -> Crc32c {
        Crc32c(u32::MAX)
    }

    /// Takes in more data.
    pub fn update(&mut self, data: &[u8]) {
        let mut steps = data.chunks_exact(STEP_BYTES);
        for step in &mut steps {
            let mut next = 0;
            for (at, byte) in step.iter().enumerate() {
                // The state overlaps the first four bytes.
                let state = if at < 4 {
                    (self.0 >> (8 * at)) as u8
                } else {
                    0
                };
                next ^= TABLES[STEP_BYTES - 1 - at][usize::from(byte ^ state)];
            }
            self.0 = next;
        }
        for byte in steps.remainder() {
            self.0 = after_byte(self.0 ^ u32::from(*byte));
        }
    }

    /// As RocksDB stores it.
    pub const fn masked(self) -> u32 {
        (!self.0)
            .rotate_right(MASK_ROTATION)
            .wrapping_add(MASK_DELTA)
    }
}

/// Whether one flipped bit among `bytes` checksummed bytes turns the checksum `stored` (masked) into `computed`.
///
/// A checksum is linear: a flipped bit changes it by an amount that depends only on how many bits follow.
pub fn differ_by_one_bit(stored: u32, computed: Crc32c, bytes: usize) -> bool {
    let unmasked = stored.wrapping_sub(MASK_DELTA).rotate_left(MASK_ROTATION);
    let difference = unmasked ^ !computed.0;
    (0..8).any(|bit| {
        let mut effect = after_byte(1 << bit);
        for _ in 0..bytes {
            if effect == difference {
                return true;
            }
            effect = after_byte(effect);
        }
        false
    })
}

/// The state after one more byte, which is already added to its lowest bits.
fn after_byte(state: u32) -> u32 {
    TABLES[0][(state & 0xff) as usize] ^ (state >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(data: &[u8]) -> Crc32c {
        let mut crc = Crc32c::new();
        crc.update(data);
        crc
    }

    #[test]
    fn it_is_the_published_checksum() {
        // RFC 3720, B.4.
        assert_eq!(!of(&[0; 32]).0, 0x8a91_36aa);
        assert_eq!(!of(&[0xff; 32]).0, 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(!of(&rising).0, 0x46dd_794e);
        assert_eq!(!of(b"123456789").0, 0xe306_9283);
    }

    #[test]
    fn data_may_come_in_parts() {
        let data: Vec<u8> = (0..100u8).map(|byte| byte.wrapping_mul(37)).collect();
        for cut in 0..data.len() {
            let mut crc = of(&data[..cut]);
            crc.update(&data[cut..]);
            assert_eq!(crc.0, of(&data).0, "{cut}");
        }
    }

    #[test]
    fn every_flipped_bit_is_recognised_and_no_two_are() {
        let data = *b"a record of the log";
        let stored = of(&data).masked();
        for bit in 0..data.len() * 8 {
            let mut flipped = data;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(differ_by_one_bit(stored, of(&flipped), data.len()), "{bit}");
            flipped[bit / 8] ^= 1 << ((bit + 1) % 8);
            assert!(
                !differ_by_one_bit(stored, of(&flipped), data.len()),
                "{bit}"
            );
        }
    }
}
