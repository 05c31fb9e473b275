//! Date and time by a format of letters, as .NET has them.

use super::civil::{DateTime, Part};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Letters of short names.
const SHORT: usize = 3;

/// Digits that a fraction of a second can have.
const FRACTION_DIGITS: usize = 7;

/// Writes the moment; what is no specifier stands for itself.
pub(crate) fn format(time: DateTime, pattern: &str) -> String {
    let mut out = String::new();
    let chars: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        if c == '\\' {
            out.extend(chars.get(at + 1));
            at += 2;
            continue;
        }
        if c == '\'' || c == '"' {
            let quoted = chars.iter().skip(at + 1).take_while(|other| **other != c);
            let before = out.chars().count();
            out.extend(quoted);
            at += out.chars().count() - before + 2;
            continue;
        }
        let run = chars
            .iter()
            .skip(at)
            .take_while(|other| **other == c)
            .count();
        specifier(time, c, run, &mut out);
        at += run;
    }
    out
}

fn specifier(time: DateTime, letter: char, run: usize, out: &mut String) {
    let (_, month, day) = time.date();
    let hour = time.part(Part::Hour);
    match letter {
        'y' if run <= 2 => padded(time.part(Part::Year) % 100, run, out),
        'y' => padded(time.part(Part::Year), run, out),
        'M' if run > 2 => named(&MONTHS, month - 1, run, out),
        'M' => padded(month, run, out),
        'd' if run > 2 => named(&WEEKDAYS, time.weekday() - 1, run, out),
        'd' => padded(day, run, out),
        'H' => padded(hour, run.min(2), out),
        'h' => padded((hour + 11) % 12 + 1, run.min(2), out),
        'm' => padded(time.part(Part::Minute), run.min(2), out),
        's' => padded(time.part(Part::Second), run.min(2), out),
        'f' => out.push_str(&fraction(time, run)),
        'F' => out.push_str(fraction(time, run).trim_end_matches('0')),
        't' => out.push_str(&(if hour < 12 { "AM" } else { "PM" })[..run.min(2)]),
        'K' => (0..run).for_each(|_| out.push('Z')),
        'z' => out.push_str(if run > 2 { "+00:00" } else { "+00" }),
        other => (0..run).for_each(|_| out.push(other)),
    }
}

/// At least so many digits. No pattern needs more than a few, and a long one is no reason to write more.
fn padded(number: i64, width: usize, out: &mut String) {
    let width = width.min(FRACTION_DIGITS);
    out.push_str(&format!("{number:0width$}"));
}

fn named(names: &[&str], index: i64, run: usize, out: &mut String) {
    let name = usize::try_from(index)
        .ok()
        .and_then(|index| names.get(index))
        .copied()
        .unwrap_or_default();
    out.push_str(if run == SHORT { &name[..SHORT] } else { name });
}

fn fraction(time: DateTime, run: usize) -> String {
    let digits = format!("{:07}", time.part(Part::Nanosecond) / 100);
    digits[..run.min(FRACTION_DIGITS)].to_owned()
}
