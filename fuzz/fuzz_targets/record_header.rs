//! Any bytes as a record and as a mark: damaged or readable, never a panic; what is readable is written back as it was.
#![no_main]

use lapsedb_record::{Header, Mark};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(header) = Header::read(bytes) {
        let mut again = Vec::new();
        header.write(&bytes[header.length()..], &mut again);
        assert_eq!(Header::read(&again), Ok(header));
    }
    if let Ok((mark, rest)) = Mark::split(bytes) {
        let mut again = Vec::new();
        mark.write(&mut again);
        again.extend_from_slice(rest);
        assert_eq!(again.len(), bytes.len());
        assert_eq!(Mark::split(&again), Ok((mark, rest)));
    }
});
