//! Formats: `%Y-%m-%d` and so on, printed and read.

use super::civil::{days_of, iso_days_of};
use super::read::Found;
use super::zone::parse_offset;
use super::{Civil, MINUTE, Zone};
use crate::{MqlError, Result};

/// The signs that may follow a percent sign when printing.
pub(super) const PRINTED: &str = "dGHjLmMSUuVwYzZ%";

/// The signs that may follow a percent sign when reading.
pub(super) const READ: &str = "dGHjLmMSuVYzZ%";

/// Checks that a format holds only known signs.
pub(super) fn check(format: &str, known: &str) -> Result<()> {
    let mut signs = format.chars();
    while let Some(sign) = signs.next() {
        if sign != '%' {
            continue;
        }
        match signs.next() {
            None => {
                return Err(MqlError::new(
                    18535,
                    "Unmatched '%' at end of format string",
                ));
            }
            Some(sign) if !known.contains(sign) => {
                let message = format!("Invalid format character '%{sign}' in format string");
                return Err(MqlError::new(18536, message));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The date as text.
pub(super) fn print(format: &str, millis: i64, zone: &Zone) -> Result<String> {
    let time = zone.local(millis);
    let offset = zone.offset_at(millis) / MINUTE;
    let mut text = String::with_capacity(format.len() + 16);
    let mut signs = format.chars();
    while let Some(sign) = signs.next() {
        if sign != '%' {
            text.push(sign);
            continue;
        }
        print_one(signs.next().unwrap_or('%'), time, offset, &mut text)?;
    }
    Ok(text)
}

fn print_one(sign: char, time: Civil, offset: i64, text: &mut String) -> Result<()> {
    let year = |year: i64| match (0..=9999).contains(&year) {
        true => Ok(format!("{year:04}")),
        false => Err(MqlError::new(
            18537,
            format!(
                "Could not convert date to string: date component was outside the supported range of 0-9999: {year}"
            ),
        )),
    };
    let printed = match sign {
        'd' => format!("{:02}", time.day),
        'G' => year(time.iso_week().0)?,
        'H' => format!("{:02}", time.hour),
        'j' => format!("{:03}", time.day_of_year()),
        'L' => format!("{:03}", time.millisecond),
        'm' => format!("{:02}", time.month),
        'M' => format!("{:02}", time.minute),
        'S' => format!("{:02}", time.second),
        'U' => format!("{:02}", time.week()),
        'u' => time.iso_weekday().to_string(),
        'V' => format!("{:02}", time.iso_week().1),
        'w' => (time.weekday() + 1).to_string(),
        'Y' => year(i64::from(time.year))?,
        'z' => {
            let sign = if offset < 0 { '-' } else { '+' };
            format!("{sign}{:02}{:02}", offset.abs() / 60, offset.abs() % 60)
        }
        'Z' => offset.to_string(),
        other => other.to_string(),
    };
    text.push_str(&printed);
    Ok(())
}

/// What a format can find in a text.
#[derive(Default)]
struct Parts {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_weekday: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    millisecond: i64,
    offset: Option<i64>,
}

/// Reads a text in a format that has been checked.
pub(super) fn read(format: &str, text: &str, zone: Option<&Zone>) -> Result<i64> {
    let refused = |why: &str| {
        let message = format!("Error parsing date string '{text}'; {why}");
        MqlError::new(241, message)
    };
    let (mut parts, mut rest) = (Parts::default(), text);
    let mut signs = format.chars();
    while let Some(sign) = signs.next() {
        if sign == '%' {
            let kind = signs.next().unwrap_or('%');
            rest = read_one(kind, rest, &mut parts).ok_or_else(|| refused("unexpected text"))?;
        } else {
            rest = rest
                .strip_prefix(sign)
                .ok_or_else(|| refused("Format literal not found"))?;
        }
    }
    if !rest.is_empty() {
        return Err(refused("Trailing data"));
    }
    let days = match (parts.year, parts.month, parts.day) {
        (Some(year), Some(month), Some(day)) => {
            let days = days_of(year, month, day);
            let back = Civil::from_millis(days * super::DAY);
            (i64::from(back.day) == day && i64::from(back.month) == month).then_some(days)
        }
        (Some(year), None, None) => parts.day_of_year.map(|day| days_of(year, 1, day)),
        _ => match (parts.iso_year, parts.iso_week, parts.iso_weekday) {
            (Some(year), Some(week), Some(day)) => Some(iso_days_of(year, week, day)),
            _ => None,
        },
    };
    let Some(days) = days else {
        let message = format!(
            "an incomplete date/time string has been found, with elements missing: \"{text}\""
        );
        return Err(MqlError::new(241, message));
    };
    let found = Found {
        days,
        time: parts.hour * super::HOUR
            + parts.minute * MINUTE
            + parts.second * super::SECOND
            + parts.millisecond,
        offset: parts.offset,
    };
    found.instant(text, zone)
}

/// Reads what one sign of the format stands for, and returns what follows.
fn read_one<'t>(kind: char, text: &'t str, parts: &mut Parts) -> Option<&'t str> {
    let number = |most: usize, min: i64, max: i64| {
        let digits = text
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        let (digits, rest) = text.split_at(digits);
        let n: i64 = digits.parse().ok()?;
        (min..=max).contains(&n).then_some((n, rest))
    };
    let (n, rest) = match kind {
        '%' => return text.strip_prefix('%'),
        'z' | 'Z' => return read_offset(kind, text, parts),
        'Y' | 'G' => number(4, 0, 9999)?,
        'd' => number(2, 1, 31)?,
        'j' => number(3, 1, 366)?,
        'H' => number(2, 0, 24)?,
        'L' => number(3, 0, 999)?,
        'm' => number(2, 1, 12)?,
        'M' | 'S' => number(2, 0, 59)?,
        'u' => number(1, 1, 7)?,
        'V' => number(2, 1, 53)?,
        _ => return None,
    };
    match kind {
        'Y' => parts.year = Some(n),
        'G' => parts.iso_year = Some(n),
        'd' => parts.day = Some(n),
        'j' => parts.day_of_year = Some(n),
        'H' => parts.hour = n,
        'L' => parts.millisecond = n,
        'm' => parts.month = Some(n),
        'M' => parts.minute = n,
        'S' => parts.second = n,
        'u' => parts.iso_weekday = Some(n),
        _ => parts.iso_week = Some(n),
    }
    Some(rest)
}

fn read_offset<'t>(kind: char, text: &'t str, parts: &mut Parts) -> Option<&'t str> {
    if kind == 'z' && text.starts_with(['Z', 'z']) {
        parts.offset = Some(0);
        return text.get(1..);
    }
    let end = text
        .char_indices()
        .skip(1)
        .find(|(_, sign)| !sign.is_ascii_digit() && *sign != ':')
        .map_or(text.len(), |(at, _)| at);
    let (offset, rest) = text.split_at(end);
    parts.offset = Some(match kind {
        'z' => parse_offset(offset)?,
        _ => offset.parse::<i64>().ok()?.checked_mul(MINUTE)?,
    });
    Some(rest)
}
