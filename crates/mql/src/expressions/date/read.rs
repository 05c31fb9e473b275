//! Dates in the forms that people write: ISO, with slashes, with names of months.

use super::civil::{days_of, iso_days_of, millis_of, month_days};
use super::zone::parse_offset;
use super::{HOUR, MINUTE, SECOND, Zone};
use crate::{MqlError, Result};

/// A day, a time of day, and where the text says it is.
pub(super) struct Found {
    pub(super) days: i64,
    pub(super) time: i64,
    pub(super) offset: Option<i64>,
}

impl Found {
    /// The instant; a text that names a zone itself may not be given another.
    pub(super) fn instant(&self, text: &str, zone: Option<&Zone>) -> Result<i64> {
        let local = millis_of(self.days, self.time);
        let instant = match (self.offset, zone) {
            (None, None) => local,
            (None, Some(zone)) => local.and_then(|local| zone.instant_of(local)),
            (Some(offset), None) => local.and_then(|local| local.checked_sub(offset)),
            (Some(_), Some(_)) => {
                return Err(MqlError::new(
                    241,
                    format!(
                        "you cannot pass in a date/time string with time zone information ('{text}') together with a timezone argument"
                    ),
                ));
            }
        };
        instant.ok_or_else(|| {
            let message = format!("Error parsing date string '{text}'; no date is so far away");
            MqlError::new(241, message)
        })
    }
}

/// Reads a date without being told its format.
pub(crate) fn parse_text(text: &str, zone: Option<&Zone>) -> Result<i64> {
    match find(text.trim()) {
        Some(found) => found.instant(text, zone),
        None => Err(MqlError::new(
            241,
            format!(
                "an incomplete date/time string has been found, with elements missing: \"{text}\""
            ),
        )),
    }
}

fn find(text: &str) -> Option<Found> {
    let (days, rest) = iso_date(text)
        .or_else(|| slashed_date(text))
        .or_else(|| compact_date(text))
        .or_else(|| named_date(text))?;
    let rest = rest.strip_prefix(['T', 't']).unwrap_or(rest).trim_start();
    let (time, rest) = match rest.as_bytes().first() {
        Some(byte) if byte.is_ascii_digit() => time_of_day(rest)?,
        _ => (0, rest),
    };
    let offset = match rest.trim() {
        "" => None,
        name => Some(zone_offset(name)?),
    };
    Some(Found { days, time, offset })
}

/// Digits at the start, no fewer and no more than said, and what follows.
fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let count = text
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    if count < least {
        return None;
    }
    let (digits, rest) = text.split_at(count);
    Some((digits.parse().ok()?, rest))
}

/// The day, if the month has it.
fn checked(year: i64, month: i64, day: i64) -> Option<i64> {
    let fits = (1..=12).contains(&month) && (1..=month_days(year, month)).contains(&day);
    fits.then(|| days_of(year, month, day))
}

/// `2020-01-15`, `2020-01`, `2020-W03-3`.
fn iso_date(text: &str) -> Option<(i64, &str)> {
    let (year, rest) = digits(text, 4, 4)?;
    let rest = rest.strip_prefix('-')?;
    if let Some(week) = rest.strip_prefix('W') {
        let (week, rest) = digits(week, 2, 2)?;
        let (day, rest) = match rest.strip_prefix('-') {
            Some(rest) => digits(rest, 1, 1)?,
            None => (1, rest),
        };
        return Some((iso_days_of(year, week, day), rest));
    }
    let (month, rest) = digits(rest, 1, 2)?;
    match rest.strip_prefix('-') {
        Some(rest) => {
            let (day, rest) = digits(rest, 1, 2)?;
            Some((checked(year, month, day)?, rest))
        }
        None => Some((checked(year, month, 1)?, rest)),
    }
}

/// `2020/01/15` and `1/15/2020`.
fn slashed_date(text: &str) -> Option<(i64, &str)> {
    let (first, rest) = digits(text, 1, 4)?;
    let (second, rest) = digits(rest.strip_prefix('/')?, 1, 2)?;
    let (third, rest) = digits(rest.strip_prefix('/')?, 1, 4)?;
    match first > 31 {
        true => Some((checked(first, second, third)?, rest)),
        false => Some((checked(third, first, second)?, rest)),
    }
}

/// `20200115`.
fn compact_date(text: &str) -> Option<(i64, &str)> {
    let (number, rest) = digits(text, 8, 8)?;
    let days = checked(number / 10_000, number / 100 % 100, number % 100)?;
    Some((days, rest))
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A month at the start, whole or in three letters.
fn month_name(text: &str) -> Option<(i64, &str)> {
    let end = text
        .find(|sign: char| !sign.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let name = name.to_ascii_lowercase();
    let fits = |month: &str| month == name || month.get(..3) == Some(name.as_str());
    let at = MONTHS.iter().position(|month| fits(month))?;
    Some((at as i64 + 1, rest.trim_start_matches(['.', ',', ' ', '-'])))
}

/// `July 4, 2020` and `4 July 2020`.
fn named_date(text: &str) -> Option<(i64, &str)> {
    let gap =
        |rest: &'_ str| -> usize { rest.len() - rest.trim_start_matches([',', ' ', '-']).len() };
    let day_of = |text: &'_ str| -> Option<(i64, usize)> {
        let (day, rest) = digits(text, 1, 2)?;
        let ending = ["st", "nd", "rd", "th"]
            .iter()
            .find(|end| rest.starts_with(**end));
        let rest = rest.get(ending.map_or(0, |end| end.len())..)?;
        Some((day, text.len() - rest.len() + gap(rest)))
    };
    if let Some((month, rest)) = month_name(text) {
        let (day, used) = day_of(rest)?;
        let (year, rest) = digits(rest.get(used..)?, 4, 4)?;
        return Some((checked(year, month, day)?, rest));
    }
    let (day, used) = day_of(text)?;
    let (month, rest) = month_name(text.get(used..)?)?;
    let (year, rest) = digits(rest, 4, 4)?;
    Some((checked(year, month, day)?, rest))
}

/// `10:20`, `10:20:30.456`, `101112`, each with AM or PM if the hour allows.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    if let Some((compact, rest)) = digits(text, 6, 6) {
        let (hour, minute, second) = (compact / 10_000, compact / 100 % 100, compact % 100);
        let (fraction, rest) = fraction(rest);
        return whole(hour, minute, second, fraction).map(|time| (time, rest));
    }
    let (hour, rest) = digits(text, 1, 2)?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => digits(rest, 2, 2)?,
        None => (0, rest),
    };
    let (second, rest) = match rest.strip_prefix(':') {
        Some(rest) => digits(rest, 2, 2)?,
        None => (0, rest),
    };
    let (millis, rest) = fraction(rest);
    let trimmed = rest.trim_start();
    let half = trimmed.get(..2).map(str::to_ascii_lowercase);
    let (hour, rest) = match half.as_deref() {
        Some("am") if (1..=12).contains(&hour) => (hour % 12, trimmed.get(2..)?),
        Some("pm") if (1..=12).contains(&hour) => (hour % 12 + 12, trimmed.get(2..)?),
        _ => (hour, rest),
    };
    whole(hour, minute, second, millis).map(|time| (time, rest))
}

/// The milliseconds of `.456`; further digits are cut off.
fn fraction(text: &str) -> (i64, &str) {
    let Some(rest) = text.strip_prefix('.') else {
        return (0, text);
    };
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = rest.split_at(count);
    let millis = digits.bytes().chain(*b"000").take(3);
    let millis = millis.fold(0, |n, digit| n * 10 + i64::from(digit - b'0'));
    (millis, rest)
}

fn whole(hour: i64, minute: i64, second: i64, millis: i64) -> Option<i64> {
    let fits = hour <= 24 && minute < 60 && second < 60;
    fits.then(|| hour * HOUR + minute * MINUTE + second * SECOND + millis)
}

/// `Z`, `UTC`, `+02:00`, and the abbreviations of the United States.
fn zone_offset(name: &str) -> Option<i64> {
    let hours = match name.to_ascii_uppercase().as_str() {
        "Z" | "UTC" | "GMT" => 0,
        "EDT" => -4,
        "EST" | "CDT" => -5,
        "CST" | "MDT" => -6,
        "MST" | "PDT" => -7,
        "PST" => -8,
        _ => return parse_offset(name.strip_prefix("GMT").unwrap_or(name)),
    };
    Some(hours * HOUR)
}
