//! A fail point for retryable writes: statements fail before they are executed, or are executed and lose their answer.
//! It counts statements, and those that were executed before do not count.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};
use parking_lot::Mutex;

use crate::fail_points::{Failure, read_mode};
use crate::fields::whole;

/// The fail point, if it is set.
#[derive(Debug, Default)]
pub(crate) struct TransactionalWrites(Mutex<Option<Point>>);

#[derive(Clone, Debug)]
struct Point {
    /// How many statements pass before.
    skip: i64,
    /// How many fail; for ever, if nothing.
    times: Option<i64>,
    closes: bool,
    /// The code with which statements fail before they are executed; they are executed, if nothing.
    before: Option<i32>,
}

impl Point {
    /// Counts statements; says whether one of them fails.
    fn count(&mut self, statements: usize) -> bool {
        let mut fails = false;
        for _ in 0..statements {
            if self.skip > 0 {
                self.skip -= 1;
            } else if self.times.is_none_or(|times| times > 0) {
                fails = true;
                self.times = self.times.map(|times| times - 1);
            }
        }
        fails
    }
}

impl TransactionalWrites {
    /// Sets or ends it.
    pub(crate) fn configure(&self, mode: &Value, data: &Object) -> Result<(), Fault> {
        *self.0.lock() = if mode.as_str() == Some("off") {
            None
        } else {
            let (skip, times) = read_mode(mode)?;
            Some(Point {
                skip,
                times,
                closes: data.get("closeConnection").and_then(Value::as_bool) != Some(false),
                before: data
                    .get("failBeforeCommitExceptionCode")
                    .and_then(|code| i32::try_from(whole(code)).ok()),
            })
        };
        Ok(())
    }

    /// How a write of so many statements fails before it is executed.
    pub(crate) fn before(&self, statements: usize) -> Option<Failure> {
        let mut set = self.0.lock();
        let point = set.as_mut().filter(|point| point.before.is_some())?;
        // The first that fails ends the write, so those behind it are not counted.
        let fails = (0..statements).any(|_| point.count(1));
        fails.then(|| Failure {
            close: point.closes,
            code: point.before,
            ..Failure::default()
        })
    }

    /// Whether a write loses its answer that has just executed so many statements.
    pub(crate) fn after(&self, statements: usize) -> bool {
        let mut set = self.0.lock();
        let point = set.as_mut().filter(|point| point.before.is_none());
        point.is_some_and(|point| point.count(statements) && point.closes)
    }
}

/// How many statements a write has.
pub(crate) fn statements(body: &Object) -> usize {
    let lists = ["documents", "updates", "deletes"];
    let list = lists.iter().find_map(|name| body.get(name)?.as_array());
    list.map_or(1, <[Value]>::len)
}

/// How many of them had been executed before, as the reply says.
pub(crate) fn repeated(reply: &Object) -> usize {
    match reply.get("retriedStmtIds").and_then(Value::as_array) {
        Some(list) => list.len(),
        None => usize::from(reply.contains_key("retriedStmtId")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn mode(name: &str, number: i32) -> Value {
        let mut mode = Object::new();
        mode.push(name, number);
        Value::Object(mode)
    }

    #[test]
    fn statements_are_counted_one_by_one() {
        let point = TransactionalWrites::default();
        assert!(!point.after(1) && point.before(1).is_none());
        point.configure(&mode("times", 2), &Object::new()).unwrap();
        assert!(point.after(1));
        assert!(!point.after(0), "nothing was executed");
        assert!(point.after(5) && !point.after(1));
        point.configure(&mode("skip", 3), &Object::new()).unwrap();
        assert!(!point.after(3) && point.after(1) && point.after(1));
        let mut data = Object::new();
        data.push("failBeforeCommitExceptionCode", 1);
        point.configure(&mode("skip", 3), &data).unwrap();
        assert!(!point.after(3) && point.before(3).is_none());
        assert_eq!(point.before(1).unwrap().code, Some(1));
        point.configure(&mode("times", 2), &data).unwrap();
        assert!(point.before(5).is_some() && point.before(5).is_some());
        assert!(point.before(5).is_none(), "two writes have failed");
        point.configure(&Value::from("off"), &data).unwrap();
        assert!(point.before(1).is_none());
    }
}
