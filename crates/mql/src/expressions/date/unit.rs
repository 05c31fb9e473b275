//! Units of time, and counting in them.

use super::civil::{days_of, millis_of, month_days};
use super::{Civil, DAY, HOUR, MINUTE, SECOND, Zone};

/// A unit that dates are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

/// How a unit is counted.
pub(super) enum Kind {
    /// So many months of a calendar.
    Months(i64),
    /// So many days of a calendar.
    Days(i64),
    /// So many milliseconds, wherever clocks hang.
    Millis(i64),
}

impl Unit {
    /// Reads the name of a unit.
    pub(crate) fn parse(name: &str) -> Option<Unit> {
        Some(match name {
            "year" => Unit::Year,
            "quarter" => Unit::Quarter,
            "month" => Unit::Month,
            "week" => Unit::Week,
            "day" => Unit::Day,
            "hour" => Unit::Hour,
            "minute" => Unit::Minute,
            "second" => Unit::Second,
            "millisecond" => Unit::Millisecond,
            _ => return None,
        })
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Unit::Year => Kind::Months(12),
            Unit::Quarter => Kind::Months(3),
            Unit::Month => Kind::Months(1),
            Unit::Week => Kind::Days(7),
            Unit::Day => Kind::Days(1),
            Unit::Hour => Kind::Millis(HOUR),
            Unit::Minute => Kind::Millis(MINUTE),
            Unit::Second => Kind::Millis(SECOND),
            Unit::Millisecond => Kind::Millis(1),
        }
    }

    /// Milliseconds of the unit, if it always has as many.
    pub(crate) fn fixed_millis(self) -> Option<i64> {
        match self.kind() {
            Kind::Months(_) => None,
            Kind::Days(days) => Some(days * DAY),
            Kind::Millis(millis) => Some(millis),
        }
    }
}

/// The largest span that dates are moved by: the range of years that a date can name.
const MONTHS_MAX: i64 = 12 * 300_000_000;

/// A date so many units later. A day that the month does not have becomes its last one.
pub(crate) fn add(millis: i64, unit: Unit, amount: i64, zone: &Zone) -> Option<i64> {
    match unit.kind() {
        Kind::Millis(length) => millis.checked_add(amount.checked_mul(length)?),
        Kind::Days(days) => {
            let local = millis.checked_add(zone.offset_at(millis))?;
            let moved = amount.checked_mul(days * DAY)?;
            zone.instant_of(local.checked_add(moved)?)
        }
        Kind::Months(months) => {
            let moved = amount.checked_mul(months)?;
            if !(-MONTHS_MAX..=MONTHS_MAX).contains(&moved) {
                return None;
            }
            let local = zone.local(millis);
            let month = i64::from(local.month) + moved;
            let year = i64::from(local.year) + (month - 1).div_euclid(12);
            let month = (month - 1).rem_euclid(12) + 1;
            let day = i64::from(local.day).min(month_days(year, month));
            let days = days_of(year, month, day);
            zone.instant_of(millis_of(days, local.millis_of_day())?)
        }
    }
}

/// How many borders of the unit lie between two dates; None, if they are too many to count. Weeks begin on a weekday, 0 on
/// Sunday.
pub(super) fn difference(
    start: i64,
    end: i64,
    unit: Unit,
    zone: &Zone,
    first_weekday: i64,
) -> Option<i64> {
    let (a, b) = (zone.local(start), zone.local(end));
    let months = |time: Civil| i64::from(time.year) * 12 + i64::from(time.month) - 1;
    match unit.kind() {
        Kind::Months(length) => Some(months(b).div_euclid(length) - months(a).div_euclid(length)),
        Kind::Days(1) => Some(b.days() - a.days()),
        Kind::Days(length) => {
            // Day 4 before 1970 was a Sunday.
            let week = |time: Civil| (time.days() + 4 - first_weekday).div_euclid(length);
            Some(week(b) - week(a))
        }
        Kind::Millis(length) => {
            let offset = zone.offset_at(start);
            let end = end.checked_add(offset)?.div_euclid(length);
            end.checked_sub(start.checked_add(offset)?.div_euclid(length))
        }
    }
}

/// Where bins are counted from: the first day of 2000.
const REFERENCE_YEAR: i64 = 2000;

/// The start of the bin of `size` units that holds the date.
pub(super) fn truncate(
    millis: i64,
    unit: Unit,
    size: i64,
    zone: &Zone,
    first_weekday: i64,
) -> Option<i64> {
    let reference = days_of(REFERENCE_YEAR, 1, 1);
    let floor = |n: i64, size: i64| n.div_euclid(size).checked_mul(size);
    match unit.kind() {
        Kind::Millis(length) => {
            let origin = zone.instant_of(reference * DAY)?;
            let bin = length.checked_mul(size)?;
            origin.checked_add(floor(millis.checked_sub(origin)?, bin)?)
        }
        Kind::Days(length) => {
            let origin = match length {
                1 => reference,
                _ => reference + (first_weekday - reference - 4).rem_euclid(7),
            };
            let days = zone.local(millis).days() - origin;
            let start = origin.checked_add(floor(days, length.checked_mul(size)?)?)?;
            zone.instant_of(start.checked_mul(DAY)?)
        }
        Kind::Months(length) => {
            let local = zone.local(millis);
            let months = (i64::from(local.year) - REFERENCE_YEAR) * 12 + i64::from(local.month) - 1;
            let start = floor(months, length.checked_mul(size)?)?;
            let days = days_of(REFERENCE_YEAR, 1 + start, 1);
            zone.instant_of(days.checked_mul(DAY)?)
        }
    }
}

/// Reads a day of the week, whole or in three letters, of any case; 0 is Sunday.
pub(super) fn parse_weekday(name: &str) -> Option<i64> {
    const DAYS: [&str; 7] = [
        "sunday",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
    ];
    let name = name.to_ascii_lowercase();
    let fits = |day: &str| day == name || day.get(..3) == Some(name.as_str());
    DAYS.iter().position(|day| fits(day)).map(|at| at as i64)
}
