//! Date and time as the service writes them: UTC, in units of 100 ns, years 1 to 9999.

use lapsedb_value::Value;

const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// 0001-01-01 and the first day of the year 10000, in days since 1970.
const DAYS_MIN: i64 = -719_162;
const DAYS_END: i64 = 2_932_897;

/// A moment: units of 100 ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DateTime(i64);

/// A part of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl Part {
    /// The part of that name, in any case.
    pub(crate) fn from_name(name: &str) -> Option<Part> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "yyyy" | "yy" => Part::Year,
            "month" | "mm" | "m" => Part::Month,
            "day" | "dd" | "d" => Part::Day,
            "hour" | "hh" => Part::Hour,
            "minute" | "mi" | "n" => Part::Minute,
            "second" | "ss" | "s" => Part::Second,
            "millisecond" | "ms" => Part::Millisecond,
            "microsecond" | "mcs" => Part::Microsecond,
            "nanosecond" | "ns" => Part::Nanosecond,
            _ => return None,
        })
    }

    /// How long the part is, unless that varies.
    pub(crate) fn nanos(self) -> Option<i64> {
        Some(match self {
            Part::Year | Part::Month => return None,
            Part::Day => 86_400_000_000_000,
            Part::Hour => 3_600_000_000_000,
            Part::Minute => 60_000_000_000,
            Part::Second => 1_000_000_000,
            Part::Millisecond => 1_000_000,
            Part::Microsecond => 1_000,
            Part::Nanosecond => 1,
        })
    }
}

impl DateTime {
    /// The start of 1970.
    pub(crate) const EPOCH: DateTime = DateTime(0);

    /// The moment so many units of 100 ns after 1970, if its year has four digits.
    pub(crate) fn from_ticks(ticks: i64) -> Option<DateTime> {
        let days = ticks.div_euclid(TICKS_PER_DAY);
        (DAYS_MIN..DAYS_END)
            .contains(&days)
            .then_some(DateTime(ticks))
    }

    /// The moment so many milliseconds after 1970.
    pub(crate) fn from_millis(millis: i64) -> Option<DateTime> {
        DateTime::from_ticks(millis.checked_mul(TICKS_PER_SECOND / 1_000)?)
    }

    /// Year, month, day, hour, minute, second and units of 100 ns.
    pub(crate) fn from_parts(parts: [i64; 7]) -> Option<DateTime> {
        let [year, month, day, hour, minute, second, ticks] = parts;
        let valid = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..TICKS_PER_SECOND).contains(&ticks);
        if !valid {
            return None;
        }
        let seconds =
            days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
        Some(DateTime(seconds * TICKS_PER_SECOND + ticks))
    }

    /// Reads `YYYY-MM-DD`, with `Thh:mm:ss.fffffff` or a part of it, with or without `Z`.
    pub(crate) fn parse(text: &str) -> Option<DateTime> {
        let text = text.strip_suffix('Z').unwrap_or(text);
        let bytes = text.as_bytes();
        let digits = |from: usize, count: usize| -> Option<i64> {
            bytes
                .get(from..from + count)?
                .iter()
                .try_fold(0, |sum, byte| {
                    byte.is_ascii_digit()
                        .then(|| sum * 10 + i64::from(byte - b'0'))
                })
        };
        let is = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
        let (year, month, day) = (digits(0, 4)?, digits(5, 2)?, digits(8, 2)?);
        if !is(4, b"-") || !is(7, b"-") {
            return None;
        }
        if bytes.len() == 10 {
            return DateTime::from_parts([year, month, day, 0, 0, 0, 0]);
        }
        let (hour, minute, second) = (digits(11, 2)?, digits(14, 2)?, digits(17, 2)?);
        if !is(10, b"T ") || !is(13, b":") || !is(16, b":") {
            return None;
        }
        let ticks = match bytes.len() {
            19 => 0,
            length @ 21..=27 if is(19, b".") => {
                let given = length - 20;
                digits(20, given)? * 10i64.pow(u32::try_from(7 - given).ok()?)
            }
            _ => return None,
        };
        DateTime::from_parts([year, month, day, hour, minute, second, ticks])
    }

    /// Units of 100 ns since 1970.
    pub(crate) fn ticks(self) -> i64 {
        self.0
    }

    /// Year, month and day.
    pub(crate) fn date(self) -> (i64, i64, i64) {
        civil_from_days(self.0.div_euclid(TICKS_PER_DAY))
    }

    /// Units of 100 ns since midnight.
    fn time(self) -> i64 {
        self.0.rem_euclid(TICKS_PER_DAY)
    }

    /// The day of the week; Sunday is 1.
    pub(crate) fn weekday(self) -> i64 {
        // 1970 began on a Thursday.
        (self.0.div_euclid(TICKS_PER_DAY) + 4).rem_euclid(7) + 1
    }

    /// One part, as a calendar and a clock show it; fractions of a second are counted from its start.
    pub(crate) fn part(self, part: Part) -> i64 {
        let (year, month, day) = self.date();
        let time = self.time();
        let seconds = time / TICKS_PER_SECOND;
        let fraction = time % TICKS_PER_SECOND;
        match part {
            Part::Year => year,
            Part::Month => month,
            Part::Day => day,
            Part::Hour => seconds / 3_600,
            Part::Minute => seconds / 60 % 60,
            Part::Second => seconds % 60,
            Part::Millisecond => fraction / 10_000,
            Part::Microsecond => fraction / 10,
            Part::Nanosecond => fraction * 100,
        }
    }

    /// How many boundaries of the part lie between a fixed point and this moment.
    pub(crate) fn count(self, part: Part) -> Option<i64> {
        let (year, month, _) = self.date();
        match part {
            Part::Year => Some(year),
            Part::Month => Some(year * 12 + month),
            part => {
                let nanos = i128::from(self.0) * 100;
                i64::try_from(nanos.div_euclid(i128::from(part.nanos()?))).ok()
            }
        }
    }

    /// The moment so many parts later. A day that the month lacks becomes its last one.
    pub(crate) fn plus(self, part: Part, count: i64) -> Option<DateTime> {
        if let Some(nanos) = part.nanos() {
            let ticks = i128::from(self.0) + i128::from(nanos) * i128::from(count) / 100;
            return DateTime::from_ticks(i64::try_from(ticks).ok()?);
        }
        let (year, month, day) = self.date();
        let months = if part == Part::Year {
            count.checked_mul(12)?
        } else {
            count
        };
        let months = (year * 12 + month - 1).checked_add(months)?;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        if !(1..=9999).contains(&year) {
            return None;
        }
        let day = day.min(days_in_month(year, month));
        Some(DateTime(
            days_from_civil(year, month, day) * TICKS_PER_DAY + self.time(),
        ))
    }

    /// `YYYY-MM-DDThh:mm:ss.fffffffZ`
    pub(crate) fn to_value(self) -> Value {
        let (year, month, day) = self.date();
        let time = self.time();
        let (seconds, fraction) = (time / TICKS_PER_SECOND, time % TICKS_PER_SECOND);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        Value::from(format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z"
        ))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970. Years are counted from March, so that the leap day is the last one.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_day_of_ten_thousand_years_comes_back() {
        let mut last = None;
        for days in DAYS_MIN..DAYS_END {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert!((1..=days_in_month(year, month)).contains(&day));
            assert!(last < Some((year, month, day)));
            last = Some((year, month, day));
        }
        assert_eq!(civil_from_days(DAYS_MIN), (1, 1, 1));
        assert_eq!(civil_from_days(DAYS_END - 1), (9999, 12, 31));
    }

    #[test]
    fn text_is_read_strictly() {
        for good in [
            "2020-02-29",
            "2020-02-29T23:59:59Z",
            "2020-02-29 23:59:59",
            "2020-02-29T23:59:59.1234567Z",
        ] {
            assert!(DateTime::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "2019-02-29",
            "2020-13-01",
            "2020-1-1",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00.12345678Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00Z",
            "2020-01-01ZZ",
            "２020-01-01",
        ] {
            assert!(DateTime::parse(bad).is_none(), "{bad}");
        }
    }
}
