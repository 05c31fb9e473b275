//! What a collection's record says of its past: whether versions are kept, and which settings it has had.

use lapsedb_record::{Era, Eras, Millis, Secs, Setting};
use lapsedb_value::{Object, Value};

use crate::catalog::Collection;

/// How long versions are kept where the collection's policy does not say, in seconds: a week.
pub const VERSIONS_RETENTION_SECS: u64 = 7 * 86_400;
const MINUTE_SECS: u64 = 60;

/// What a collection remembers besides its definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Whether every change is kept as an event.
    pub kept: bool,
    /// Since when the TTL setting is in force, and those before it.
    pub eras: Eras,
    /// The commit and the second that clients know the definition by, if the record was written again without changing it.
    pub shown: Option<(u64, Secs)>,
    /// How long versions are kept, where the definition does not say.
    pub retention: Option<Secs>,
}

impl History {
    /// The history of a collection made with this definition: one with a policy for its change feed keeps versions from the
    /// start.
    #[must_use]
    pub fn of_new(document: &Object) -> History {
        History {
            kept: policy_retention(document).is_some(),
            ..History::default()
        }
    }

    pub(crate) fn into_value(self) -> Value {
        let former = self.eras.former.iter().map(|era| {
            let mut object = Object::new();
            object.push("sinceMs", number(era.since.0));
            object.push("ttl", setting_value(era.setting));
            Value::Object(object)
        });
        let mut object = Object::new();
        object.push("kept", Value::Bool(self.kept));
        object.push("sinceMs", number(self.eras.since.0));
        object.push("changes", number(self.eras.changes));
        object.push("begins", Value::Bool(self.eras.begins));
        object.push("former", Value::Array(former.collect()));
        if let Some((lsn, second)) = self.shown {
            object.push("shownLsn", number(lsn));
            object.push("shownSecond", number(second.0));
        }
        if let Some(retention) = self.retention {
            object.push("retention", number(retention.0));
        }
        Value::Object(object)
    }

    /// Reads what [`into_value`](Self::into_value) wrote; a record without it has no history.
    pub(crate) fn of_value(value: &Value) -> Option<History> {
        if value.is_undefined() {
            return Some(History::default());
        }
        let since = |value: &Value| match value.get("sinceMs") {
            // A record of an older version says seconds.
            Value::Undefined => Some(Secs(unsigned(value.get("since"))?).millis()),
            since => unsigned(since).map(Millis),
        };
        let former = value.get("former").as_array()?.iter().map(|era| {
            Some(Era {
                since: since(era)?,
                setting: setting_of(era.get("ttl"))?,
            })
        });
        let former = former.collect::<Option<Vec<_>>>()?;
        let changes = match value.get("changes") {
            Value::Undefined => former.len() as u64,
            changes => unsigned(changes)?,
        };
        let shown = match value.get("shownLsn") {
            Value::Undefined => None,
            lsn => Some((unsigned(lsn)?, Secs(unsigned(value.get("shownSecond"))?))),
        };
        Some(History {
            kept: value.get("kept").as_bool()?,
            eras: Eras {
                former,
                since: since(value)?,
                changes,
                begins: matches!(value.get("begins"), Value::Bool(true)),
            },
            shown,
            retention: unsigned(value.get("retention")).map(Secs),
        })
    }
}

impl Collection {
    /// How long its versions are kept.
    #[must_use]
    pub fn retention(&self) -> Secs {
        policy_retention(&self.document)
            .or(self.history.retention)
            .unwrap_or(Secs(VERSIONS_RETENTION_SECS))
    }
}

/// The retention that a definition's change feed policy asks for; none if it asks for none.
#[must_use]
pub fn policy_retention(document: &Object) -> Option<Secs> {
    let minutes = document.get("changeFeedPolicy")?.get("retentionDuration");
    let minutes = u64::try_from(minutes.as_i64()?).ok()?;
    (minutes > 0).then(|| Secs(minutes.saturating_mul(MINUTE_SECS)))
}

/// A TTL setting as catalog records say it.
pub(crate) fn setting_value(setting: Setting) -> Value {
    match setting {
        Setting::Off => Value::Null,
        Setting::On => Value::Int64(-1),
        Setting::OnWithDefault(life) => number(life.0),
    }
}

/// The reverse of [`setting_value`].
pub(crate) fn setting_of(value: &Value) -> Option<Setting> {
    match value {
        Value::Null => Some(Setting::Off),
        value => match value.as_i64()? {
            -1 => Some(Setting::On),
            life => Some(Setting::OnWithDefault(Secs(u64::try_from(life).ok()?))),
        },
    }
}

pub(crate) fn number(number: u64) -> Value {
    Value::Int64(i64::try_from(number).unwrap_or(i64::MAX))
}

pub(crate) fn unsigned(value: &Value) -> Option<u64> {
    u64::try_from(value.as_i64()?).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_read_as_it_was_written() {
        let settings = [Setting::Off, Setting::On, Setting::OnWithDefault(Secs(7))];
        let mut eras = Eras::default();
        for (at, setting) in settings.into_iter().enumerate() {
            eras = eras.changed(setting, Millis(at as u64 + 5));
        }
        for shown in [None, Some((77, Secs(12)))] {
            let history = History {
                kept: shown.is_some(),
                eras: eras.clone(),
                shown,
                retention: shown.map(|(_, second)| second),
            };
            let read = History::of_value(&history.clone().into_value());
            assert_eq!(read, Some(history));
        }
        assert_eq!(
            History::of_value(&Value::Undefined),
            Some(History::default())
        );
        assert_eq!(History::of_value(&Value::Null), None);
    }

    #[test]
    fn only_a_positive_retention_is_one() {
        for (minutes, retention) in [(10, Some(Secs(600))), (0, None), (-1, None)] {
            let mut policy = Object::new();
            policy.push("retentionDuration", Value::Int32(minutes));
            let mut document = Object::new();
            document.push("changeFeedPolicy", Value::Object(policy));
            assert_eq!(policy_retention(&document), retention);
            assert_eq!(History::of_new(&document).kept, retention.is_some());
        }
    }
}
