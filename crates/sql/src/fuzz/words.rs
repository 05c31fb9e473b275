//! Queries that are nearly right.

use super::Choices;

/// What may come into a query anew.
const WORDS: [&str; 48] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ".",
    "*",
    "/",
    "%",
    "+",
    "-",
    "~",
    "&",
    "|",
    "||",
    "<<",
    ">>>",
    "<",
    ">=",
    "=",
    "!=",
    "?",
    "??",
    "@p",
    "@",
    ";",
    "--",
    "'",
    "\"",
    "\\",
    "😀",
    "1a",
    "0x",
    "NOT",
    "AND",
    "IN",
    "LIKE",
    "BETWEEN",
    "SELECT",
    "VALUE",
    "ORDER",
    "FROM",
    "LET",
    "udf",
    "undefined",
];

/// Changes made at most.
const CHANGES_MAX: usize = 4;

/// The query with some of its words left out, doubled, exchanged, replaced or glued to the next.
pub(super) fn changed(query: &str, bytes: &[u8]) -> String {
    let mut choices = Choices(bytes);
    let mut words = split(query);
    for _ in 0..=choices.below(CHANGES_MAX) {
        let at = choices.below(256) * 256 + choices.below(256);
        let at = at % words.len().max(1);
        let change = choices.below(6);
        let Some(word) = words.get(at).copied() else {
            break;
        };
        match change {
            0 => drop(words.remove(at)),
            1 => words.insert(at, word),
            2 => words.insert(at, choices.one_of(&WORDS)),
            3 => {
                let other = choices.below(256) % words.len();
                words.swap(at, other);
            }
            4 => words.truncate(at),
            _ => words[at] = choices.one_of(&WORDS),
        }
    }
    let mut text = String::new();
    for word in words {
        text.push_str(word);
        if choices.below(8) != 1 {
            text.push(' ');
        }
    }
    text
}

/// The words, numbers and signs of a text; what is in quotes is one.
fn split(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c == '_' || c == '@' || c.is_alphanumeric();
        let end = if is_name(first) {
            rest.find(|c| !is_name(c))
        } else if first == '\'' || first == '"' {
            let inner = rest.get(1..).unwrap_or_default();
            inner.find(first).map(|at| at + 2)
        } else {
            Some(first.len_utf8())
        };
        let (word, tail) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word);
        rest = tail.trim_start();
    }
    words
}
