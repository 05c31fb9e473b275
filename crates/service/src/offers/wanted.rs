//! What throughput a request asks for.

use lapsedb_value::{Object, Value, json};

use crate::error::{Error, Result};
use crate::limits::{AUTOSCALE_MIN, THROUGHPUT_MAX, THROUGHPUT_MIN, THROUGHPUT_STEP};

/// An autoscale offer has this part of its maximum when nothing is asked of it.
const AUTOSCALE_IDLE_PART: u64 = 10;
const SETTINGS_LIMITS: json::Limits = json::Limits {
    depth_max: 8,
    duplicates_refused: &["maxThroughput"],
};

/// Throughput as it may be provisioned, in request units a second.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// Always so many.
    Manual(u64),
    /// Up to so many.
    Autoscale {
        /// The most.
        max: u64,
        /// The policy of growth that the client sent, which is kept and has no effect.
        upgrade: Option<Value>,
    },
}

/// A change from one kind of throughput to the other, where the server chooses how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migration {
    /// From manual to autoscale.
    ToAutoscale,
    /// From autoscale to manual.
    ToManual,
}

impl Wanted {
    /// What the headers of a create request ask for: at most one of the two.
    ///
    /// # Errors
    /// When both are there, or one has a value that is not allowed.
    pub fn of_request(manual: Option<&str>, autoscale: Option<&str>) -> Result<Option<Wanted>> {
        match (manual, autoscale) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(Error::bad_request(
                "Manual throughput and autoscale settings cannot be given together.",
            )),
            (Some(text), None) => {
                let number = text.trim().parse().ok().ok_or_else(|| bad_manual(text))?;
                manual_of(number).map(Some)
            }
            (None, Some(text)) => {
                let settings = json::parse(text.as_bytes(), &SETTINGS_LIMITS)
                    .map_err(|_| bad_autoscale(text))?;
                autoscale_of(&settings).map(Some)
            }
        }
    }

    /// What the `content` of a replaced offer asks for.
    ///
    /// # Errors
    /// When it has a value that is not allowed.
    pub fn of_content(content: &Value) -> Result<Wanted> {
        match content.get("offerAutopilotSettings") {
            Value::Undefined | Value::Null => {
                let given = content.get("offerThroughput");
                let number = given.as_i64().and_then(|number| u64::try_from(number).ok());
                manual_of(number.ok_or_else(|| bad_manual(&given.to_string()))?)
            }
            settings => autoscale_of(settings),
        }
    }

    /// The content of an offer, which remembers the most that was ever provisioned before.
    #[must_use]
    pub fn content(&self, before: Option<&Object>) -> Object {
        let (most, now) = match self {
            Wanted::Manual(rate) => (*rate, *rate),
            Wanted::Autoscale { max, .. } => (*max, *max / AUTOSCALE_IDLE_PART),
        };
        let ever = before.map_or(0, ever_provisioned).max(most);
        let mut minimum = Object::new();
        minimum.push("maxThroughputEverProvisioned", number(ever));
        minimum.push("maxConsumedStorageEverInKB", Value::from(0));
        let mut content = Object::new();
        content.push("offerThroughput", number(now));
        content.push("offerIsRUPerMinuteThroughputEnabled", Value::from(false));
        content.push("offerMinimumThroughputParameters", Value::Object(minimum));
        if let Wanted::Autoscale { max, upgrade } = self {
            let mut settings = Object::new();
            settings.push("maxThroughput", number(*max));
            if let Some(upgrade) = upgrade {
                settings.push("autoUpgradePolicy", upgrade.clone());
            }
            content.push("offerAutopilotSettings", Value::Object(settings));
        }
        content
    }

    /// As much in the other kind; what is of that kind already stays as it is.
    #[must_use]
    pub fn migrated(self, migration: Migration) -> Wanted {
        match (migration, self) {
            (Migration::ToAutoscale, Wanted::Manual(rate)) => Wanted::Autoscale {
                max: rate.next_multiple_of(AUTOSCALE_MIN),
                upgrade: None,
            },
            (Migration::ToManual, Wanted::Autoscale { max, .. }) => Wanted::Manual(max),
            (Migration::ToAutoscale | Migration::ToManual, same) => same,
        }
    }

    /// The least that an offer of this kind may have.
    #[must_use]
    pub const fn least(&self) -> u64 {
        match self {
            Wanted::Manual(_) => THROUGHPUT_MIN,
            Wanted::Autoscale { .. } => AUTOSCALE_MIN,
        }
    }

    /// Request units a second that may be spent at most.
    #[must_use]
    pub const fn rate(&self) -> u64 {
        match self {
            Wanted::Manual(rate) => *rate,
            Wanted::Autoscale { max, .. } => *max,
        }
    }
}

fn manual_of(rate: u64) -> Result<Wanted> {
    if (THROUGHPUT_MIN..=THROUGHPUT_MAX).contains(&rate) && rate.is_multiple_of(THROUGHPUT_STEP) {
        Ok(Wanted::Manual(rate))
    } else {
        Err(bad_manual(&rate.to_string()))
    }
}

fn autoscale_of(settings: &Value) -> Result<Wanted> {
    let given = settings.get("maxThroughput");
    let max = given.as_i64().and_then(|number| u64::try_from(number).ok());
    let allowed = |max: &u64| {
        (AUTOSCALE_MIN..=THROUGHPUT_MAX).contains(max) && max.is_multiple_of(AUTOSCALE_MIN)
    };
    let max = max
        .filter(allowed)
        .ok_or_else(|| bad_autoscale(&given.to_string()))?;
    let upgrade = settings.get("autoUpgradePolicy");
    let upgrade = upgrade.as_object().map(|_| upgrade.clone());
    Ok(Wanted::Autoscale { max, upgrade })
}

fn ever_provisioned(content: &Object) -> u64 {
    let parameters = content.get("offerMinimumThroughputParameters");
    let ever = parameters.map_or(&Value::Undefined, |value| {
        value.get("maxThroughputEverProvisioned")
    });
    ever.as_i64()
        .and_then(|ever| u64::try_from(ever).ok())
        .unwrap_or(0)
}

fn number(number: u64) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

fn bad_manual(given: &str) -> Error {
    Error::bad_request(format!(
        "The offer should have valid throughput values between {THROUGHPUT_MIN} and {THROUGHPUT_MAX} inclusive in increments of {THROUGHPUT_STEP}; '{given}' is not one."
    ))
}

fn bad_autoscale(given: &str) -> Error {
    if let Ok(number) = given.parse::<i64>()
        && number < i64::try_from(AUTOSCALE_MIN).unwrap_or(i64::MAX)
    {
        return Error::bad_request(format!(
            "Requested throughput {number} is less than required minimum throughput {AUTOSCALE_MIN}."
        ));
    }
    Error::bad_request(format!(
        "The autoscale settings should have a valid maxThroughput between {AUTOSCALE_MIN} and {THROUGHPUT_MAX} inclusive in increments of {AUTOSCALE_MIN}; '{given}' is not one."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn parsed(text: &str) -> Value {
        json::parse(text.as_bytes(), &SETTINGS_LIMITS).unwrap()
    }

    fn refused(result: Result<Option<Wanted>>) -> bool {
        matches!(result, Err(error) if error.kind == Kind::BadRequest)
    }

    #[test]
    fn no_header_means_no_offer() {
        assert!(Wanted::of_request(None, None).unwrap().is_none());
    }

    #[test]
    fn manual_throughput_goes_in_hundreds_from_400() {
        for good in [400, 500, 10_000, 1_000_000] {
            let wanted = Wanted::of_request(Some(&good.to_string()), None)
                .unwrap()
                .unwrap();
            assert_eq!(wanted.rate(), good);
        }
        for bad in [
            "", "0", "-400", "100", "399", "401", "450", "1000100", "4e2", "400.0", "x",
        ] {
            assert!(refused(Wanted::of_request(Some(bad), None)), "{bad}");
        }
    }

    #[test]
    fn autoscale_goes_in_thousands_from_1000() {
        for good in [1000, 4000, 1_000_000] {
            let text = format!("{{\"maxThroughput\":{good}}}");
            let wanted = Wanted::of_request(None, Some(&text)).unwrap().unwrap();
            assert_eq!((wanted.rate(), wanted.least()), (good, 1000));
        }
        for bad in [
            "",
            "4000",
            "{}",
            "{\"maxThroughput\":\"4000\"}",
            "{\"maxThroughput\":400}",
            "{\"maxThroughput\":1500}",
            "{\"maxThroughput\":-1000}",
            "{\"maxThroughput\":1001000}",
            "{\"maxThroughput\":null}",
        ] {
            assert!(refused(Wanted::of_request(None, Some(bad))), "{bad}");
        }
        assert!(refused(Wanted::of_request(
            Some("400"),
            Some("{\"maxThroughput\":4000}")
        )));
    }

    #[test]
    fn content_reads_back_as_it_was_wanted() {
        for wanted in [
            Wanted::Manual(700),
            Wanted::Autoscale {
                max: 4000,
                upgrade: None,
            },
        ] {
            let content = wanted.content(None);
            let again = Wanted::of_content(&Value::Object(content)).unwrap();
            assert_eq!(
                (again.rate(), again.least()),
                (wanted.rate(), wanted.least())
            );
        }
    }

    #[test]
    fn a_migrated_offer_has_as_much_in_the_other_kind() {
        let autoscale = |max| Wanted::Autoscale { max, upgrade: None };
        for (before, migration, rate, least) in [
            (Wanted::Manual(400), Migration::ToAutoscale, 1000, 1000),
            (Wanted::Manual(1000), Migration::ToAutoscale, 1000, 1000),
            (Wanted::Manual(1100), Migration::ToAutoscale, 2000, 1000),
            (autoscale(4000), Migration::ToAutoscale, 4000, 1000),
            (autoscale(4000), Migration::ToManual, 4000, 400),
            (Wanted::Manual(500), Migration::ToManual, 500, 400),
        ] {
            let after = before.clone().migrated(migration);
            assert_eq!((after.rate(), after.least()), (rate, least), "{before:?}");
        }
    }

    #[test]
    fn the_most_ever_provisioned_never_shrinks() {
        let first = Wanted::Manual(5000).content(None);
        let second = Wanted::Manual(400).content(Some(&first));
        let ever = |content: &Object| ever_provisioned(content);
        assert_eq!((ever(&first), ever(&second)), (5000, 5000));
        let third = Wanted::Manual(9000).content(Some(&second));
        assert_eq!(ever(&third), 9000);
    }

    #[test]
    fn a_replacement_is_checked_like_a_header() {
        for bad in [
            "{}",
            "{\"offerThroughput\":450}",
            "{\"offerThroughput\":\"400\"}",
            "{\"offerThroughput\":300}",
            "{\"offerThroughput\":400,\"offerAutopilotSettings\":{\"maxThroughput\":1}}",
            "{\"offerThroughput\":400,\"offerAutopilotSettings\":4}",
        ] {
            assert!(Wanted::of_content(&parsed(bad)).is_err(), "{bad}");
        }
        // An autoscale offer carries the present throughput beside its maximum; the maximum decides.
        let both =
            parsed("{\"offerThroughput\":123,\"offerAutopilotSettings\":{\"maxThroughput\":2000}}");
        assert_eq!(Wanted::of_content(&both).unwrap().rate(), 2000);
        let manual = parsed("{\"offerThroughput\":500,\"offerAutopilotSettings\":null}");
        assert_eq!(Wanted::of_content(&manual).unwrap().rate(), 500);
    }
}
