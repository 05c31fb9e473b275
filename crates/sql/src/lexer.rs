//! Query text to tokens.

use logos::{Lexer, Logos};

use crate::error::SqlError;
use crate::keyword::Keyword;
use crate::limits::TEXT_BYTES_MAX;
use crate::parser::literal;
use crate::span::Span;

/// What the tokenizer itself tells apart; words are sorted into keywords afterwards.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
// Every blank of Unicode: texts are pasted from web pages.
#[logos(skip r"[ \t\r\n\x0B\x0C\u{85}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}]+")]
#[logos(skip(r"--[^\n]*", allow_greedy = true))]
enum Raw {
    // Letters beyond ASCII are looked at in the callback: classes of Unicode would make the automaton large.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*", rest_of_word)]
    Word,
    #[regex(r"@[A-Za-z_][A-Za-z0-9_]*", rest_of_word)]
    Parameter,
    #[regex(r"[\u{80}-\u{84}\u{86}-\u{9f}\u{a1}-\u{167f}\u{1681}-\u{1fff}\u{200b}-\u{2027}\u{202a}-\u{202e}\u{2030}-\u{205e}\u{2060}-\u{2fff}\u{3001}-\u{10FFFF}]", word_beyond_ascii)]
    #[regex(r"@[\u{80}-\u{10FFFF}]", parameter_beyond_ascii)]
    Beyond(Beyond),
    #[regex(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")]
    Number,
    #[regex(r"0[xX][0-9a-fA-F]+")]
    Hex,
    #[regex(r#""([^"\\]|(?s:\\.))*""#)]
    #[regex(r#"'([^'\\]|(?s:\\.))*'"#)]
    String,
    #[token("(")]
    #[token(")")]
    #[token("[")]
    #[token("]")]
    #[token("{")]
    #[token("}")]
    #[token(",")]
    #[token(":")]
    #[token(".")]
    #[token("*")]
    #[token("/")]
    #[token("%")]
    #[token("+")]
    #[token("-")]
    #[token("~")]
    #[token("&")]
    #[token("|")]
    #[token("^")]
    #[token("||")]
    #[token("<<")]
    #[token(">>")]
    #[token(">>>")]
    #[token("<")]
    #[token("<=")]
    #[token(">")]
    #[token(">=")]
    #[token("=")]
    #[token("!=")]
    #[token("<>")]
    #[token("?")]
    #[token("??")]
    Symbol,
}

/// What begins with a character beyond ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beyond {
    /// A letter: a name.
    Word,
    /// A letter after `@`.
    Parameter,
    /// Something that begins no token.
    Nothing,
}

/// Takes the letters and digits beyond ASCII into the word that has begun.
fn rest_of_word(lexer: &mut Lexer<'_, Raw>) {
    let next = lexer.remainder().as_bytes().first();
    if next.is_some_and(|byte| !byte.is_ascii()) {
        continue_word(lexer);
    }
}

fn word_beyond_ascii(lexer: &mut Lexer<'_, Raw>) -> Beyond {
    if lexer.slice().starts_with(char::is_alphabetic) {
        continue_word(lexer);
        Beyond::Word
    } else {
        Beyond::Nothing
    }
}

fn parameter_beyond_ascii(lexer: &mut Lexer<'_, Raw>) -> Beyond {
    if lexer
        .slice()
        .chars()
        .nth(1)
        .is_some_and(char::is_alphabetic)
    {
        continue_word(lexer);
        Beyond::Parameter
    } else {
        Beyond::Nothing
    }
}

fn continue_word(lexer: &mut Lexer<'_, Raw>) {
    let rest = lexer.remainder();
    let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric());
    lexer.bump(end.unwrap_or(rest.len()));
}

/// The kind of a token, and what must be known of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name.
    Word,
    /// A word with a meaning of its own.
    Keyword(Keyword),
    /// `@name`.
    Parameter,
    /// A number.
    Number,
    /// A quoted string.
    String,
    /// Punctuation; its text says which.
    Symbol(&'static str),
    /// No token of the language. It is refused where it is reached: what is wrong before it is reported first.
    Invalid(Invalid),
    /// The end of the text.
    End,
}

/// Why something is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// A character that begins none.
    Character,
    /// A number with letters behind it, or too large.
    Number,
    /// A string that does not end, or whose escape is wrong.
    String,
}

/// A token with its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'t> {
    /// What it is.
    pub kind: Kind,
    /// Its text as written.
    pub text: &'t str,
    /// Where it stands.
    pub span: Span,
}

/// All symbols, so that a token can carry its text with a static lifetime.
const SYMBOLS: [&str; 31] = [
    "(", ")", "[", "]", "{", "}", ",", ":", ".", "*", "/", "%", "+", "-", "~", "&", "|", "^", "||",
    "<<", ">>", ">>>", "<", "<=", ">", ">=", "=", "!=", "<>", "?", "??",
];

/// Splits the text, up to what cannot be read; the last token is [`Kind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, SqlError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(SqlError::too_complex(
            "its text is longer than 512 KB",
            Span::default(),
        ));
    }
    let mut units = Units::new(text);
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut number_end = usize::MAX;
    for (raw, range) in Raw::lexer(text).spanned() {
        let slice = text.get(range.clone()).unwrap_or_default();
        let kind = match raw {
            Ok(Raw::Word | Raw::Beyond(Beyond::Word)) => {
                if range.start == number_end
                    && let Some(number) = tokens.last_mut()
                {
                    extend_number(number, slice);
                    number.text = ending(text, number.text.len() + slice.len(), range.end);
                    number_end = range.end;
                    units.at(range.end);
                    continue;
                }
                Keyword::from_word(slice).map_or(Kind::Word, Kind::Keyword)
            }
            Ok(Raw::Parameter | Raw::Beyond(Beyond::Parameter)) => Kind::Parameter,
            Ok(Raw::Number | Raw::Hex) => {
                number_end = range.end;
                if literal::number(slice).is_some() {
                    Kind::Number
                } else {
                    Kind::Invalid(Invalid::Number)
                }
            }
            Ok(Raw::String) => match literal::wrong_escape(slice) {
                None => Kind::String,
                Some(end) => {
                    tokens.push(Token {
                        kind: Kind::Invalid(Invalid::String),
                        text: slice.get(..end).unwrap_or_default(),
                        span: units.span(range.start, range.start + end),
                    });
                    break;
                }
            },
            Ok(Raw::Symbol) => SYMBOLS
                .iter()
                .find(|symbol| **symbol == slice)
                .map_or(Kind::Invalid(Invalid::Character), |symbol| {
                    Kind::Symbol(symbol)
                }),
            Ok(Raw::Beyond(Beyond::Nothing)) | Err(()) => {
                tokens.push(unreadable(text, range.start, &mut units));
                break;
            }
        };
        tokens.push(Token {
            kind,
            text: slice,
            span: units.span(range.start, range.end),
        });
    }
    let span = units.span(text.len(), text.len());
    tokens.push(Token {
        kind: Kind::End,
        text: "",
        span,
    });
    Ok(tokens)
}

/// Whether the text is the name of a parameter: `@` and an identifier, which may be a reserved word.
pub(crate) fn is_parameter(text: &str) -> bool {
    let mut raw = Raw::lexer(text);
    let whole = matches!(
        raw.next(),
        Some(Ok(Raw::Parameter | Raw::Beyond(Beyond::Parameter)))
    );
    whole && raw.slice() == text
}

/// A number that goes on as a word, such as `1a`, is one token, and none of the language.
fn extend_number(number: &mut Token<'_>, word: &str) {
    let units = u32::try_from(word.encode_utf16().count()).unwrap_or(u32::MAX);
    number.kind = Kind::Invalid(Invalid::Number);
    number.span.end = number.span.end.saturating_add(units);
}

/// So many bytes of the text before that one.
fn ending(text: &str, bytes: usize, end: usize) -> &str {
    text.get(end.saturating_sub(bytes)..end).unwrap_or_default()
}

/// What begins no token: a character, or a string without an end. Nothing after it is looked at, for it is never passed.
fn unreadable<'t>(text: &'t str, start: usize, units: &mut Units<'_>) -> Token<'t> {
    let rest = text.get(start..).unwrap_or_default();
    let (kind, slice) = match rest.chars().next() {
        Some('"' | '\'') => (Invalid::String, rest),
        // An `@` that no letter follows is the character that is wrong.
        Some(first) => (
            Invalid::Character,
            rest.get(..first.len_utf8()).unwrap_or_default(),
        ),
        None => (Invalid::Character, ""),
    };
    Token {
        kind: Kind::Invalid(kind),
        text: slice,
        span: units.span(start, start + slice.len()),
    }
}

/// Turns byte offsets, which only grow, into offsets in UTF-16 code units.
struct Units<'t> {
    text: &'t str,
    bytes: usize,
    units: usize,
}

impl<'t> Units<'t> {
    fn new(text: &'t str) -> Units<'t> {
        Units {
            text,
            bytes: 0,
            units: 0,
        }
    }

    fn at(&mut self, offset: usize) -> u32 {
        let stretch = self.text.get(self.bytes..offset).unwrap_or_default();
        self.units += if stretch.is_ascii() {
            stretch.len()
        } else {
            stretch.encode_utf16().count()
        };
        self.bytes = offset;
        u32::try_from(self.units).unwrap_or(u32::MAX)
    }

    fn span(&mut self, start: usize, end: usize) -> Span {
        Span {
            start: self.at(start),
            end: self.at(end),
        }
    }
}
