//! Nothing panics, hangs or overflows on bytes that are not what they should be.

use crate::common;
use lapsedb_value::json::{JsonErrorKind, Limits};
use lapsedb_value::{Value, bson, cosmos_binary, fuzz, json};
use proptest::prelude::*;

/// All that must hold for any bytes, in every format.
fn check(bytes: &[u8]) -> Result<(), String> {
    fuzz::json(bytes)?;
    fuzz::bson(bytes)?;
    fuzz::cosmos_binary(bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn random_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(check(&bytes), Ok(()));
        // With the right first bytes the readers get further.
        let length = (bytes.len() as u32 + 5).to_le_bytes();
        let framed: Vec<u8> = length.iter().chain(&bytes).chain(&[0]).copied().collect();
        prop_assert_eq!(check(&framed), Ok(()));
        bytes.insert(0, 0x80);
        prop_assert_eq!(check(&bytes), Ok(()));
    }

    #[test]
    fn random_signs_of_json(text in "[\\[\\]{}\",:0-9eE+.\\-truefalsn \\\\u]{0,60}") {
        prop_assert_eq!(fuzz::json(text.as_bytes()), Ok(()));
    }

    #[test]
    fn json_cut_off_or_with_a_flipped_bit(
        value in common::json_value(),
        cut in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let text = json::to_string(&value).into_bytes();
        let at = cut.index(text.len());
        prop_assert_eq!(fuzz::json(&text[..at]), Ok(()));
        let mut flipped = text;
        flipped[at] ^= 1u8 << bit;
        prop_assert_eq!(fuzz::json(&flipped), Ok(()));
    }

    #[test]
    fn bson_cut_off_or_with_a_flipped_bit(
        object in common::bson_object(),
        cut in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let mut bytes = Vec::new();
        bson::write_document(&object, &mut bytes);
        let at = cut.index(bytes.len());
        prop_assert!(bson::read_document(&bytes[..at]).is_err());
        prop_assert_eq!(fuzz::bson(&bytes[..at]), Ok(()));
        bytes[at] ^= 1u8 << bit;
        prop_assert_eq!(fuzz::bson(&bytes), Ok(()));
    }
}

/// Runs on a stack of the size that small threads have.
fn on_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(512 * 1024)
        .spawn(run)
        .unwrap();
    thread.join().unwrap();
}

#[test]
fn nesting_is_limited_by_an_error_and_not_by_the_stack() {
    on_small_stack(|| {
        let generous = Limits {
            depth_max: usize::MAX,
            duplicates_refused: &[],
        };
        for depth in [1, 128, 256] {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let middle = if open == "[" { "" } else { "1" };
                let text = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
                let value = json::parse(text.as_bytes(), &generous).unwrap();
                assert_eq!(value.to_string(), text);
                let limits = Limits {
                    depth_max: depth - 1,
                    duplicates_refused: &[],
                };
                let error = json::parse(text.as_bytes(), &limits).unwrap_err();
                assert_eq!(error.kind, JsonErrorKind::TooDeep);
                let object = lapsedb_value::Object::from(vec![("v".into(), value)]);
                let mut bytes = Vec::new();
                bson::write_document(&object, &mut bytes);
                // The document around it is one level more.
                assert_eq!(bson::read_document(&bytes).is_ok(), depth < bson::DEPTH_MAX);
                assert_eq!(fuzz::bson(&bytes), Ok(()));
            }
        }
        for deep in ["[".repeat(1_000_000), "{\"a\":".repeat(1_000_000)] {
            let error = json::parse(deep.as_bytes(), &generous).unwrap_err();
            assert_eq!(error.kind, JsonErrorKind::TooDeep);
        }
        for marker in [0xE1, 0xE9] {
            let mut bytes = vec![0x80];
            for _ in 0..100_000 {
                bytes.push(marker);
                if marker == 0xE9 {
                    bytes.extend_from_slice(&[0x81, b'a']);
                }
            }
            let error = cosmos_binary::decode(&bytes, &generous).unwrap_err();
            assert_eq!(error.kind, JsonErrorKind::TooDeep);
        }
    });
}

#[test]
fn many_members_of_the_same_hash_or_name_take_no_quadratic_time() {
    let mut text = String::from("{");
    for n in 0..200_000 {
        text.push_str(&format!("\"k{}\":{n},", n % 100_000));
    }
    text.push_str("\"z\":0}");
    let value = json::parse(text.as_bytes(), &Limits::DEFAULT).unwrap();
    let object = value.as_object().unwrap();
    assert_eq!(object.len(), 100_001);
    assert!(matches!(object.as_slice()[7], (ref name, Value::Int32(100_007)) if name == "k7"));
}
