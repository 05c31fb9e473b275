//! Whatever is written in one format reads back as the same document.

use crate::common;
use lapsedb_value::json::Limits;
use lapsedb_value::{Value, bson, fuzz, json, order};
use proptest::prelude::*;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    order::hash_into(value, &mut hasher);
    hasher.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn through_json(value in common::json_value()) {
        let text = json::to_string(&value);
        let again = json::parse(text.as_bytes(), &Limits::DEFAULT).unwrap();
        // The canonical kinds survive as well, and so does the order of members.
        prop_assert_eq!(format!("{value:?}"), format!("{again:?}"));
        prop_assert!(order::deep_equal(&value, &again));
    }

    #[test]
    fn through_bson(object in common::bson_object()) {
        let mut bytes = Vec::new();
        bson::write_document(&object, &mut bytes);
        prop_assert!(bytes.len() <= bson::bytes_at_most(&object));
        let first = object.keys().next().cloned().unwrap_or_default();
        let some = bson::read_members(&bytes, std::slice::from_ref(&first)).unwrap();
        let mut wanted = object.clone();
        wanted.retain(|name, value| name == first && !value.is_undefined());
        prop_assert!(order::deep_equal(&Value::Object(wanted), &Value::Object(some)));
        let again = bson::read_document(&bytes).unwrap();
        let (before, after) = (Value::Object(object), Value::Object(again));
        prop_assert!(order::deep_equal(&before, &after));
        prop_assert_eq!(hash(&before), hash(&after));
        prop_assert_eq!(format!("{before:?}"), format!("{after:?}"));
    }

    #[test]
    fn the_transcoder_prints_what_the_tree_prints(object in common::bson_object()) {
        let mut bytes = Vec::new();
        bson::write_document(&object, &mut bytes);
        let mut members = Vec::new();
        let count = bson::json_members(&bytes, &mut members).unwrap();
        prop_assert_eq!(count, object.len());
        let text = format!("{{{}}}", String::from_utf8(members).unwrap());
        prop_assert_eq!(&text, &json::to_string(&Value::Object(object)));
        json::parse(text.as_bytes(), &Limits::DEFAULT).unwrap();
        prop_assert_eq!(fuzz::bson(&bytes), Ok(()));
    }

    #[test]
    fn what_is_stored_prints_as_what_was_sent(value in common::json_value()) {
        let object: lapsedb_value::Object = [("v".into(), value.clone())].into_iter().collect();
        let mut bytes = Vec::new();
        bson::write_document(&object, &mut bytes);
        let mut members = Vec::new();
        bson::json_members(&bytes, &mut members).unwrap();
        prop_assert_eq!(String::from_utf8(members).unwrap(), format!("\"v\":{value}"));
        let found = bson::find(&bytes, &["v"]).unwrap().unwrap().to_value().unwrap();
        prop_assert_eq!(format!("{found:?}"), format!("{value:?}"));
    }
}
