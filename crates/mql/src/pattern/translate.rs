//! PCRE's spelling to the `regex` crate's.

use std::iter::Peekable;
use std::str::Chars;

/// Rewrites what the two dialects spell or mean differently; everything else is left as it is.
pub(super) fn translate(source: &str, verbose: bool, lines: bool) -> String {
    let mut out = String::with_capacity(source.len() + 8);
    let mut signs = source.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => escape(&mut signs, &mut out),
            '[' => class(&mut signs, &mut out),
            '(' if is_comment(&signs) => {
                signs.find(|sign| *sign == ')');
            }
            '(' => match call(&signs) {
                Some(group) => {
                    signs.find(|sign| *sign == ')');
                    out.push_str(&format!("\\g<{group}>"));
                }
                None => out.push('('),
            },
            '{' if !is_quantifier(&signs) => out.push_str("\\{"),
            '#' if verbose => comment(&mut signs),
            // The end is also before a last line break. Behind this sign nothing may follow but what closes groups, so that
            // taking the line break into the match changes no answer to whether there is one.
            '$' if !lines && signs.clone().all(|sign| sign == ')') => out.push_str("(?:\\n?\\z)"),
            _ => out.push(sign),
        }
    }
    out
}

/// Skips to the end of the line.
fn comment(signs: &mut Peekable<Chars<'_>>) {
    for sign in signs.by_ref() {
        if sign == '\n' {
            return;
        }
    }
}

/// Whether a bracket that was just read opens a comment: `(?#…)`.
fn is_comment(rest: &Peekable<Chars<'_>>) -> bool {
    let mut rest = rest.clone();
    rest.next() == Some('?') && rest.next() == Some('#')
}

/// The group that a bracket which was just read calls: `(?R)`, `(?1)`, `(?-1)`, `(?&name)`.
fn call(rest: &Peekable<Chars<'_>>) -> Option<String> {
    let mut rest = rest.clone();
    rest.next_if_eq(&'?')?;
    let group: String = rest.by_ref().take_while(|sign| *sign != ')').collect();
    let digits = group.trim_start_matches(['+', '-']);
    let numbered = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    match group.strip_prefix('&') {
        Some(name) => Some(name.to_owned()),
        None if group == "R" => Some("0".to_owned()),
        None => numbered.then_some(group),
    }
}

/// Whether a brace that was just read opens a count such as `{2,3}`; else it means itself.
fn is_quantifier(rest: &Peekable<Chars<'_>>) -> bool {
    let mut any = false;
    for sign in rest.clone() {
        match sign {
            '0'..='9' => any = true,
            ',' if any => {}
            '}' => return any,
            _ => return false,
        }
    }
    false
}

fn escape(signs: &mut Peekable<Chars<'_>>, out: &mut String) {
    let Some(sign) = signs.next() else {
        out.push('\\');
        return;
    };
    match sign {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\x0B\\f\\r\\x20]"),
        'S' => out.push_str("[^\\t\\n\\x0B\\f\\r\\x20]"),
        'h' => out.push_str("[\\t\\x20]"),
        'R' => out.push_str("(?:\\r\\n|\\n|\\r|\\f|\\x0B)"),
        'N' => out.push_str("[^\\n]"),
        'b' => out.push_str("(?-u:\\b)"),
        'v' => out.push_str("[\\n\\x0B\\f\\r\\x{85}\\x{2028}\\x{2029}]"),
        'Z' => out.push_str("\\n?\\z"),
        'Q' => quoted(signs, out),
        'E' => {}
        _ => one_sign(sign, signs, out),
    }
}

/// Escapes that mean the same inside and outside of classes.
fn one_sign(sign: char, signs: &mut Peekable<Chars<'_>>, out: &mut String) {
    match sign {
        'e' => out.push_str("\\x1B"),
        'p' | 'P' | 'x' => {
            out.push('\\');
            out.push(sign);
            if signs.peek() == Some(&'{') {
                // What is in the braces is a name or a number, not a count.
                for sign in signs.by_ref() {
                    out.push(sign);
                    if sign == '}' {
                        break;
                    }
                }
            }
        }
        'o' if signs.next_if_eq(&'{').is_some() => {
            let digits: String = signs.by_ref().take_while(|sign| *sign != '}').collect();
            push_code(u32::from_str_radix(&digits, 8).ok(), out);
        }
        'c' => {
            let letter = signs
                .next()
                .map(|letter| letter.to_ascii_uppercase() as u32 ^ 0x40);
            push_code(letter, out);
        }
        '0' => push_octal(sign, signs, out),
        '1'..='7' if is_octal(signs) => push_octal(sign, signs, out),
        _ => literal_escape(sign, out),
    }
}

/// Whether two more octal digits follow: then the number is that of a sign, and not that of a group.
fn is_octal(signs: &Peekable<Chars<'_>>) -> bool {
    let mut rest = signs.clone();
    let mut octal = || rest.next().is_some_and(|sign| ('0'..='7').contains(&sign));
    octal() && octal()
}

fn push_octal(first: char, signs: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut digits = String::from(first);
    while digits.len() < 3
        && let Some(digit) = signs.next_if(|sign| ('0'..='7').contains(sign))
    {
        digits.push(digit);
    }
    push_code(u32::from_str_radix(&digits, 8).ok(), out);
}

/// A sign by its number; one that does not exist is left for the engine to refuse.
fn push_code(code: Option<u32>, out: &mut String) {
    match code {
        Some(code) => out.push_str(&format!("\\x{{{code:X}}}")),
        None => out.push_str("\\x{}"),
    }
}

/// Signs that mean themselves behind a backslash, although the `regex` crate would not have it.
fn literal_escape(sign: char, out: &mut String) {
    match sign {
        '<' | '>' => out.push(sign),
        ' ' => out.push_str("\\x20"),
        _ if !sign.is_ascii() => out.push(sign),
        _ => {
            out.push('\\');
            out.push(sign);
        }
    }
}

/// What stands between `\Q` and `\E` means itself.
fn quoted(signs: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut text = String::new();
    while let Some(sign) = signs.next() {
        if sign == '\\' && signs.peek() == Some(&'E') {
            signs.next();
            break;
        }
        text.push(sign);
    }
    out.push_str(&regex::escape(&text));
}

fn class(signs: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if signs.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    // A closing bracket in the first place means itself.
    if signs.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    while let Some(sign) = signs.next() {
        match sign {
            ']' => {
                out.push(']');
                return;
            }
            '[' => match posix_class(signs) {
                Some(name) => out.push_str(&name),
                None => out.push_str("\\["),
            },
            '\\' => class_escape(signs, out),
            '&' | '~' => {
                out.push('\\');
                out.push(sign);
            }
            ' ' => out.push_str("\\x20"),
            '#' => out.push_str("\\#"),
            _ => out.push(sign),
        }
    }
}

/// Reads `[:alpha:]`, of which the opening bracket is taken already.
fn posix_class(signs: &mut Peekable<Chars<'_>>) -> Option<String> {
    let rest: String = signs.clone().collect();
    let inner = rest.strip_prefix(':')?;
    let (name, _) = inner.split_once(":]")?;
    let plain = name.trim_start_matches('^');
    if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    for _ in 0..name.len() + 3 {
        signs.next();
    }
    Some(format!("[:{name}:]"))
}

fn class_escape(signs: &mut Peekable<Chars<'_>>, out: &mut String) {
    let Some(sign) = signs.next() else {
        out.push('\\');
        return;
    };
    match sign {
        'd' => out.push_str("0-9"),
        'w' => out.push_str("0-9A-Za-z_"),
        's' => out.push_str("\\t\\n\\x0B\\f\\r\\x20"),
        'h' => out.push_str("\\t\\x20"),
        'D' => out.push_str("[^0-9]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'S' => out.push_str("[^\\t\\n\\x0B\\f\\r\\x20]"),
        'b' => out.push_str("\\x08"),
        'v' => out.push_str("\\n\\x0B\\f\\r\\x{85}\\x{2028}\\x{2029}"),
        _ => one_sign(sign, signs, out),
    }
}
