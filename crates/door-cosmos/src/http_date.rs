//! Dates as HTTP writes them: `Sun, 15 Nov 2026 17:51:40 GMT`. Knows no clock.

/// Length of the text, in bytes.
pub const HTTP_DATE_BYTES: usize = 29;
/// The last second that has four digits for its year: the end of 9999.
pub const HTTP_DATE_SECONDS_MAX: u64 = 253_402_300_799;

const SECONDS_PER_DAY: u64 = 86_400;
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

/// Reads the text, letters in either case; `None` if it is anything else, or if the day of the week is wrong.
pub fn parse(text: &str) -> Option<u64> {
    let text: &[u8; HTTP_DATE_BYTES] = text.as_bytes().try_into().ok()?;
    let shape = text[3] == b','
        && text[4] == b' '
        && text[7] == b' '
        && text[11] == b' '
        && text[16] == b' '
        && text[19] == b':'
        && text[22] == b':'
        && text[25..].eq_ignore_ascii_case(b" GMT");
    if !shape {
        return None;
    }
    let month = MONTHS
        .iter()
        .position(|name| text[8..11].eq_ignore_ascii_case(*name))? as u64
        + 1;
    let day = digits(&text[5..7])?;
    let year = digits(&text[12..16])?;
    let (hour, minute, second) = (
        digits(&text[17..19])?,
        digits(&text[20..22])?,
        digits(&text[23..25])?,
    );
    if year < 1970 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_to(year, month, day);
    // Reading the date back refuses the 31st of short months and the like.
    if date_of(days) != (year, month, day)
        || !text[..3].eq_ignore_ascii_case(DAYS[(days % 7) as usize])
    {
        return None;
    }
    Some(days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second)
}

fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |sum, digit| {
        digit
            .is_ascii_digit()
            .then(|| sum * 10 + u64::from(digit - b'0'))
    })
}

/// Days from 1970 to a date. Years are counted from March, so that the leap day comes last.
fn days_to(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    // 719468 days lie between the first of March of the year 0 and 1970.
    (365 * year + leap_days + (153 * month + 2) / 5 + day).saturating_sub(1 + 719_468)
}

/// The date so many days after the first of January 1970: year, month, day.
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
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
            "Sun, 15 Nov 2026 17:51:40 UTC",
            "Mon, 15 Nov 2026 17:51:40 GMT",
            "Sun, 15 Nov 2026 24:00:00 GMT",
            "Sun, 15 Nov 2026 17:60:00 GMT",
            "Sun, 15 Nov 2026 17:51:60 GMT",
            "Sun, 5 Nov 2026 17:51:40 GMT",
            "Sun, 00 Nov 2026 17:51:40 GMT",
            "Mon, 29 Feb 2027 00:00:00 GMT",
            "Sun, 15-Nov-2026 17:51:40 GMT",
            "Sunday, 15-Nov-26 17:51:40 GMT",
            "Sun Nov 15 17:51:40 2026",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Sun, 15 Nov 2026 +7:51:40 GMT",
            "Sun, 15 Nov 0000 17:51:40 GMT",
            "2026-11-15T17:51:40Z",
            "Sün, 15 Nov 2026 17:51:40 GM",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
