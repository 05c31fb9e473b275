//! Times as text: `2026-11-15T18:00:00.000Z`. Written by hand because it must reach the end of the year 9999.

use super::NOW_MS_MAX;
use crate::time::Millis;

const DAY_MS: i64 = 24 * 3600 * 1000;

/// The time as ISO 8601 text in UTC with milliseconds.
#[must_use]
pub fn format_iso(time: Millis) -> String {
    format_signed(i64::try_from(time.0.min(NOW_MS_MAX)).unwrap_or(0))
}

/// The same for a wall clock that may lie before 1970.
pub(super) fn format_signed(ms: i64) -> String {
    let (year, month, day) = civil(ms.div_euclid(DAY_MS));
    let rest = ms.rem_euclid(DAY_MS);
    let (hour, minute, second, milli) = (
        rest / 3_600_000,
        rest / 60_000 % 60,
        rest / 1000 % 60,
        rest % 1000,
    );
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Reads `YYYY-MM-DDThh:mm[:ss[.fff…]]` with `Z` or `±hh:mm` behind it; digits after the millisecond are dropped.
#[must_use]
pub fn parse_iso(text: &str) -> Option<Millis> {
    let (year, rest) = number(text, 4)?;
    let (month, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (hour, rest) = number(rest.strip_prefix(['T', 't'])?, 2)?;
    let (minute, mut rest) = number(rest.strip_prefix(':')?, 2)?;
    let (mut second, mut milli) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (second, rest) = number(after, 2)?;
        if let Some(after) = rest.strip_prefix('.') {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            let (fraction, behind) = after.split_at_checked(digits)?;
            if digits == 0 {
                return None;
            }
            milli = fraction
                .bytes()
                .chain(*b"00")
                .take(3)
                .fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
            rest = behind;
        }
    }
    let shift_minutes = shift(rest)?;
    let days = days(year, month, day);
    let real = civil(days) == (year, month, day) && hour < 24 && minute < 60 && second < 60;
    let ms = days * DAY_MS + ((hour * 60 + minute - shift_minutes) * 60 + second) * 1000 + milli;
    let ms = u64::try_from(ms).ok().filter(|ms| *ms <= NOW_MS_MAX);
    if real { ms.map(Millis) } else { None }
}

/// The minutes east of Greenwich at the end of the text.
fn shift(text: &str) -> Option<i64> {
    if text == "Z" || text == "z" {
        return Some(0);
    }
    let (sign, rest) = match text.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, text.strip_prefix('-')?),
    };
    let (hours, rest) = number(rest, 2)?;
    let (minutes, rest) = number(rest.strip_prefix(':')?, 2)?;
    (rest.is_empty() && hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn number(text: &str, digits: usize) -> Option<(i64, &str)> {
    let (head, rest) = text.split_at_checked(digits)?;
    if !head.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((head.parse().ok()?, rest))
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar. Years are counted from March, so that
/// the leap day is the last of its year.
fn civil(day: i64) -> (i64, i64, i64) {
    const ERA_DAYS: i64 = 146_097; // 400 years
    let day = day + 719_468; // from 0000-03-01
    let era = day.div_euclid(ERA_DAYS);
    let of_era = day.rem_euclid(ERA_DAYS);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    (
        era * 400 + year + i64::from(month <= 2),
        month,
        of_year - (153 * march_month + 2) / 5 + 1,
    )
}

/// The inverse of [`civil`]; an impossible date gives the day of another one, so the caller compares.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let march_month = (month + 9) % 12;
    let of_year = (153 * march_month + 2) / 5 + day - 1;
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + year * 365 + year / 4 - year / 100 + of_year - 719_468
}
