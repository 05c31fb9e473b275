//! Decimals in print.

use std::fmt;
use std::str::FromStr;

use super::{DIGITS_MAX, Decimal128, digits, finish};

/// Why a text is no decimal: it is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecimalError;

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The text is not a decimal number.")
    }
}

impl std::error::Error for DecimalError {}

/// Exponents in text beyond this mean zero or infinity whatever the digits.
const EXPONENT_TEXT_MAX: i32 = 1_000_000;

impl FromStr for Decimal128 {
    type Err = DecimalError;

    /// Reads `1.50`, `-2E+3`, `NaN`, `Infinity`; digits beyond 34 are rounded.
    fn from_str(text: &str) -> Result<Decimal128, DecimalError> {
        let (negative, rest) = match text.as_bytes() {
            [b'-', ..] => (true, &text[1..]),
            [b'+', ..] => (false, &text[1..]),
            _ => (false, text),
        };
        match rest.to_ascii_lowercase().as_str() {
            "nan" => return Ok(Decimal128::NaN),
            "inf" | "infinity" => return Ok(Decimal128::Infinity { negative }),
            _ => {}
        }
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (rest, 0),
        };
        parse_mantissa(negative, mantissa, exponent)
    }
}

fn parse_exponent(text: &str) -> Result<i32, DecimalError> {
    let (negative, text) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if text.is_empty() {
        return Err(DecimalError);
    }
    let mut exponent = 0i32;
    for sign in text.bytes() {
        let digit = digit(sign)?;
        exponent = (exponent * 10 + digit as i32).min(EXPONENT_TEXT_MAX);
    }
    Ok(if negative { -exponent } else { exponent })
}

fn digit(sign: u8) -> Result<u8, DecimalError> {
    match sign.is_ascii_digit() {
        true => Ok(sign - b'0'),
        false => Err(DecimalError),
    }
}

fn parse_mantissa(
    negative: bool,
    text: &str,
    mut exponent: i32,
) -> Result<Decimal128, DecimalError> {
    let (mut coefficient, mut rest) = (0u128, false);
    let (mut any, mut at_point) = (false, false);
    for sign in text.bytes() {
        if sign == b'.' && !at_point {
            at_point = true;
            continue;
        }
        let digit = u128::from(digit(sign)?);
        any = true;
        if digits(coefficient) < DIGITS_MAX + 2 {
            coefficient = coefficient * 10 + digit;
            exponent -= i32::from(at_point);
        } else {
            rest |= digit != 0;
            exponent += i32::from(!at_point);
        }
    }
    match any {
        true => Ok(finish(negative, coefficient, exponent, rest)),
        false => Err(DecimalError),
    }
}

impl fmt::Display for Decimal128 {
    /// The digits as they are kept: `1.0` and `1.00` print apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        crate::extended::write_decimal128_text(u128::from_le_bytes(self.to_bytes()), &mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}
