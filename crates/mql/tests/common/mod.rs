//! Documents from text.

use lapsedb_value::json::{self, Limits};
use lapsedb_value::{Object, Value};

pub fn value(text: &str) -> Value {
    json::parse(text.as_bytes(), &Limits::default()).expect(text)
}

pub fn object(text: &str) -> Object {
    value(text).into_object().expect(text)
}

pub fn text(object: &Object) -> String {
    Value::Object(object.clone()).to_string()
}
