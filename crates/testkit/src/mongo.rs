//! A client of the Mongo door: one connection, one command after the other, values as extended JSON.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Map, Value, json};

/// A reply that has not come by then never will.
const REPLY_SECONDS_MAX: u64 = 300;
const OP_MSG: u32 = 2013;
/// Bytes in front of a message's document: the header, the flags, and the kind of its only section.
const FRAME_BYTES: usize = 16 + 4 + 1;

/// A connection.
pub struct MongoClient {
    stream: TcpStream,
    number: u32,
}

impl MongoClient {
    /// Opens a connection to `host:port`.
    #[must_use]
    pub fn new(address: &str) -> MongoClient {
        MongoClient::over(TcpStream::connect(address).expect("the Mongo door listens"))
    }

    /// Uses a connection that is open.
    #[must_use]
    pub fn over(stream: TcpStream) -> MongoClient {
        let limit = Some(Duration::from_secs(REPLY_SECONDS_MAX));
        stream.set_read_timeout(limit).expect("a time limit");
        MongoClient { stream, number: 0 }
    }

    /// Sends a command, written as extended JSON, to a database, and gives its reply. Members keep their order.
    ///
    /// # Errors
    /// When the command is no object, or the connection breaks.
    pub fn command(&mut self, database: &str, command: &str) -> Result<Value, String> {
        self.send(database, command)?;
        self.receive_reply()
    }

    /// Reads a reply to what was sent before.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn receive_reply(&mut self) -> Result<Value, String> {
        let reply = self.receive().map_err(|error| error.to_string())?;
        let mut left = reply.get(FRAME_BYTES..).unwrap_or_default();
        object(&mut left).ok_or_else(|| "the reply is no document".to_owned())
    }

    /// Sends a command and does not read its reply.
    ///
    /// # Errors
    /// As [`command`](Self::command).
    pub fn send(&mut self, database: &str, command: &str) -> Result<(), String> {
        let mut body = Writer::document(command)?;
        // The database goes before the end of the document.
        body.pop();
        body.push(2);
        body.extend_from_slice(b"$db\0");
        scalar(&json!(database), &mut body);
        finish(&mut body, 0);
        self.number += 1;
        let mut message = Vec::with_capacity(FRAME_BYTES + body.len());
        let length = u32::try_from(FRAME_BYTES + body.len()).map_err(|error| error.to_string())?;
        for word in [length, self.number, 0, OP_MSG, 0] {
            message.extend_from_slice(&word.to_le_bytes());
        }
        message.push(0);
        message.extend_from_slice(&body);
        let sent = self.stream.write_all(&message);
        sent.map_err(|error| error.to_string())
    }

    fn receive(&mut self) -> std::io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut message = vec![0; u32::from_le_bytes(length) as usize];
        message[..4].copy_from_slice(&length);
        self.stream.read_exact(&mut message[4..])?;
        Ok(message)
    }
}

/// Ends a document that began at a place with room for its length.
fn finish(bytes: &mut Vec<u8>, from: usize) {
    bytes.push(0);
    let length = u32::try_from(bytes.len() - from).expect("a small document");
    bytes[from..from + 4].copy_from_slice(&length.to_le_bytes());
}

/// JSON text on its way to BSON, member by member, in the order in which they stand.
struct Writer<'a> {
    text: &'a str,
    at: usize,
}

impl Writer<'_> {
    /// An object as BSON.
    fn document(text: &str) -> Result<Vec<u8>, String> {
        let (mut writer, mut bytes) = (Writer { text, at: 0 }, Vec::new());
        match writer.value(&mut bytes)? {
            3 => Ok(bytes),
            _ => Err("a command is an object".to_owned()),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, sign: u8) -> Result<(), String> {
        if self.peek() != Some(sign) {
            return Err(format!(
                "`{}` is wanted at place {}",
                char::from(sign),
                self.at
            ));
        }
        self.at += 1;
        Ok(())
    }

    /// Appends the next value, and says its type.
    fn value(&mut self, out: &mut Vec<u8>) -> Result<u8, String> {
        match self.peek() {
            Some(b'{') => {
                let (from, place) = (self.at, out.len());
                self.members(b'{', b'}', out)?;
                let whole: Value = self.parsed(from)?;
                let mut bytes = Vec::new();
                Ok(match special(&whole, &mut bytes) {
                    Some(kind) => {
                        out.truncate(place);
                        out.extend_from_slice(&bytes);
                        kind
                    }
                    None => 3,
                })
            }
            Some(b'[') => self.members(b'[', b']', out).map(|()| 4),
            Some(_) => {
                let value = self.token()?;
                Ok(scalar(&value, out))
            }
            None => Err("the text ends too soon".to_owned()),
        }
    }

    fn members(&mut self, open: u8, close: u8, out: &mut Vec<u8>) -> Result<(), String> {
        let from = out.len();
        out.extend_from_slice(&[0; 4]);
        self.skip(open)?;
        let mut count = 0;
        while self.peek() != Some(close) {
            if count > 0 {
                self.skip(b',')?;
            }
            let name = match open {
                b'{' => {
                    let name = self.token()?;
                    self.skip(b':')?;
                    name.as_str().ok_or("a name is a text")?.to_owned()
                }
                _ => count.to_string(),
            };
            let at = out.len();
            out.push(0);
            out.extend_from_slice(name.as_bytes());
            out.push(0);
            out[at] = self.value(out)?;
            count += 1;
        }
        self.skip(close)?;
        finish(out, from);
        Ok(())
    }

    /// The next text, number, truth or null.
    fn token(&mut self) -> Result<Value, String> {
        self.peek();
        let from = self.at;
        let bytes = self.text.as_bytes();
        if bytes.get(from) == Some(&b'"') {
            self.at += 1;
            while let Some(byte) = bytes.get(self.at).filter(|byte| **byte != b'"') {
                self.at += if *byte == b'\\' { 2 } else { 1 };
            }
            self.at += 1;
        } else {
            let ends = |byte: &u8| b",:]}".contains(byte) || byte.is_ascii_whitespace();
            let rest = bytes.get(from..).unwrap_or_default();
            self.at += rest.iter().take_while(|byte| !ends(byte)).count();
        }
        self.parsed(from)
    }

    fn parsed(&self, from: usize) -> Result<Value, String> {
        let text = self.text.get(from..self.at).unwrap_or_default();
        serde_json::from_str(text).map_err(|error| format!("`{text}`: {error}"))
    }
}

/// Appends a value without members, and says its type.
fn scalar(value: &Value, out: &mut Vec<u8>) -> u8 {
    match value {
        Value::Bool(truth) => {
            out.push(u8::from(*truth));
            8
        }
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => match i32::try_from(whole) {
                Ok(short) => {
                    out.extend_from_slice(&short.to_le_bytes());
                    16
                }
                Err(_) => {
                    out.extend_from_slice(&whole.to_le_bytes());
                    18
                }
            },
            (None, number) => {
                out.extend_from_slice(&number.unwrap_or(f64::NAN).to_le_bytes());
                1
            }
        },
        Value::String(text) => {
            let length = u32::try_from(text.len() + 1).expect("a short text");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(text.as_bytes());
            out.push(0);
            2
        }
        Value::Null | Value::Array(_) | Value::Object(_) => 10,
    }
}

/// Appends what an object of one `$` member stands for.
fn special(whole: &Value, out: &mut Vec<u8>) -> Option<u8> {
    let members = whole.as_object()?;
    let (name, inner) = members.iter().next().filter(|_| members.len() == 1)?;
    let long = |value: &Value| value.as_str().and_then(|text| text.parse::<i64>().ok());
    match name.as_str() {
        "$numberLong" => {
            out.extend_from_slice(&long(inner)?.to_le_bytes());
            Some(18)
        }
        "$numberDouble" => {
            let number: f64 = inner.as_str()?.parse().ok()?;
            out.extend_from_slice(&number.to_le_bytes());
            Some(1)
        }
        "$date" => {
            out.extend_from_slice(&long(inner.get("$numberLong")?)?.to_le_bytes());
            Some(9)
        }
        "$oid" => {
            let text = inner.as_str().filter(|text| text.len() == 24)?;
            for at in (0..24).step_by(2) {
                out.push(u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?);
            }
            Some(7)
        }
        "$uuid" => {
            let digits = inner.as_str()?.replace('-', "");
            let digits = Some(digits).filter(|digits| digits.len() == 32)?;
            out.extend_from_slice(&[16, 0, 0, 0, 4]);
            for at in (0..32).step_by(2) {
                out.push(u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?);
            }
            Some(5)
        }
        "$timestamp" => {
            let part = |name: &str| u32::try_from(inner.get(name)?.as_u64()?).ok();
            let (increment, time) = (part("i")?, part("t")?);
            out.extend_from_slice(&increment.to_le_bytes());
            out.extend_from_slice(&time.to_le_bytes());
            Some(17)
        }
        _ => None,
    }
}

fn take<const N: usize>(left: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = left.split_first_chunk::<N>()?;
    *left = rest;
    Some(*first)
}

fn take_name(left: &mut &[u8]) -> Option<String> {
    let end = left.iter().position(|byte| *byte == 0)?;
    let name = String::from_utf8(left.get(..end)?.to_vec()).ok()?;
    *left = left.get(end + 1..)?;
    Some(name)
}

/// Reads a document as an object.
fn object(left: &mut &[u8]) -> Option<Value> {
    let mut members = Map::new();
    walk(left, |name, value| {
        members.insert(name, value);
    })?;
    Some(Value::Object(members))
}

fn walk(left: &mut &[u8], mut see: impl FnMut(String, Value)) -> Option<()> {
    let length = u32::from_le_bytes(*left.first_chunk::<4>()?) as usize;
    let (inside, rest) = left.split_at_checked(length)?;
    let mut inside = inside.get(4..)?;
    loop {
        let [kind] = take(&mut inside)?;
        if kind == 0 {
            break;
        }
        let name = take_name(&mut inside)?;
        see(name, read(kind, &mut inside)?);
    }
    *left = rest;
    Some(())
}

/// Reads a value of a type.
fn read(kind: u8, left: &mut &[u8]) -> Option<Value> {
    let long = |left: &mut &[u8]| take::<8>(left).map(i64::from_le_bytes);
    Some(match kind {
        1 => {
            let number = f64::from_le_bytes(take(left)?);
            match number.is_finite() {
                true => json!(number),
                false => json!({"$numberDouble": number.to_string()}),
            }
        }
        2 => {
            let length = u32::from_le_bytes(take(left)?) as usize;
            let (text, rest) = left.split_at_checked(length)?;
            *left = rest;
            json!(String::from_utf8_lossy(text.get(..length - 1)?))
        }
        3 => object(left)?,
        4 => {
            let mut elements = Vec::new();
            walk(left, |_, value| elements.push(value))?;
            Value::Array(elements)
        }
        5 => {
            let length = u32::from_le_bytes(take(left)?) as usize;
            let [subtype] = take(left)?;
            let (bytes, rest) = left.split_at_checked(length)?;
            *left = rest;
            json!({"$binary": {"bytes": bytes, "subType": subtype}})
        }
        7 => {
            let bytes: [u8; 12] = take(left)?;
            let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "$oid": text })
        }
        8 => json!(take::<1>(left)? != [0]),
        9 => json!({"$date": {"$numberLong": long(left)?.to_string()}}),
        10 => Value::Null,
        16 => json!(i32::from_le_bytes(take(left)?)),
        17 => {
            let increment = u32::from_le_bytes(take(left)?);
            json!({"$timestamp": {"t": u32::from_le_bytes(take(left)?), "i": increment}})
        }
        18 => json!({"$numberLong": long(left)?.to_string()}),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let value = json!({
            "a": 1, "b": 1.5, "c": "text", "d": [1, {"e": null}, true, 3, 4, 5, 6, 7, 8, 9, 10, 11],
            "f": {"$numberLong": "5000000000"}, "g": {"$date": {"$numberLong": "-1"}},
            "h": {"$oid": "0102030405060708090a0b0c"}, "i": {"$timestamp": {"t": 1, "i": 2}},
        });
        let bytes = Writer::document(&value.to_string()).unwrap();
        assert_eq!(object(&mut bytes.as_slice()), Some(value));
    }

    #[test]
    fn members_keep_their_order_and_bad_text_is_refused() {
        let bytes = Writer::document(r#"{"z":1,"a":"x\"}"}"#).unwrap();
        assert_eq!(bytes[4..7], *b"\x10z\0");
        for bad in ["", "5", "{", r#"{"a"}"#, r#"{"a":}"#, r#"{"a":1"#] {
            assert!(Writer::document(bad).is_err(), "{bad}");
        }
    }
}
