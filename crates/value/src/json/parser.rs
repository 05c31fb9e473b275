//! The strict parser. Strings are found by runs, containers are collected on one shared stack and
//! copied out once their size is known, and recursion is bounded by the depth limit.

use super::{
    DEPTH_CEILING, JsonError, JsonErrorKind as Kind, Limits, is_refused, settle_duplicates,
};
use crate::text::{Until, plain_run};
use crate::{Object, Str, Value};

/// Members for which room is made at once.
const MEMBERS_EXPECTED: usize = 16;

/// The error is boxed so that the good case stays as small as a value.
type Step<T> = Result<T, Box<JsonError>>;

pub(super) fn parse(
    bytes: &[u8],
    limits: &Limits,
    refused_depth: usize,
) -> Result<Value, JsonError> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            return Err(JsonError::in_text(
                Kind::InvalidUtf8,
                bytes,
                error.valid_up_to(),
            ));
        }
    };
    let mut parser = Parser {
        text,
        bytes,
        at: 0,
        depth: 0,
        depth_max: limits.depth_max.min(DEPTH_CEILING),
        refused: limits.duplicates_refused,
        refused_depth,
        members: Vec::with_capacity(MEMBERS_EXPECTED),
        elements: Vec::new(),
        unescaped: String::new(),
    };
    parser.document().map_err(|error| *error)
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    depth_max: usize,
    refused: &'static [&'static str],
    /// The depth of the objects in which names are refused; the outermost has depth 1.
    refused_depth: usize,
    /// Members of all objects that are open, the innermost last.
    members: Vec<(Str, Value)>,
    /// Elements of all arrays that are open, the innermost last.
    elements: Vec<Value>,
    /// The string being unescaped; kept to spare an allocation each.
    unescaped: String,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> Step<Value> {
        let value = self.value()?;
        match self.next_sign() {
            None => Ok(value),
            Some(_) => self.fail(Kind::TrailingData),
        }
    }

    #[cold]
    fn fail<T>(&self, kind: Kind) -> Step<T> {
        Err(Box::new(JsonError::in_text(kind, self.bytes, self.at)))
    }

    /// Fails over whatever stands here, be it a byte or the end.
    #[cold]
    fn fail_here<T>(&self) -> Step<T> {
        match self.bytes.get(self.at) {
            Some(byte) => self.fail(Kind::UnexpectedByte(*byte)),
            None => self.fail(Kind::UnexpectedEnd),
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes over white space; the byte that follows is not taken.
    #[inline]
    fn next_sign(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    fn value(&mut self) -> Step<Value> {
        match self.next_sign() {
            Some(b'"') => self.string(),
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            _ => self.fail_here(),
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> Step<Value> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return self.fail_here();
            }
            self.at += 1;
        }
        Ok(value)
    }

    /// Steps over an opening bracket into one more level.
    fn enter(&mut self) -> Step<()> {
        if self.depth >= self.depth_max {
            return self.fail(Kind::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Steps over a closing bracket.
    fn leave(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    fn array(&mut self) -> Step<Value> {
        self.enter()?;
        if self.next_sign() == Some(b']') {
            self.leave();
            return Ok(Value::Array(Vec::new()));
        }
        let start = self.elements.len();
        loop {
            let element = self.value()?;
            self.elements.push(element);
            match self.next_sign() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.fail_here(),
            }
        }
        self.leave();
        Ok(Value::Array(self.elements.drain(start..).collect()))
    }

    fn object(&mut self) -> Step<Value> {
        self.enter()?;
        if self.next_sign() == Some(b'}') {
            self.leave();
            return Ok(Value::Object(Object::new()));
        }
        let start = self.members.len();
        loop {
            // The name goes to its final place first; what is nested comes and goes above it.
            let place = self.members.len();
            self.name(start)?;
            let value = self.value()?;
            self.members[place].1 = value;
            match self.next_sign() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.fail_here(),
            }
        }
        self.leave();
        settle_duplicates(&mut self.members, start);
        Ok(Value::Object(self.members.drain(start..).collect()))
    }

    /// A member's name and the colon after it; the member is begun with no value yet.
    #[inline]
    fn name(&mut self, start: usize) -> Step<()> {
        if self.next_sign() != Some(b'"') {
            return self.fail_here();
        }
        let begin = self.at;
        let name = match self.plain_string() {
            Some(plain) => Str::new(plain),
            None => self.string_with_escapes(begin + 1)?,
        };
        if self.depth == self.refused_depth
            && is_refused(&name, self.refused, &self.members[start..])
        {
            self.at = begin;
            return self.fail(Kind::Duplicate(name));
        }
        self.members.push((name, Value::Undefined));
        if self.next_sign() != Some(b':') {
            return self.fail_here();
        }
        self.at += 1;
        Ok(())
    }

    /// A string; the opening quote is known to stand here.
    #[inline]
    fn string(&mut self) -> Step<Value> {
        let begin = self.at + 1;
        match self.plain_string() {
            Some(plain) => Ok(Value::String(Str::new(plain))),
            None => Ok(Value::String(self.string_with_escapes(begin)?)),
        }
    }

    /// The string that begins here if it has no escapes; else what is plain of it is passed over.
    #[inline]
    fn plain_string(&mut self) -> Option<&'a str> {
        let begin = self.at + 1;
        self.at = begin + plain_run(&self.bytes[begin..], Until::Special);
        if self.peek() != Some(b'"') {
            return None;
        }
        let plain = &self.text[begin..self.at];
        self.at += 1;
        Some(plain)
    }

    fn string_with_escapes(&mut self, begin: usize) -> Step<Str> {
        let mut unescaped = std::mem::take(&mut self.unescaped);
        unescaped.clear();
        unescaped.push_str(&self.text[begin..self.at]);
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => unescaped.push(self.escape()?),
                // A control character as it is, as the service takes it; it is answered escaped.
                Some(control) => {
                    unescaped.push(char::from(control));
                    self.at += 1;
                }
                None => return self.fail(Kind::UnexpectedEnd),
            }
            let begin = self.at;
            self.at += plain_run(&self.bytes[begin..], Until::Special);
            unescaped.push_str(&self.text[begin..self.at]);
        }
        self.at += 1;
        let text = Str::new(&unescaped);
        self.unescaped = unescaped;
        Ok(text)
    }

    /// One escape; the backslash is known to stand here.
    fn escape(&mut self) -> Step<char> {
        let Some(sign) = self.bytes.get(self.at + 1) else {
            self.at += 1;
            return self.fail(Kind::UnexpectedEnd);
        };
        let plain = match sign {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return self.fail(Kind::InvalidEscape),
        };
        self.at += 2;
        Ok(plain)
    }

    /// `\uXXXX`, or two of them that make one character.
    fn unicode_escape(&mut self) -> Step<char> {
        let begin = self.at;
        let first = self.code_unit()?;
        if let Some(plain) = char::from_u32(first) {
            return Ok(plain);
        }
        let is_high = (0xD800..0xDC00).contains(&first);
        if is_high && self.bytes[self.at..].starts_with(b"\\u") {
            let second = self.code_unit()?;
            if (0xDC00..0xE000).contains(&second) {
                let pair = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                if let Some(astral) = char::from_u32(pair) {
                    return Ok(astral);
                }
            }
        }
        self.at = begin;
        self.fail(Kind::LoneSurrogate)
    }

    /// The four hexadecimal digits of a `\u` escape that is known to stand here.
    fn code_unit(&mut self) -> Step<u32> {
        let mut unit = 0;
        for at in self.at + 2..self.at + 6 {
            let Some(digit) = self.bytes.get(at) else {
                self.at = at;
                return self.fail(Kind::UnexpectedEnd);
            };
            match char::from(*digit).to_digit(16) {
                Some(value) => unit = unit << 4 | value,
                None => return self.fail(Kind::InvalidEscape),
            }
        }
        self.at += 6;
        Ok(unit)
    }

    /// A number; its sign or first digit is known to stand here.
    fn number(&mut self) -> Step<Value> {
        let begin = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let digits_begin = self.at;
        let mut whole: u64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            // It wraps only beyond the digits of a u64, and then the text is read again, as a double.
            whole = whole.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - digits_begin;
        let leading_zero = digits > 1 && self.bytes[digits_begin] == b'0';
        if leading_zero {
            return self.fail(Kind::InvalidNumber);
        }
        if digits == 0 {
            return self.bad_number();
        }
        let has_more = matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        if !has_more
            && digits <= SAFE_DIGITS
            && let Some(whole) = signed(negative, whole)
        {
            return Ok(Value::from(whole));
        }
        self.fraction_and_exponent()?;
        let parsed = self.text[begin..self.at].parse::<f64>();
        match parsed {
            Ok(n) if n.is_finite() => Ok(Value::number(n)),
            Ok(_) => {
                self.at = begin;
                self.fail(Kind::NumberRange)
            }
            Err(_) => self.fail(Kind::InvalidNumber),
        }
    }

    fn fraction_and_exponent(&mut self) -> Step<()> {
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Step<()> {
        let begin = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == begin {
            self.bad_number()
        } else {
            Ok(())
        }
    }

    #[cold]
    fn bad_number<T>(&self) -> Step<T> {
        match self.peek() {
            Some(_) => self.fail(Kind::InvalidNumber),
            None => self.fail(Kind::UnexpectedEnd),
        }
    }
}

/// Integers of so many digits fit a `u64` whatever the digits are.
const SAFE_DIGITS: usize = 19;

/// The integer of a sign and a magnitude, if it fits.
#[inline]
fn signed(negative: bool, magnitude: u64) -> Option<i64> {
    match negative {
        false => i64::try_from(magnitude).ok(),
        true => 0i64.checked_sub_unsigned(magnitude),
    }
}
