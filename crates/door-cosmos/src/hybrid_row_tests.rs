//! Bytes derived by hand from the layout, both ways.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

const SEGMENT: [u8; 10] = [0x81, 0xF0, 0xD8, 0xFF, 0x7F, 0x01, 0x0A, 0, 0, 0];

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|c| !c.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// A batch of these operation rows.
fn batch(rows: &[Vec<u8>]) -> Vec<u8> {
    let mut out = SEGMENT.to_vec();
    for row in rows {
        out.extend_from_slice(&hex("81 F1D8FF7F"));
        out.extend_from_slice(&(row.len() as u32).to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(row).to_le_bytes());
        out.extend_from_slice(row);
    }
    out
}

/// An operation row: presence bits, type, variable columns in hexadecimal, sparse fields in hexadecimal.
fn row(presence: u8, operation: i32, rest: &str) -> Vec<u8> {
    let mut out = hex("81 7054E17F");
    out.push(presence);
    out.extend_from_slice(&operation.to_le_bytes());
    out.extend_from_slice(&2i32.to_le_bytes());
    out.extend_from_slice(&hex(rest));
    out
}

fn plain(operation: OperationType) -> BatchOperation {
    BatchOperation {
        operation,
        partition_key: None,
        id: None,
        resource_body: None,
        indexing_directive: None,
        if_match: None,
        if_none_match: None,
        minimal_return_preference: false,
    }
}

#[test]
fn the_checksum_is_the_common_one() {
    assert_eq!(crc32fast::hash(b"123456789"), 0xCBF4_3926);
}

#[test]
fn a_create_and_a_read_by_hand() {
    // {"id":"1"} is ten bytes; the id "1" is one.
    let create = row(0b100_0011, 0, "0A 7B226964223A2231227D");
    let read = row(0b001_0011, 2, "01 31");
    let bytes = batch(&[create, read]);
    assert!(is_hybrid_row(&bytes));
    let operations = decode(&bytes).unwrap();
    let expected = [
        BatchOperation {
            resource_body: Some(br#"{"id":"1"}"#.to_vec()),
            ..plain(OperationType::Create)
        },
        BatchOperation {
            id: Some("1".into()),
            ..plain(OperationType::Read)
        },
    ];
    assert_eq!(operations, expected);
}

#[test]
fn every_column_and_field() {
    // partitionKey ["a"], effectivePartitionKey FF, id "x", binaryId "y", body {}; then the five sparse fields.
    let full = row(
        0b111_1111,
        5,
        "05 5B2261225D  01 FF  01 78  01 79  02 7B7D
         14 08 07 4578636C756465  14 09 03 226522  14 0A 01 2A  07 0B 0A000000  03 0C",
    );
    let operations = batch(&[full]);
    let operations = decode(&operations).unwrap();
    assert_eq!(
        operations,
        [BatchOperation {
            operation: OperationType::Replace,
            partition_key: Some(r#"["a"]"#.into()),
            id: Some("x".into()),
            resource_body: Some(b"{}".to_vec()),
            indexing_directive: Some("Exclude".into()),
            if_match: Some("\"e\"".into()),
            if_none_match: Some("*".into()),
            minimal_return_preference: true,
        }]
    );
}

#[test]
fn every_operation_type() {
    for (code, operation) in [
        (0, OperationType::Create),
        (1, OperationType::Patch),
        (2, OperationType::Read),
        (4, OperationType::Delete),
        (5, OperationType::Replace),
        (20, OperationType::Upsert),
    ] {
        let bytes = batch(&[row(0b11, code, "")]);
        assert_eq!(decode(&bytes).unwrap(), [plain(operation)]);
    }
    for code in [-1, 3, 6, 19, 21, i32::MAX, i32::MIN] {
        assert!(decode(&batch(&[row(0b11, code, "")])).is_err(), "{code}");
    }
    assert!(
        decode(&batch(&[row(0b10, 0, "")])).is_err(),
        "the type must be present"
    );
}

#[test]
fn unknown_fields_are_passed_over() {
    // A spelt path of three letters (token 13 + 3), a number, a float, a binary, a null, a false for an unknown token.
    let odd = row(
        0b11,
        2,
        "14 10 616263 01 7A  0B 0B 01000000  10 07 0000000000000000  15 08 02 0102  01 09  02 0B  03 0C",
    );
    let bytes = batch(&[odd]);
    let expected = BatchOperation {
        minimal_return_preference: true,
        ..plain(OperationType::Read)
    };
    assert_eq!(decode(&bytes).unwrap(), [expected]);
    assert!(
        decode(&batch(&[row(0b11, 2, "63 08")])).is_err(),
        "an unknown type has no known length"
    );
}

#[test]
fn a_binary_id_is_an_id() {
    let bytes = batch(&[row(0b10_0011, 2, "01 79")]);
    assert_eq!(decode(&bytes).unwrap()[0].id.as_deref(), Some("y"));
    assert!(decode(&batch(&[row(0b10_0011, 2, "01 FF")])).is_err());
}

#[test]
fn long_bodies_have_long_lengths() {
    for len in [0usize, 127, 128, 16_383, 16_384, 300_000] {
        let text = "x".repeat(len);
        let mut create = row(0b100_0011, 0, "");
        write_binary(text.as_bytes(), &mut create);
        let bytes = batch(&[create]);
        assert_eq!(
            decode(&bytes).unwrap()[0].resource_body.as_deref(),
            Some(text.as_bytes()),
            "{len}"
        );
    }
}

#[test]
fn a_longer_segment_header_is_passed_over() {
    let mut bytes = hex("81 F0D8FF7F 01 0E000000 DEADBEEF");
    bytes.extend_from_slice(&batch(&[row(0b11, 2, "")])[SEGMENT.len()..]);
    assert_eq!(decode(&bytes).unwrap().len(), 1);
    assert_eq!(decode(&SEGMENT).unwrap(), []);
}

#[test]
fn damage_anywhere_is_noticed() {
    let bytes = batch(&[
        row(0b101_0011, 5, "01 31 02 7B7D 14 09 03 226522"),
        row(0b11, 2, ""),
    ]);
    assert_eq!(decode(&bytes).unwrap().len(), 2);
    let boundaries = [
        SEGMENT.len(),
        SEGMENT.len() + 13 + row(0b101_0011, 5, "01 31 02 7B7D 14 09 03 226522").len(),
    ];
    for len in 0..bytes.len() {
        assert_eq!(
            decode(&bytes[..len]).is_ok(),
            boundaries.contains(&len),
            "{len}"
        );
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let read = decode(&damaged);
            // Only the presence byte of the segment header plays no part, and a length of it below its own size.
            let harmless = at == 5 || (6..10).contains(&at);
            assert!(read.is_err() || harmless, "{at} {bit}");
        }
    }
}

#[test]
fn absurd_lengths_are_refused() {
    assert!(decode(b"").is_err());
    assert!(decode(b"[]").is_err());
    for rest in [
        "FFFFFFFFFFFFFFFFFF01 31",
        "FFFFFFFFFFFFFFFFFF7F",
        "FFFFFFFFFFFFFFFFFFFF01",
        "80",
        "8080808080808080808001",
    ] {
        assert!(decode(&batch(&[row(0b1_0011, 2, rest)])).is_err(), "{rest}");
    }
    let mut negative = SEGMENT.to_vec();
    negative.extend_from_slice(&hex("81 F1D8FF7F FFFFFFFF 00000000"));
    assert!(decode(&negative).is_err());
}

#[test]
fn results_by_hand() {
    let created = BatchResult {
        status_code: 201,
        sub_status_code: 0,
        e_tag: Some("\"e\"".into()),
        resource_body: Some(b"{}".to_vec()),
        retry_after_ms: None,
        request_charge: 6.5,
    };
    let throttled = BatchResult {
        status_code: 429,
        sub_status_code: 3200,
        retry_after_ms: Some(10),
        ..BatchResult::default()
    };
    let first = hex("81 7154E17F 0F C9000000 00000000 03 226522 02 7B7D 10 06 0000000000001A40");
    let second = hex("81 7154E17F 03 AD010000 800C0000 0B 05 0A000000 10 06 0000000000000000");
    assert_eq!(encode(&[created, throttled]), batch(&[first, second]));
    assert_eq!(encode(&[]), SEGMENT);
}
