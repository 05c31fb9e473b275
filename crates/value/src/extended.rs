//! Relaxed extended JSON for the kinds of value that only BSON has.
//!
//! Both writers, the one from a tree and the one from bytes, print through these functions, so
//! that they cannot differ.

use crate::number::{write_i64, write_u64};
use crate::text::{BASE64, write_base64, write_hex, write_quoted};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// The times that can be printed as a date of four-digit years: 0000-01-01 to 9999-12-31.
const DATE_MILLIS_MIN: i64 = -62_167_219_200_000;
const DATE_MILLIS_MAX: i64 = 253_402_300_799_999;

pub(crate) fn write_date(millis: i64, out: &mut Vec<u8>) {
    if !(DATE_MILLIS_MIN..=DATE_MILLIS_MAX).contains(&millis) {
        out.extend_from_slice(b"{\"$date\":{\"$numberLong\":\"");
        write_i64(millis, out);
        out.extend_from_slice(b"\"}}");
        return;
    }
    let (days, rest) = (
        millis.div_euclid(MILLIS_PER_DAY),
        millis.rem_euclid(MILLIS_PER_DAY) as u64,
    );
    let (year, month, day) = civil(days);
    out.extend_from_slice(b"{\"$date\":\"");
    write_padded(year, 4, out);
    for part in [month, day] {
        out.push(b'-');
        write_padded(part, 2, out);
    }
    for (sign, part) in [
        (b'T', rest / 3_600_000),
        (b':', rest / 60_000 % 60),
        (b':', rest / 1000 % 60),
    ] {
        out.push(sign);
        write_padded(part, 2, out);
    }
    if !rest.is_multiple_of(1000) {
        out.push(b'.');
        write_padded(rest % 1000, 3, out);
    }
    out.extend_from_slice(b"Z\"}");
}

/// Milliseconds since 1970 of a date such as `2026-11-15T12:00:00.123Z` or `2026-11-15T12:00:00+01:00`, in the years 0000 to
/// 9999. What is shorter than a millisecond is cut off.
#[must_use]
pub fn parse_date(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4)?;
    let month = digits(after(&mut rest, b"-")?, 2)?;
    let day = digits(after(&mut rest, b"-")?, 2)?;
    let hour = digits(after(&mut rest, b"T")?, 2)?;
    let minute = digits(after(&mut rest, b":")?, 2)?;
    let second = digits(after(&mut rest, b":")?, 2)?;
    let milli = fraction(&mut rest)?;
    let east_minutes = offset(rest)?;
    let days = days(year, month, day);
    let real = civil(days)
        == (
            year.unsigned_abs(),
            month.unsigned_abs(),
            day.unsigned_abs(),
        );
    if !real || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = (hour * 60 + minute - east_minutes) * 60 + second;
    Some(days * MILLIS_PER_DAY + seconds * 1000 + milli)
}

/// Takes a sign off the front.
fn after<'a, 'b>(rest: &'a mut &'b [u8], sign: &[u8]) -> Option<&'a mut &'b [u8]> {
    *rest = rest.strip_prefix(sign)?;
    Some(rest)
}

/// Takes so many decimal digits off the front.
fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (head, behind) = rest.split_at_checked(count)?;
    *rest = behind;
    head.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + i64::from(digit - b'0'))
    })
}

/// Takes the fraction of a second off the front, if there is one: its milliseconds.
fn fraction(rest: &mut &[u8]) -> Option<i64> {
    if after(rest, b".").is_none() {
        return Some(0);
    }
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return None;
    }
    let (fraction, behind) = rest.split_at(count);
    *rest = behind;
    let padded = fraction.iter().chain(b"00").take(3);
    Some(padded.fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

/// `Z`, or how many minutes local time is ahead.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, mut rest) = match text.split_first()? {
        (b'Z', []) => return Some(0),
        (b'+', rest) => (1, rest),
        (b'-', rest) => (-1, rest),
        _ => return None,
    };
    let hours = digits(&mut rest, 2)?;
    // With or without the colon.
    rest = rest.strip_prefix(b":").unwrap_or(rest);
    let minutes = digits(&mut rest, 2)?;
    let real = rest.is_empty() && hours < 24 && minutes < 60;
    real.then_some(sign * (hours * 60 + minutes))
}

fn write_padded(n: u64, width: u32, out: &mut Vec<u8>) {
    for place in (0..width).rev() {
        out.push(b'0' + (n / 10u64.pow(place) % 10) as u8);
    }
}

/// Year, month and day of a day counted from 1970-01-01, for years 0 to 9999.
///
/// The year is taken to begin in March, so that the odd day of leap years comes last; then the
/// months' lengths follow one straight line, and 400 years always have the same number of days.
fn civil(days: i64) -> (u64, u64, u64) {
    const DAYS_PER_ERA: u64 = 146_097;
    /// From 1 March of the year -400, which is before all that is asked for, to 1970-01-01.
    const DAYS_BEFORE_1970: i64 = 719_468 + DAYS_PER_ERA as i64;
    let days = (days + DAYS_BEFORE_1970) as u64;
    let (era, day_of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2) - 400;
    (year, month, day)
}

/// The day counted from 1970-01-01, for years 0 to 9999; the reverse of [`civil`] where the date is a real one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let march_year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

pub(crate) fn write_object_id(id: &[u8; 12], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$oid\":\"");
    write_hex(id, out);
    out.extend_from_slice(b"\"}");
}

pub(crate) fn write_binary(subtype: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$binary\":{\"base64\":\"");
    write_base64(bytes, BASE64, out);
    out.extend_from_slice(b"\",\"subType\":\"");
    write_hex(&[subtype], out);
    out.extend_from_slice(b"\"}}");
}

pub(crate) fn write_timestamp(stamp: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$timestamp\":{\"t\":");
    write_u64(stamp >> 32, out);
    out.extend_from_slice(b",\"i\":");
    write_u64(stamp & 0xFFFF_FFFF, out);
    out.extend_from_slice(b"}}");
}

pub(crate) fn write_regex(pattern: &str, options: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$regularExpression\":{\"pattern\":");
    write_quoted(pattern, out);
    out.extend_from_slice(b",\"options\":");
    write_quoted(options, out);
    out.extend_from_slice(b"}}");
}

pub(crate) fn write_code(code: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$code\":");
    write_quoted(code, out);
    out.push(b'}');
}

/// Opens code with scope; the caller prints the scope as an object and then one more `}`.
pub(crate) fn open_code_with_scope(code: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$code\":");
    write_quoted(code, out);
    out.extend_from_slice(b",\"$scope\":");
}

pub(crate) fn write_symbol(symbol: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$symbol\":");
    write_quoted(symbol, out);
    out.push(b'}');
}

pub(crate) fn write_db_pointer(ns: &str, id: &[u8; 12], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$dbPointer\":{\"$ref\":");
    write_quoted(ns, out);
    out.extend_from_slice(b",\"$id\":");
    write_object_id(id, out);
    out.extend_from_slice(b"}}");
}

pub(crate) fn write_min_key(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$minKey\":1}");
}

pub(crate) fn write_max_key(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$maxKey\":1}");
}

pub(crate) fn write_decimal128(bytes: &[u8; 16], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$numberDecimal\":\"");
    write_decimal128_text(u128::from_le_bytes(*bytes), out);
    out.extend_from_slice(b"\"}");
}

/// 34 digits is the most a decimal128 holds; bit patterns beyond that mean zero.
const COEFFICIENT_MAX: u128 = 9_999_999_999_999_999_999_999_999_999_999_999;

/// What is added to the exponent to store it without a sign.
const EXPONENT_BIAS: i64 = 6176;

/// Prints IEEE 754-2008 decimal128 in its binary integer form, as the standard's to-scientific-string
/// does: digits are kept as they are, so `1.0` and `1.00` stay apart.
pub(crate) fn write_decimal128_text(bits: u128, out: &mut Vec<u8>) {
    let negative = bits >> 127 == 1;
    let combination = (bits >> 122) & 0x1F;
    if combination == 0x1F {
        out.extend_from_slice(b"NaN");
        return;
    }
    if negative {
        out.push(b'-');
    }
    if combination == 0x1E {
        out.extend_from_slice(b"Infinity");
        return;
    }
    // Two leading ones move the exponent two bits down and imply a coefficient beyond the limit.
    let (exponent, coefficient) = match combination >> 3 == 3 {
        true => ((bits >> 111) & 0x3FFF, 0),
        false => ((bits >> 113) & 0x3FFF, bits & ((1 << 113) - 1)),
    };
    let exponent = exponent as i64 - EXPONENT_BIAS;
    let coefficient = if coefficient > COEFFICIENT_MAX {
        0
    } else {
        coefficient
    };
    let digits = coefficient.to_string();
    let length = digits.len() as i64;
    let scientific = exponent + length - 1;
    if exponent > 0 || scientific < -6 {
        let (first, rest) = digits.split_at(1);
        out.extend_from_slice(first.as_bytes());
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest.as_bytes());
        }
        out.push(b'E');
        out.push(if scientific < 0 { b'-' } else { b'+' });
        write_u64(scientific.unsigned_abs(), out);
        return;
    }
    let whole = length + exponent;
    if whole > 0 {
        let (whole, fraction) = digits.split_at(whole as usize);
        out.extend_from_slice(whole.as_bytes());
        if !fraction.is_empty() {
            out.push(b'.');
            out.extend_from_slice(fraction.as_bytes());
        }
    } else {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', whole.unsigned_abs() as usize));
        out.extend_from_slice(digits.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(millis: i64) -> String {
        let mut out = Vec::new();
        write_date(millis, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn every_day_that_is_written_is_read_back() {
        let mut millis = DATE_MILLIS_MIN;
        while millis <= DATE_MILLIS_MAX {
            let text = written(millis);
            let text = text.strip_prefix("{\"$date\":\"").unwrap_or_default();
            let text = text.strip_suffix("\"}").unwrap_or_default();
            assert_eq!(parse_date(text), Some(millis), "{text}");
            // A day and a bit, so that every part takes every value.
            millis += MILLIS_PER_DAY + 3_723_001;
        }
    }

    #[test]
    fn dates_are_read_in_their_forms() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.1Z", 100),
            ("1970-01-01T00:00:00.1239Z", 123),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1970-01-01T01:30:00+0130", 0),
            ("1969-12-31T23:00:00-01:00", 0),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("0000-01-01T00:00:00Z", DATE_MILLIS_MIN),
            ("9999-12-31T23:59:59.999Z", DATE_MILLIS_MAX),
        ] {
            assert_eq!(parse_date(text), Some(millis), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2026-13-45T99:99:99Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-32T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+01:60",
            "2026-01-01T00:00:00+01:00 ",
            "2026-01-01 00:00:00Z",
            "2026-1-1T00:00:00Z",
            "-2026-01-01T00:00:00Z",
            "+2026-01-01T00:00:00Z",
            "9223372036854775807-01-01T00:00:00Z",
            "99999-01-01T00:00:00Z",
            "2026-01-01T00:00:00ZZ",
            "２026-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
