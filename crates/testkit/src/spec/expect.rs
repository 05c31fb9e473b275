//! What a line expects, and whether an answer is that.

use serde_json::Value;

use super::Difference;
use crate::client::Reply;

/// `STATUS[/SUB] ["part of the message"] [{members} or [list]]`, or `xfail` before it.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// A known gap: the rest must *not* hold.
    xfail: bool,
    status: Option<u16>,
    sub_status: Option<u32>,
    message: Option<String>,
    body: Option<Value>,
}

impl Expected {
    pub(crate) fn parse(text: &str) -> Result<Expected, String> {
        let (text, xfail) = match text.strip_prefix("xfail ") {
            Some(rest) => (rest.trim_start(), true),
            None => (text, false),
        };
        let (first, rest) = super::script::word(text);
        let (status, sub) = first.split_once('/').unwrap_or((first, ""));
        let status = match status {
            // What the Mongo door answers has a code only where it failed.
            "ok" => 0,
            status => status
                .parse()
                .map_err(|_| format!("`{first}` is not a status"))?,
        };
        let sub_status = match sub {
            "" => None,
            sub => Some(
                sub.parse()
                    .map_err(|_| format!("`{sub}` is not a sub-status"))?,
            ),
        };
        let mut expected = Expected {
            xfail,
            status: Some(status),
            sub_status,
            message: None,
            body: None,
        };
        for value in serde_json::Deserializer::from_str(rest).into_iter::<Value>() {
            match value.map_err(|error| format!("after the status: {error}"))? {
                Value::String(message) => expected.message = Some(message),
                body => expected.body = Some(body),
            }
        }
        Ok(expected)
    }

    /// Whether the answer is as expected; `seen` is how a body of interest is shown.
    pub(crate) fn check(&self, reply: &Reply, seen: &Value) -> Result<(), Difference> {
        let difference = self.difference(reply, seen);
        if self.xfail {
            return match difference {
                Some(_) => Ok(()),
                None => Err(Difference::new("this gap is closed: take the `xfail` away")),
            };
        }
        match difference {
            None => Ok(()),
            Some(text) => Err(Difference {
                text: format!("{text}; got {reply:?}"),
                seen: Some(self.rewritten(reply, seen)),
            }),
        }
    }

    fn difference(&self, reply: &Reply, seen: &Value) -> Option<String> {
        if self.status.is_some_and(|status| status != reply.status) {
            return Some(format!("the status is {}", reply.status));
        }
        if let Some(sub) = self.sub_status
            && sub != reply.sub_status()
        {
            return Some(format!("the sub-status is {}", reply.sub_status()));
        }
        if let Some(message) = &self.message
            && !reply.message().contains(message)
        {
            return Some(format!("the message is {:?}", reply.message()));
        }
        match &self.body {
            Some(body) if !contains(seen, body) => Some(format!("the body is {seen}")),
            Some(_) | None => None,
        }
    }

    /// The line as it would have been right, as detailed as it was.
    fn rewritten(&self, reply: &Reply, seen: &Value) -> String {
        let mut text = match reply.status {
            0 => "ok".to_owned(),
            status => status.to_string(),
        };
        if self.sub_status.is_some() {
            text.push_str(&format!("/{}", reply.sub_status()));
        }
        if self.message.is_some() {
            text.push_str(&format!(" {}", Value::String(reply.message())));
        }
        if self.body.is_some() {
            text.push_str(&format!(" {seen}"));
        }
        text
    }
}

/// Whether a value has all that is expected: objects may have more members, all else is equal.
fn contains(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => {
            expected
                .iter()
                .all(|(name, part)| match (value.get(name), part) {
                    (Some(value), part) => contains(value, part),
                    // A member expected to be absent is written as the string `absent`.
                    (None, Value::String(word)) => word == "absent",
                    (None, _) => false,
                })
        }
        (Value::Array(value), Value::Array(expected)) => {
            value.len() == expected.len() && value.iter().zip(expected).all(|(v, e)| contains(v, e))
        }
        (value, expected) => value == expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expectations_are_read_in_full() {
        let expected =
            Expected::parse(r#"400/1001 "doesn't match" {"code":"BadRequest"}"#).unwrap();
        assert_eq!(expected.status, Some(400));
        assert_eq!(expected.sub_status, Some(1001));
        assert_eq!(expected.message.as_deref(), Some("doesn't match"));
        assert_eq!(Expected::parse("ok {}").unwrap().status, Some(0));
        assert!(Expected::parse("fine").is_err());
    }

    #[test]
    fn more_members_do_not_matter_but_numbers_do() {
        assert!(contains(&json!({"a":1,"b":2}), &json!({"a":1})));
        assert!(!contains(&json!({"a":1.0}), &json!({"a":1})));
        assert!(!contains(&json!([1, 2]), &json!([1])));
        assert!(contains(&json!({"a":1}), &json!({"ttl":"absent"})));
        assert!(!contains(&json!({"ttl":1}), &json!({"ttl":"absent"})));
    }

    #[test]
    fn a_closed_gap_is_a_failure() {
        let reply = Reply {
            status: 204,
            headers: Vec::new(),
            body: Vec::new(),
        };
        let gap = Expected::parse("xfail 204 \"soon\"").unwrap();
        // The message of a 204 is empty, so the expectation fails, as a gap must.
        assert!(gap.check(&reply, &Value::Null).is_ok());
        assert!(
            Expected::parse("xfail 204")
                .unwrap()
                .check(&reply, &Value::Null)
                .is_err()
        );
    }
}
