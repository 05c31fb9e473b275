//! Retryable writes: each statement of a session is executed once, however often it is sent.

use lapsedb_store::catalog::MetaRecord;
use lapsedb_store::{Note, View};
use lapsedb_value::{Object, Value};

use crate::documents::fault::Result;
use crate::sessions::begin::too_old;
use crate::sessions::{Asked, SessionId};

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
        loaded.note = view.note(&self.session).await?;
        let newest = loaded
            .note
            .as_ref()
            .and_then(|note| note.body.get("number")?.as_i64());
        match newest {
            Some(newest) if newest > self.number => Err(too_old(self.number, newest)),
            Some(_) | None => Ok(loaded),
        }
    }

    /// What a statement has done, if it has been executed.
    pub(crate) fn executed(&self, statement: i32) -> Option<&Object> {
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
        for (statement, result) in executed {
            push(&mut done, *statement, result);
        }
        let mut body = Object::with_capacity(2);
        body.push("number", Value::Int64(self.number));
        body.push("done", Value::Array(done));
        Note {
            session: self.session.clone(),
            body,
            was: self.note.as_ref().map(|note| note.lsn),
        }
    }
}

/// Adds a statement; one whose result says nothing prolongs the one before it.
fn push(done: &mut Vec<Value>, statement: i32, result: &Object) {
    if result.is_empty()
        && let Some(Value::Object(last)) = done.last_mut()
        && last.keys().all(|name| name == "s" || name == "e")
    {
        let from = last.get("s").and_then(Value::as_i64);
        let to = last.get("e").and_then(Value::as_i64).or(from);
        if to == Some(i64::from(statement) - 1) {
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
        let mut retry = Retry::new(vec![1], 7, &Asked::default());
        let mut result = Object::new();
        result.push("n", 0);
        let done: Vec<_> = (0..100)
            .map(|statement| (statement, Object::new()))
            .chain([(200, result)])
            .collect();
        let note = retry.note(&done);
        assert_eq!(note.body.get("done").unwrap().as_array().unwrap().len(), 2);
        retry.note = Some(MetaRecord {
            lsn: 1,
            written: lapsedb_record::Secs(0),
            at: lapsedb_record::Millis(0),
            body: note.body,
        });
        assert!(retry.executed(0).is_some() && retry.executed(99).is_some());
        assert!(retry.executed(100).is_none());
        assert_eq!(
            retry.executed(200).unwrap().get("n").unwrap().as_i64(),
            Some(0)
        );
        retry.number = 8;
        assert!(retry.executed(0).is_none());
    }
}
