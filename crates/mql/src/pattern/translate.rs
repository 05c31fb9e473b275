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
        'e' => out.push_str("\\x1B"),
        'Z' => out.push_str("\\n?\\z"),
        'Q' => quoted(signs, out),
        'E' => {}
        _ => literal_escape(sign, out),
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
        'e' => out.push_str("\\x1B"),
        _ => literal_escape(sign, out),
    }
}
