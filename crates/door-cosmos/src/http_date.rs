//! Dates as HTTP writes them: `Sun, 15 Nov 2026 17:51:40 GMT`. Knows no clock.

use std::ops::RangeInclusive;

/// Length of the text, in bytes.
pub const HTTP_DATE_BYTES: usize = 29;
/// The last second that has four digits for its year: the end of 9999.
pub const HTTP_DATE_SECONDS_MAX: u64 = 253_402_300_799;

const SECONDS_PER_DAY: u64 = 86_400;
/// Days from the first of March of the year 0 to 1970.
const DAYS_TO_1970: u64 = 719_468;
/// After so many years the calendar begins anew, on the same day of the week.
const CYCLE_YEARS: u64 = 400;
const CYCLE_DAYS: u64 = 146_097;
const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
const DAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// The text of a second since 1970; later than the year 9999 it stays at its end.
pub fn format(seconds: u64) -> [u8; HTTP_DATE_BYTES] {
    let seconds = seconds.min(HTTP_DATE_SECONDS_MAX);
    let (days, second) = (seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
    let (year, month, day) = date_of(days);
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    text[..3].copy_from_slice(DAYS[(days % 7) as usize]);
    text[8..11].copy_from_slice(MONTHS[(month - 1) as usize]);
    let mut put = |at: usize, number: u64| {
        text[at] = b'0' + (number / 10) as u8;
        text[at + 1] = b'0' + (number % 10) as u8;
    };
    put(5, day);
    put(12, year / 100);
    put(14, year % 100);
    put(17, second / 3600);
    put(20, second / 60 % 60);
    put(23, second % 60);
    text
}

/// The same as a string.
pub fn to_string(seconds: u64) -> String {
    String::from_utf8_lossy(&format(seconds)).into_owned()
}

/// Reads a date in any of the three forms that HTTP has had: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
/// `Sun Nov  6 08:49:37 1994`. Letters in either case; `UTC` is as good as `GMT`, since one SDK writes so. `None` if it is anything
/// else, or if the day of the week is wrong. What lies before 1970 is the beginning of 1970: nothing here is older.
pub fn parse(text: &str) -> Option<u64> {
    match text.split_once(", ") {
        Some((weekday, rest)) => {
            let (date, rest) = match weekday.len() {
                3 => rest.split_at_checked(rest.len().checked_sub(13)?)?,
                _ => rest.split_at_checked(9)?,
            };
            let (time, zone) = rest.strip_prefix(' ')?.split_once(' ')?;
            if !zone.eq_ignore_ascii_case("GMT") && !zone.eq_ignore_ascii_case("UTC") {
                return None;
            }
            match weekday.len() {
                3 => moment(weekday, split(date, ' ')?, 1..=4, time),
                _ => rfc850(weekday, split(date, '-')?, time),
            }
        }
        None => {
            let (weekday, rest) = text.split_once(' ')?;
            let [date, time, year] = rsplit(rest)?;
            let (month, day) = date.split_once(' ')?;
            // A day of one digit stands behind a space in place of the other.
            let padded = day.strip_prefix(' ').map(|digit| ["0", digit].concat());
            let day = padded.as_deref().unwrap_or(day);
            moment(weekday, [day, month, year], 4..=4, time)
        }
    }
}

/// The form with whole names of days and two digits of the year. The day of the week is right in one century only of the two that
/// are meant.
fn rfc850(weekday: &str, [day, month, year]: [&str; 3], time: &str) -> Option<u64> {
    let short = weekday.get(..3)?;
    let known = WEEKDAYS
        .iter()
        .any(|name| name.eq_ignore_ascii_case(weekday));
    if !known || year.len() != 2 {
        return None;
    }
    ["20", "19"].iter().find_map(|century| {
        let year = [century, year].concat();
        moment(short, [day, month, &year], 4..=4, time)
    })
}

/// The second of a date whose year has so many digits, and a time.
fn moment(
    weekday: &str,
    [day, month, year]: [&str; 3],
    year_digits: RangeInclusive<usize>,
    time: &str,
) -> Option<u64> {
    let time = time.as_bytes();
    let shape = time.len() == 8
        && time[2] == b':'
        && time[5] == b':'
        && day.len() == 2
        && year_digits.contains(&year.len());
    if !shape {
        return None;
    }
    let is_month = |name: &&[u8; 3]| month.as_bytes().eq_ignore_ascii_case(*name);
    let month = MONTHS.iter().position(is_month)? as u64 + 1;
    let (day, year) = (digits(day.as_bytes())?, digits(year.as_bytes())?);
    let hour = digits(&time[..2])?;
    let minute = digits(&time[3..5])?;
    let second = digits(&time[6..])?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_to(year, month, day);
    // Reading the date back refuses the 31st of short months and the like. 719468 days are seven times 102781 and one.
    let of_week = DAYS[((days + 6) % 7) as usize];
    if date_from_year_0(days) != (year + CYCLE_YEARS, month, day)
        || !weekday.as_bytes().eq_ignore_ascii_case(of_week)
    {
        return None;
    }
    let second = hour * 3600 + minute * 60 + second;
    let from_1970 = days.checked_sub(CYCLE_DAYS + DAYS_TO_1970);
    Some(from_1970.map_or(0, |days| days * SECONDS_PER_DAY + second))
}

/// Three parts.
fn split(text: &str, between: char) -> Option<[&str; 3]> {
    let mut parts = text.split(between);
    let all = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(all)
}

/// The last two words, and what is before them.
fn rsplit(text: &str) -> Option<[&str; 3]> {
    let (text, last) = text.rsplit_once(' ')?;
    let (text, second) = text.rsplit_once(' ')?;
    Some([text, second, last])
}

fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |sum, digit| {
        digit
            .is_ascii_digit()
            .then(|| sum * 10 + u64::from(digit - b'0'))
    })
}

/// Days to a date from the first of March, a whole cycle of the calendar before the year 0: so the first months of that year have
/// a number too. Years are counted from March, so that the leap day comes last.
fn days_to(year: u64, month: u64, day: u64) -> u64 {
    let year = year + CYCLE_YEARS;
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    (365 * year + leap_days + (153 * month + 2) / 5 + day).saturating_sub(1)
}

/// The date so many days after the first of January 1970: year, month, day.
fn date_of(days: u64) -> (u64, u64, u64) {
    date_from_year_0(days + DAYS_TO_1970)
}

/// The date so many days after the first of March of the year 0.
fn date_from_year_0(days: u64) -> (u64, u64, u64) {
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    if month < 10 {
        (year, month + 3, day)
    } else {
        (year + 1, month - 9, day)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn known_dates() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_794_765_100, "Sun, 15 Nov 2026 17:51:40 GMT"),
            (2_147_483_648, "Tue, 19 Jan 2038 03:14:08 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (HTTP_DATE_SECONDS_MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(to_string(seconds), text);
            assert_eq!(parse(text), Some(seconds), "{text}");
            assert_eq!(parse(&text.to_lowercase()), Some(seconds), "{text}");
        }
        assert_eq!(to_string(u64::MAX), to_string(HTTP_DATE_SECONDS_MAX));
    }

    #[test]
    fn the_older_forms_and_another_name_of_the_zone() {
        for (seconds, text) in [
            (784_111_777, "Sunday, 06-Nov-94 08:49:37 GMT"),
            (784_111_777, "Sun Nov  6 08:49:37 1994"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 UTC"),
            (1_794_765_100, "Sunday, 15-Nov-26 17:51:40 GMT"),
            (1_794_765_100, "Sun Nov 15 17:51:40 2026"),
            (951_782_400, "Tuesday, 29-Feb-00 00:00:00 GMT"),
            (3_155_760_000, "Wednesday, 01-Jan-70 00:00:00 GMT"),
            (0, "Thursday, 01-Jan-70 00:00:00 GMT"),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
            assert_eq!(parse(&text.to_uppercase()), Some(seconds), "{text}");
        }
    }

    #[test]
    fn before_1970_is_its_beginning() {
        for text in [
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Wednesday, 31-Dec-69 23:59:59 GMT",
            "Wed Dec 31 23:59:59 1969",
            "Fri, 01 Jan 1960 00:00:00 GMT",
            "Mon, 01 Jan 0001 00:00:00 GMT",
            "Mon, 01 Jan 1 00:00:00 GMT",
            "Sat, 01 Jan 0000 00:00:00 GMT",
        ] {
            assert_eq!(parse(text), Some(0), "{text}");
        }
    }

    #[test]
    fn every_day_to_the_end_of_9999_reads_back() {
        for day in 0..=HTTP_DATE_SECONDS_MAX / SECONDS_PER_DAY {
            let seconds = day * SECONDS_PER_DAY + day % SECONDS_PER_DAY;
            assert_eq!(parse(&to_string(seconds)), Some(seconds));
        }
    }

    #[test]
    fn every_second_of_a_day_reads_back() {
        for second in 0..SECONDS_PER_DAY {
            assert_eq!(
                parse(&to_string(1_794_700_800 + second)),
                Some(1_794_700_800 + second)
            );
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "Sun, 15 Nov 2026 17:51:40",
            "Sun, 15 Nov 2026 17:51:40 CET",
            "Sun, 15 Nov 2026  17:51:40 GMT",
            "Sun, 15 Nov 2026 17:51:40  GMT",
            "Sun, 15 Nov 12026 17:51:40 GMT",
            "Sun, 15 Nov  17:51:40 GMT",
            "Mon, 15 Nov 2026 17:51:40 GMT",
            "Sun, 15 Nov 2026 24:00:00 GMT",
            "Sun, 15 Nov 2026 17:60:00 GMT",
            "Sun, 15 Nov 2026 17:51:60 GMT",
            "Sun, 5 Nov 2026 17:51:40 GMT",
            "Sun, 00 Nov 2026 17:51:40 GMT",
            "Mon, 29 Feb 2027 00:00:00 GMT",
            "Sun, 15-Nov-2026 17:51:40 GMT",
            "Tuesday, 15-Nov-26 17:51:40 GMT",
            "Sunny, 15-Nov-26 17:51:40 GMT",
            "Sunday, 15-Nov-2026 17:51:40 GMT",
            "Sunday, 15 Nov 26 17:51:40 GMT",
            "Mon Nov 15 17:51:40 2026",
            "Sun Nov 6 08:49:37 1994",
            "Sun Nov  6 08:49:37 94",
            "Sun Nov 15 17:51:40 2026 GMT",
            "Sun Nov 15 17:51:40",
            "Thu, 31 Dec 1969 23:59:59 GMT",
            "Sun, 15 Nov 2026 +7:51:40 GMT",
            "Sun, 15 Nov 0000 17:51:40 GMT",
            "2026-11-15T17:51:40Z",
            "Sün, 15 Nov 2026 17:51:40 GM",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
