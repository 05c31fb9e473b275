//! Any bytes as a message of the Mongo door: an error or a command, never a panic, and never more memory than is allowed.
#![no_main]

use lapsedb_door_mongo::wire::{HEADER_BYTES, Header, MESSAGE_BYTES_MAX, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((head, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return;
    };
    if let Ok(header) = Header::read(head, MESSAGE_BYTES_MAX) {
        let _ = read(&header, payload, &|_| Ok(()));
    }
});
