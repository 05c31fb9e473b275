//! The checksum of messages: CRC-32C, the polynomial of Castagnoli.

const POLYNOMIAL: u32 = 0x82F6_3B78;

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 {
                rest >> 1 ^ POLYNOMIAL
            } else {
                rest >> 1
            };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
}

/// The checksum of some parts, one behind the other.
pub(super) fn checksum(parts: &[&[u8]]) -> u32 {
    let mut sum = u32::MAX;
    for byte in parts.iter().flat_map(|part| part.iter()) {
        sum = sum >> 8 ^ TABLE[usize::from((sum as u8) ^ byte)];
    }
    !sum
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_check_value() {
        assert_eq!(super::checksum(&[b"1234", b"56789"]), 0xE306_9283);
    }
}
