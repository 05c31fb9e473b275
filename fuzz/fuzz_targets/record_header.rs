//! Any bytes as a record and as a mark: damaged or readable, never a panic; what is readable is written back as it was.
#![no_main]

use lapsedb_record::{HEADER_BYTES, Header, MARK_BYTES, Mark};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(header) = Header::read(bytes) {
        let mut again = Vec::new();
        header.write(&bytes[HEADER_BYTES..], &mut again);
        assert_eq!(Header::read(&again), Ok(header));
    }
    if let Ok(mark) = Mark::read(bytes) {
        let mut again = Vec::new();
        mark.write(&mut again);
        assert_eq!(again.len(), MARK_BYTES);
        assert_eq!(Mark::read(&again), Ok(mark));
    }
});
