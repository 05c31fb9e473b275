//! Durations as people write them: `30d`, `1h30m`, `1500ms`.

/// The units, longest name first, so that `ms` is not read as `m`.
const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// The milliseconds of a duration; nothing if the text is not one, or too long to count.
pub fn parse(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut sum: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = rest.split_at_checked(digits)?;
        let number: u64 = number.parse().ok()?;
        let (unit, behind) = UNITS
            .iter()
            .find_map(|(name, ms)| Some((*ms, behind.strip_prefix(name)?)))?;
        sum = sum.checked_add(number.checked_mul(unit)?)?;
        rest = behind;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_its_milliseconds() {
        for (text, ms) in [
            ("0s", 0),
            ("1ms", 1),
            ("1500ms", 1_500),
            ("1s", 1_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("30d", 2_592_000_000),
            ("1d2h3m4s5ms", 93_784_005),
            (" 1m1ms ", 60_001),
            ("1m1m", 120_000),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            " ",
            "1",
            "s",
            "1x",
            "-1s",
            "+1s",
            "1.5h",
            "1h 30m",
            "1H",
            "1h30",
            "99999999999999999999s",
            "9999999999999999d",
            "１s",
            "1µs",
            "m1",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
