//! Fail points: commands that fail on purpose, for the tests of drivers. Only where the server was started for that.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};
use parking_lot::Mutex;

use crate::codes;
use crate::fields::whole;
use crate::labels::{self, Role};
use crate::transactional_writes::TransactionalWrites;

/// The longest a command is held up, in milliseconds.
const BLOCK_MS_MAX: u64 = 60_000;

/// The fail points there are: commands fail, or run out of time.
#[derive(Debug, Default)]
pub(crate) struct FailPoints {
    set: Mutex<Option<FailCommand>>,
    /// Retryable writes fail.
    pub(crate) writes: TransactionalWrites,
    /// Commands with a time limit run out of it.
    times_out: AtomicBool,
}

#[derive(Clone, Debug)]
struct FailCommand {
    /// How many commands pass before.
    skip: i64,
    /// How many fail; for ever, if nothing.
    times: Option<i64>,
    commands: Vec<String>,
    app_name: Option<String>,
    failure: Failure,
}

/// How a command fails.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure {
    /// The connection is closed instead of an answer.
    pub(crate) close: bool,
    /// It fails once its cursor is found.
    pub(crate) of_cursor: bool,
    /// It waits first.
    pub(crate) block: Option<Duration>,
    /// It is refused with this code, and these labels if any are given.
    pub(crate) code: Option<i32>,
    pub(crate) labels: Option<Vec<Value>>,
    /// It panics once it is under way.
    pub(crate) panic: bool,
    /// It is executed, and says this of its write concern.
    pub(crate) write_concern: Option<Object>,
}

impl Failure {
    /// What is said of the write concern, as it was given, and the labels of the reply: those given, or the ones it would have.
    pub(crate) fn of_concern(self, role: Role) -> Option<(Object, Vec<Value>)> {
        let concern = self.write_concern?;
        let labels = self.labels;
        let labels = labels.unwrap_or_else(|| labels::of_concern(&concern, role));
        Some((concern, labels))
    }
}

impl FailPoints {
    /// Sets or ends the fail point.
    pub(crate) fn configure(&self, name: &str, mode: &Value, data: &Object) -> Result<(), Fault> {
        if name == "maxTimeAlwaysTimeOut" {
            self.times_out
                .store(mode.as_str() != Some("off"), Ordering::Relaxed);
            return Ok(());
        }
        if name == "onPrimaryTransactionalWrite" {
            return self.writes.configure(mode, data);
        }
        if mode.as_str() == Some("off") {
            *self.set.lock() = None;
            return Ok(());
        }
        let of_cursor = name == "failGetMoreAfterCursorCheckout";
        if name != "failCommand" && !of_cursor {
            return Err(Fault::new(
                codes::BAD_VALUE,
                format!("there is no fail point named {name}"),
            ));
        }
        let (skip, times) = read_mode(mode)?;
        let texts = |name: &str| -> Vec<String> {
            let list = data.get(name).and_then(Value::as_array).unwrap_or_default();
            list.iter()
                .filter_map(|one| one.as_str().map(str::to_owned))
                .collect()
        };
        *self.set.lock() = Some(FailCommand {
            skip,
            times,
            commands: match of_cursor {
                true => vec!["getMore".to_owned()],
                false => texts("failCommands"),
            },
            app_name: data
                .get("appName")
                .and_then(Value::as_str)
                .map(str::to_owned),
            failure: Failure {
                of_cursor,
                ..failure(data)
            },
        });
        Ok(())
    }

    /// Whether commands with a time limit run out of it.
    pub(crate) fn times_out(&self) -> bool {
        self.times_out.load(Ordering::Relaxed)
    }

    /// How a command fails now; the fail point counts it.
    pub(crate) fn hit(&self, command: &str, app_name: Option<&str>) -> Option<Failure> {
        let mut set = self.set.lock();
        let point = set.as_mut()?;
        let meant = point.commands.iter().any(|name| name == command)
            && point
                .app_name
                .as_deref()
                .is_none_or(|name| app_name == Some(name));
        if !meant {
            return None;
        }
        if point.skip > 0 {
            point.skip -= 1;
            return None;
        }
        let failure = point.failure.clone();
        if let Some(times) = &mut point.times {
            *times -= 1;
            if *times < 0 {
                *set = None;
                return None;
            }
        }
        Some(failure)
    }
}

/// How many pass, and then how many fail; all, if nothing.
pub(crate) fn read_mode(mode: &Value) -> Result<(i64, Option<i64>), Fault> {
    match mode {
        Value::String(mode) if mode == "alwaysOn" => Ok((0, None)),
        Value::Object(mode) => Ok((
            mode.get("skip").map_or(0, whole),
            mode.get("times").map(whole),
        )),
        _ => Err(Fault::new(
            codes::BAD_VALUE,
            "the mode of a fail point is off, alwaysOn, times or skip",
        )),
    }
}

fn failure(data: &Object) -> Failure {
    let truth = |name: &str| data.get(name).and_then(Value::as_bool) == Some(true);
    let labels = data
        .get("errorLabels")
        .and_then(Value::as_array)
        .map(<[Value]>::to_vec);
    let block = truth("blockConnection").then(|| {
        data.get("blockTimeMS")
            .map_or(0, whole)
            .unsigned_abs()
            .min(BLOCK_MS_MAX)
    });
    Failure {
        of_cursor: false,
        close: truth("closeConnection"),
        panic: truth("panic"),
        block: block.map(Duration::from_millis),
        code: data
            .get("errorCode")
            .and_then(|code| i32::try_from(whole(code)).ok()),
        labels,
        write_concern: data
            .get("writeConcernError")
            .and_then(Value::as_object)
            .cloned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_fail_point_counts_what_it_fails() {
        let points = FailPoints::default();
        let mut data = Object::new();
        data.push("failCommands", Value::Array(vec![Value::from("find")]));
        data.push("errorCode", 91);
        let mut mode = Object::new();
        mode.push("times", 2);
        points
            .configure("failCommand", &Value::Object(mode), &data)
            .unwrap();
        assert!(points.hit("insert", None).is_none());
        assert_eq!(points.hit("find", None).unwrap().code, Some(91));
        assert!(points.hit("find", None).is_some());
        assert!(points.hit("find", None).is_none());
        points
            .configure("failCommand", &Value::from("alwaysOn"), &data)
            .unwrap();
        assert!(points.hit("find", None).is_some());
        points
            .configure("failCommand", &Value::from("off"), &Object::new())
            .unwrap();
        assert!(points.hit("find", None).is_none());
        assert!(
            points
                .configure("other", &Value::from("alwaysOn"), &data)
                .is_err()
        );
    }
}
