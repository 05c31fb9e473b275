//! Moments as text: how they are read, written, and written by a format.

use super::moment::{DateTime, Part, TICKS_PER_MINUTE};

/// Digits that a fraction of a second can have.
const FRACTION_DIGITS: usize = 7;

/// Reads `YYYY-MM-DD`, perhaps with `Thh:mm:ss` and a fraction of up to seven digits, perhaps with `Z` or the offset
/// from UTC. Nothing else may be left out, and a blank may stand for the `T`.
pub(crate) fn read(text: &str) -> Option<DateTime> {
    let mut rest = Rest(text.as_bytes());
    let year = rest.digits(4)?;
    let month = rest.after(b'-')?;
    let day = rest.after(b'-')?;
    let mut parts = [year, month, day, 0, 0, 0, 0];
    if rest.skip(b'T') || rest.skip(b' ') {
        parts[3] = rest.digits(2)?;
        parts[4] = rest.after(b':')?;
        parts[5] = rest.after(b':')?;
        if rest.skip(b'.') {
            parts[6] = rest.fraction()?;
        }
    }
    let offset = rest.offset()?;
    let local = DateTime::from_parts(parts)?;
    if !rest.0.is_empty() {
        return None;
    }
    DateTime::from_ticks(local.ticks() - offset * TICKS_PER_MINUTE)
}

/// What of a text is not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn skip(&mut self, wanted: u8) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if *first == wanted => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn digit(&mut self) -> Option<i64> {
        let (first, rest) = self.0.split_first()?;
        let digit = first.is_ascii_digit().then(|| i64::from(first - b'0'))?;
        self.0 = rest;
        Some(digit)
    }

    /// A number of so many digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        (0..count).try_fold(0, |number, _| Some(number * 10 + self.digit()?))
    }

    /// A number of two digits after a separator.
    fn after(&mut self, separator: u8) -> Option<i64> {
        if self.skip(separator) {
            self.digits(2)
        } else {
            None
        }
    }

    /// The digits of a fraction of a second, in units of 100 ns. There must be one.
    fn fraction(&mut self) -> Option<i64> {
        let first = self.digit()?;
        Some((1..FRACTION_DIGITS).fold(first, |number, _| {
            number * 10 + self.digit().unwrap_or_default()
        }))
    }

    /// How many minutes the text is ahead of UTC.
    fn offset(&mut self) -> Option<i64> {
        let sign = match self.0.first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => {
                self.skip(b'Z');
                return Some(0);
            }
        };
        self.0 = self.0.get(1..)?;
        let (hours, minutes) = (self.digits(2)?, self.after(b':')?);
        (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
    }
}

/// `YYYY-MM-DDThh:mm:ss.fffffffZ`
pub(crate) fn write(moment: DateTime) -> String {
    let (year, month, day) = moment.date();
    let [hour, minute, second] = [Part::Hour, Part::Minute, Part::Second].map(|p| moment.part(p));
    let fraction = moment.part(Part::Nanosecond) / 100;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z")
}

/// Writes the moment by a format. The letters mean what they mean in .NET, but for names of days and months, which are
/// written as numbers, and for quotes and time zones, which stand for themselves as all else does.
pub(crate) fn format(moment: DateTime, pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' {
            out.extend(chars.next());
            continue;
        }
        let mut run = 1;
        while chars.next_if_eq(&c).is_some() {
            run += 1;
        }
        specifier(moment, c, run, &mut out);
    }
    out
}

/// Writes what so many times the same character stand for.
fn specifier(moment: DateTime, letter: char, run: usize, out: &mut String) {
    let number = |part| moment.part(part);
    match letter {
        'y' if run <= 2 => padded(number(Part::Year) % 100, run, out),
        'y' => padded(number(Part::Year), 4, out),
        'M' => padded(number(Part::Month), run, out),
        'd' => padded(number(Part::Day), run, out),
        'H' => padded(number(Part::Hour), run, out),
        'h' => padded((number(Part::Hour) + 11) % 12 + 1, run, out),
        'm' => padded(number(Part::Minute), run, out),
        's' => padded(number(Part::Second), run, out),
        't' => {
            let half = if number(Part::Hour) < 12 { "AM" } else { "PM" };
            out.push_str(half.get(..run.min(2)).unwrap_or_default());
        }
        'f' | 'F' => {
            let digits = format!("{:07}", number(Part::Nanosecond) / 100);
            let digits = digits.get(..run.min(FRACTION_DIGITS)).unwrap_or_default();
            // The capital writes nothing for zero, and otherwise zeros at the end too.
            if letter == 'f' || digits.bytes().any(|digit| digit != b'0') {
                out.push_str(digits);
            }
        }
        other => out.extend(std::iter::repeat_n(other, run)),
    }
}

/// A number with one digit or more if its letter stands alone, and else with two or more.
fn padded(number: i64, run: usize, out: &mut String) {
    if run > 1 && number < 10 {
        out.push('0');
    }
    out.push_str(&number.to_string());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_same_moment_has_many_texts() {
        for text in [
            "2020-02-29",
            "2020-02-29Z",
            "2020-02-29T00:00:00",
            "2020-02-29 00:00:00",
            "2020-02-29T00:00:00Z",
            "2020-02-29T00:00:00.0",
            "2020-02-29T00:00:00.0000000Z",
            "2020-02-29T00:00:00+00:00",
            "2020-02-29T00:00:00-00:00",
            "2020-02-29T02:00:00.000+02:00",
            "2020-02-28 13:59:00.00-10:01",
        ] {
            let read = read(text).map(write);
            assert_eq!(
                read.as_deref(),
                Some("2020-02-29T00:00:00.0000000Z"),
                "{text}"
            );
        }
    }

    #[test]
    fn every_length_of_a_fraction_is_read_up_to_seven_digits() {
        let digits = "12345678";
        for count in 0..=8 {
            let text = format!("2020-01-01T00:00:00.{}Z", &digits[..count]);
            let wanted = (1..=7)
                .contains(&count)
                .then(|| format!("2020-01-01T00:00:00.{:0<7}Z", &digits[..count]));
            assert_eq!(read(&text).map(write), wanted, "{text}");
        }
    }

    #[test]
    fn text_is_read_strictly() {
        for bad in [
            "",
            "2020",
            "2020-02",
            "20200229",
            "2019-02-29",
            "2020-13-01",
            "2020-00-01",
            "2020-01-00",
            "2020-1-1",
            "02020-01-01",
            "+2020-01-01",
            " 2020-01-01",
            "2020-01-01 ",
            "2020/01/01",
            "2020-01-01T",
            "2020-01-01t00:00:00Z",
            "2020-01-01T00:00:00z",
            "2020-01-01T00:00",
            "2020-01-01T00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:60:00Z",
            "2020-01-01T00:00:60Z",
            "2020-01-01T00:00:00,5Z",
            "2020-01-01ZZ",
            "2020-01-01T00:00:00Z+00:00",
            "2020-01-01T00:00:00 +00:00",
            "2020-01-01T00:00:00+0000",
            "2020-01-01T00:00:00+00",
            "2020-01-01T00:00:00+24:00",
            "2020-01-01T00:00:00+00:60",
            "2020-01-01T00:00:00\u{2212}01:00",
            "２020-01-01",
            "1600-12-31T23:59:59.9999999Z",
            "1601-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_prefix_of_a_text_is_a_date_time_only_where_a_part_ends() {
        let text = "2020-02-29T12:34:56.7890123Z";
        for end in 0..=text.len() {
            let whole = end == 10 || end == 19 || end >= 21;
            assert_eq!(read(&text[..end]).is_some(), whole, "{}", &text[..end]);
        }
    }

    #[test]
    fn every_letter_is_written_once_whatever_follows() {
        let moment = read("2005-02-09T14:05:06.0700000Z").unwrap();
        for (pattern, wanted) in [
            ("y|yy|yyy|yyyy|yyyyy", "5|05|2005|2005|2005"),
            ("M|MM|MMM|MMMM", "2|02|02|02"),
            ("d|dd|ddd|dddd", "9|09|09|09"),
            ("H|HH|HHH h|hh|hhh", "14|14|14 2|02|02"),
            ("m|mm|mmm s|ss|sss", "5|05|05 6|06|06"),
            ("t|tt|ttt", "P|PM|PM"),
            ("f|ff|fff|fffffff|ffffffff", "0|07|070|0700000|0700000"),
            ("F|FF|FFF|FFFFFFF|FFFFFFFF", "|07|070|0700000|0700000"),
            ("'d' \"d\" K z zzz g %", "'9' \"9\" K z zzz g %"),
            ("\\d\\\\\\y\\", "d\\y"),
            ("", ""),
            ("ü日 é", "ü日 é"),
        ] {
            assert_eq!(format(moment, pattern), wanted, "{pattern}");
        }
    }

    #[test]
    fn the_half_of_the_day_changes_at_noon() {
        for hour in 0..24 {
            let moment = read(&format!("2020-01-01T{hour:02}:00:00Z")).unwrap();
            let shown = match hour {
                0 => "12 AM".to_owned(),
                1..=11 => format!("{hour} AM"),
                12 => "12 PM".to_owned(),
                later => format!("{} PM", later - 12),
            };
            assert_eq!(format(moment, "h tt"), shown);
        }
    }
}
