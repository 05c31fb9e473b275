//! Retryable writes: each statement of a session is executed once, however often it is sent.

use lapsedb_store::catalog::MetaRecord;
use lapsedb_store::{Note, View};
use lapsedb_value::order::identical_bson;
use lapsedb_value::{Object, Value};

use crate::documents::fault::Result;
use crate::sessions::begin::too_old;
use crate::sessions::{Asked, SessionId};

/// Says that a statement's result stands in a record of its own.
const PART: &str = "p";
/// Results that do: the `_id` of a document that was made, and the document that was shown.
const OWN_RECORD: [&str; 2] = ["u", "v"];

/// A retryable write under way.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    session: SessionId,
    number: i64,
    first: i32,
    statements: Option<Vec<i32>>,
    /// The note as the newest view has it.
    note: Option<MetaRecord>,
}

impl Retry {
    pub(crate) fn new(session: SessionId, number: i64, asked: &Asked) -> Retry {
        Retry {
            session,
            number,
            first: asked.first_statement,
            statements: asked.statements.clone(),
            note: None,
        }
    }

    /// The number of a statement of the command.
    pub(crate) fn statement(&self, index: usize) -> i32 {
        let counted = || {
            self.first
                .saturating_add(i32::try_from(index).unwrap_or(i32::MAX))
        };
        let named = self
            .statements
            .as_ref()
            .and_then(|all| all.get(index).copied());
        named.unwrap_or_else(counted)
    }

    /// The same with what the session has done, as a view has it.
    pub(crate) async fn loaded(&self, view: &View) -> Result<Retry> {
        let mut loaded = self.clone();
        loaded.note = view.note(&self.session.bytes()).await?;
        let newest = loaded
            .note
            .as_ref()
            .and_then(|note| note.body.get("number")?.as_i64());
        match newest {
            Some(newest) if newest > self.number => Err(too_old(self.number, newest)),
            Some(_) | None => Ok(loaded),
        }
    }

    /// Whether a statement has been executed.
    pub(crate) fn is_executed(&self, statement: i32) -> bool {
        self.entry(statement).is_some()
    }

    /// What a statement has done, if it has been executed.
    pub(crate) async fn executed(&self, view: &View, statement: i32) -> Result<Option<Object>> {
        let Some(entry) = self.entry(statement) else {
            return Ok(None);
        };
        if !entry.contains_key(PART) {
            return Ok(Some(entry.clone()));
        }
        let part = Note::part(&self.session.bytes(), statement);
        let part = view.note(&part).await?.map(|part| part.body);
        Ok(Some(part.unwrap_or_default()))
    }

    fn entry(&self, statement: i32) -> Option<&Object> {
        self.done()?
            .iter()
            .filter_map(Value::as_object)
            .find(|done| {
                let number = |name: &str| done.get(name).and_then(Value::as_i64);
                let from = number("s").unwrap_or(i64::MAX);
                (from..=number("e").unwrap_or(from)).contains(&i64::from(statement))
            })
    }

    fn done(&self) -> Option<&[Value]> {
        let note = self.note.as_ref()?;
        let own = note.body.get("number")?.as_i64() == Some(self.number);
        own.then(|| note.body.get("done")).flatten()?.as_array()
    }

    /// The note after further statements.
    pub(crate) fn note(&self, executed: &[(i32, Object)]) -> Note {
        let mut done = self.done().map(<[Value]>::to_vec).unwrap_or_default();
        let mut parts = Vec::new();
        for (statement, result) in executed {
            if OWN_RECORD.iter().any(|name| result.contains_key(name)) {
                let mut part = Object::with_capacity(1);
                part.push(PART, true);
                push(&mut done, *statement, &part);
                parts.push((*statement, result.clone()));
            } else {
                push(&mut done, *statement, result);
            }
        }
        let mut body = Object::with_capacity(2);
        body.push("number", Value::Int64(self.number));
        body.push("done", Value::Array(done));
        Note {
            session: self.session.bytes(),
            body,
            parts,
            was: self.note.as_ref().map(|note| note.lsn),
        }
    }
}

/// Adds a statement; one with the same result as the one before it prolongs that.
fn push(done: &mut Vec<Value>, statement: i32, result: &Object) {
    if let Some(Value::Object(last)) = done.last_mut() {
        let from = last.get("s").and_then(Value::as_i64);
        let to = last.get("e").and_then(Value::as_i64).or(from);
        let mut own = last.clone();
        own.remove("s");
        own.remove("e");
        let same = identical_bson(&Value::Object(own), &Value::Object(result.clone()));
        if same && to == Some(i64::from(statement) - 1) {
            last.insert("e", statement);
            return;
        }
    }
    let mut one = Object::with_capacity(2 + result.len());
    one.push("s", statement);
    for (name, value) in result.iter() {
        one.push(name.clone(), value.clone());
    }
    done.push(Value::Object(one));
}

/// What is noted when a transaction commits.
pub(crate) fn commit_note(number: i64) -> Object {
    let mut body = Object::with_capacity(2);
    body.push("number", Value::Int64(number));
    body.push("committed", true);
    body
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn statements_are_remembered_with_what_they_did() {
        let session = SessionId {
            id: vec![1],
            user: [0; 32],
        };
        let mut retry = Retry::new(session, 7, &Asked::default());
        let mut result = Object::new();
        result.push("n", 0);
        let mut changed = Object::new();
        changed.push("n", 1);
        let done: Vec<_> = (0..100)
            .map(|statement| (statement, Object::new()))
            .chain((100..150).map(|statement| (statement, changed.clone())))
            .chain([(200, result)])
            .collect();
        let note = retry.note(&done);
        assert_eq!(note.body.get("done").unwrap().as_array().unwrap().len(), 3);
        assert!(note.parts.is_empty());
        let mut made = Object::new();
        made.push("u", 5);
        let parts = retry.note(&[(0, made.clone()), (1, made)]);
        assert_eq!(parts.parts.len(), 2);
        assert_eq!(parts.body.get("done").unwrap().as_array().unwrap().len(), 1);
        retry.note = Some(MetaRecord {
            lsn: 1,
            written: lapsedb_record::Secs(0),
            at: lapsedb_record::Millis(0),
            body: note.body,
        });
        assert!(retry.is_executed(0) && retry.is_executed(149));
        assert!(!retry.is_executed(150));
        assert_eq!(
            retry.entry(200).unwrap().get("n").unwrap().as_i64(),
            Some(0)
        );
        retry.number = 8;
        assert!(!retry.is_executed(0));
    }
}
