//! Numbers as the text that the service writes them in.

/// Digits that are tried first for a number with a fraction, and digits that tell every double from every other.
const DIGITS: usize = 15;
const DIGITS_EXACT: usize = 17;
/// The least exponent that is written as zeros behind the point.
const EXPONENT_MIN: i32 = -4;

/// A double as text: with 15 digits if those say it exactly, else with 17. Whole numbers always have 17.
///
/// Fewer digits are written where the last ones are zeros, and an exponent of ten where there are more places than digits:
/// `1e+17`, `1e-07`, `0.33333333333333331`.
pub(crate) fn of_double(n: f64) -> String {
    if n.is_nan() {
        return "NaN".to_owned();
    }
    if n.is_infinite() {
        return if n > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if n.trunc() != n {
        let text = with_digits(n, DIGITS);
        if text.parse() == Ok(n) {
            return text;
        }
    }
    with_digits(n, DIGITS_EXACT)
}

/// What C's `printf` makes of a finite number with `%.{digits}g`.
fn with_digits(n: f64, digits: usize) -> String {
    let text = format!("{:.*e}", digits.saturating_sub(1), n + 0.0);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let all = mantissa.replace('.', "");
    let (first, rest) = all.split_at_checked(1).unwrap_or((&all, ""));
    let rest = rest.trim_end_matches('0');
    let point = if rest.is_empty() { "" } else { "." };
    match usize::try_from(exponent) {
        Ok(places) if places < digits => {
            let shown = format!("{first}{rest}");
            let (whole, fraction) = shown
                .split_at_checked(places + 1)
                .unwrap_or((shown.as_str(), ""));
            let point = if fraction.is_empty() { "" } else { "." };
            format!(
                "{sign}{whole:0<width$}{point}{fraction}",
                width = places + 1
            )
        }
        Err(_) if exponent >= EXPONENT_MIN => {
            let zeros = usize::try_from(-1 - exponent).unwrap_or_default();
            format!("{sign}0.{:0<zeros$}{first}{rest}", "")
        }
        _ => {
            let minus = if exponent < 0 { '-' } else { '+' };
            format!(
                "{sign}{first}{point}{rest}e{minus}{:02}",
                exponent.unsigned_abs()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_have_the_digits_that_they_need() {
        for (n, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (1.0 / 3.0, "0.33333333333333331"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-4, "0.0001"),
            (1.5e-4, "0.00015"),
            (1e-5, "1e-05"),
            (1e-7, "1e-07"),
            (-1.25e-100, "-1.25e-100"),
            (120.0, "120"),
            (1234.5, "1234.5"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1.5e17, "1.5e+17"),
            (1e21, "1e+21"),
            (1e300, "1.0000000000000001e+300"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "4.94065645841247e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(of_double(n), text, "{n:e}");
        }
    }

    #[test]
    fn the_text_says_the_number() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let n = f64::from_bits(state ^ (state >> 29));
            if n.is_finite() {
                assert_eq!(of_double(n).parse(), Ok(n));
            }
        }
    }
}
