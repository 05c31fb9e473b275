//! Time zones: UTC, a fixed offset, or a name of the Olson database.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::{Civil, DAY, MINUTE, SECOND};
use crate::{MqlError, Result};

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Where a clock hangs.
#[derive(Clone, Debug)]
pub(crate) enum Zone {
    Utc,
    /// Milliseconds east of UTC.
    Fixed(i64),
    Named(TimeZone),
}

impl Zone {
    /// Reads `Europe/Berlin`, `+05:30`, `+0530` or `+05`. Names are exact, case included.
    pub(crate) fn parse(name: &str) -> Result<Zone> {
        if let Some(offset) = parse_offset(name) {
            return Ok(Zone::Fixed(offset));
        }
        if matches!(name, "UTC" | "GMT" | "Z") {
            return Ok(Zone::Utc);
        }
        let found = DATABASE.get(name).ok();
        found
            .filter(|zone| zone.iana_name() == Some(name))
            .map(Zone::Named)
            .ok_or_else(|| {
                let message = format!("unrecognized time zone identifier: \"{name}\"");
                MqlError::new(40485, message)
            })
    }

    /// Milliseconds east of UTC at an instant.
    pub(crate) fn offset_at(&self, millis: i64) -> i64 {
        match self {
            Zone::Utc => 0,
            Zone::Fixed(offset) => *offset,
            Zone::Named(zone) => {
                // Before the years that the database knows, its first rule goes on.
                let near = (millis - eras_beyond(millis)).max(Timestamp::MIN.as_millisecond());
                let near = Timestamp::from_millisecond(near).unwrap_or(Timestamp::UNIX_EPOCH);
                i64::from(zone.to_offset(near).seconds()) * SECOND
            }
        }
    }

    /// What a clock in this zone shows at an instant.
    pub(crate) fn local(&self, millis: i64) -> Civil {
        Civil::from_millis(millis.saturating_add(self.offset_at(millis)))
    }

    /// The instant at which a clock shows `local` milliseconds since its own 1970. What it shows twice is the first time;
    /// what it skips is as late as it would have been without the change. None, if no date can say it.
    pub(crate) fn instant_of(&self, local: i64) -> Option<i64> {
        match self {
            Zone::Utc => Some(local),
            Zone::Fixed(offset) => local.checked_sub(*offset),
            Zone::Named(zone) => {
                let eras = eras_beyond(local);
                let near = civil_time(local - eras)
                    .and_then(|time| zone.to_ambiguous_timestamp(time).compatible().ok());
                match near {
                    Some(stamp) => stamp.as_millisecond().checked_add(eras),
                    None => local.checked_sub(self.offset_at(local)),
                }
            }
        }
    }
}

/// What lies beyond the year 2400 of a time, in whole eras of 400 years: the calendar, its weeks and the rules of every zone
/// are the same again after each of them.
fn eras_beyond(millis: i64) -> i64 {
    const ERA: i64 = 146_097 * DAY;
    const YEAR_2400: i64 = 157_054 * DAY;
    let beyond = millis.saturating_sub(YEAR_2400).max(0);
    beyond - beyond % ERA
}

fn civil_time(local: i64) -> Option<DateTime> {
    let time = Civil::from_millis(local);
    DateTime::new(
        i16::try_from(time.year).ok()?,
        time.month as i8,
        time.day as i8,
        time.hour as i8,
        time.minute as i8,
        time.second as i8,
        time.millisecond * 1_000_000,
    )
    .ok()
}

/// Milliseconds of `+hh`, `+hhmm` or `+hh:mm`.
pub(super) fn parse_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes() {
        [b'+', ..] => (1, text.get(1..)?),
        [b'-', ..] => (-1, text.get(1..)?),
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        2 => (digits, "0"),
        4 => (digits.get(..2)?, digits.get(2..)?),
        5 if digits.as_bytes().get(2) == Some(&b':') => (digits.get(..2)?, digits.get(3..)?),
        _ => return None,
    };
    let number = |text: &str| {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse::<i64>().ok()).flatten()
    };
    let minutes = number(hours)? * 60 + number(minutes)?;
    Some(sign * (minutes * MINUTE) % (100 * DAY))
}
