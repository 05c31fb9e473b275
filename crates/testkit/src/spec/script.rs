//! Text to lines: a verb, the rest, headers from indented lines below, and what is expected.

/// A command and all that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Where it stands, counted from 1.
    pub number: usize,
    /// As written.
    pub text: String,
    /// The first word.
    pub verb: String,
    /// What stands between the verb and the arrow.
    pub rest: String,
    /// What stands after the arrow; empty if there is none.
    pub expected: String,
    /// Headers to send, from indented lines that begin with `>`.
    pub send: Vec<(String, String)>,
    /// Headers to find in the answer, from indented lines that begin with `<`.
    pub find: Vec<(String, String)>,
}

/// Splits a file into commands.
pub(crate) fn parse(text: &str) -> Result<Vec<Line>, (usize, String)> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let number = index + 1;
        let trimmed = raw.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if raw.starts_with(' ') {
            let line = lines.last_mut().ok_or((
                number,
                "an indented line has no command above it".to_owned(),
            ))?;
            let (sign, header) = trimmed.split_at(1);
            let (name, value) = header
                .split_once(':')
                .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                .ok_or((number, "a header is written `> name: value`".to_owned()))?;
            match sign {
                ">" => line.send.push((name, value)),
                "<" => line.find.push((name, value)),
                other => return Err((number, format!("`{other}` is neither `>` nor `<`"))),
            }
            continue;
        }
        let (command, expected) = match trimmed.rsplit_once(" -> ") {
            Some((command, expected)) => (command.trim_end(), expected.trim()),
            None => (trimmed, ""),
        };
        let (verb, rest) = match command.split_once(char::is_whitespace) {
            Some((verb, rest)) => (verb, rest.trim()),
            None => (command, ""),
        };
        lines.push(Line {
            number,
            text: raw.to_owned(),
            verb: verb.to_owned(),
            rest: rest.to_owned(),
            expected: expected.to_owned(),
            send: Vec::new(),
            find: Vec::new(),
        });
    }
    Ok(lines)
}

/// The first word of a text and what follows it.
pub(crate) fn word(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

/// Milliseconds of a span such as `9.999s`, `30d`, `250ms`.
pub(crate) fn span_ms(text: &str) -> Option<u64> {
    let digits = text.find(|sign: char| sign.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(digits);
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let mut ms = whole.parse::<u64>().ok()?.checked_mul(unit_ms)?;
    let mut width = unit_ms;
    for digit in part.chars() {
        width /= 10;
        ms += u64::from(digit.to_digit(10)?) * width;
    }
    Some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_exact_to_the_millisecond() {
        assert_eq!(span_ms("9.999s"), Some(9999));
        assert_eq!(span_ms("0.001s"), Some(1));
        assert_eq!(span_ms("250ms"), Some(250));
        assert_eq!(span_ms("30d"), Some(2_592_000_000));
        assert_eq!(span_ms("1.5h"), Some(5_400_000));
        assert_eq!(span_ms("5"), None);
        assert_eq!(span_ms("5y"), None);
    }

    #[test]
    fn headers_belong_to_the_command_above() {
        let lines = parse("read c a -> 304\n    > If-None-Match: $e\n    < etag: $e\n").unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].verb, "read");
        assert_eq!(lines[0].rest, "c a");
        assert_eq!(lines[0].expected, "304");
        assert_eq!(lines[0].send, [("If-None-Match".into(), "$e".into())]);
        assert_eq!(lines[0].find, [("etag".into(), "$e".into())]);
    }

    #[test]
    fn the_last_arrow_counts() {
        let lines = parse("create c {\"a\":\"x -> y\"} -> 201").unwrap();
        assert_eq!(lines[0].rest, "c {\"a\":\"x -> y\"}");
        assert_eq!(lines[0].expected, "201");
    }
}
