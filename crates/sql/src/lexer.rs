//! Query text to tokens.

use logos::Logos;

use crate::error::SqlError;
use crate::keyword::Keyword;
use crate::limits::TEXT_BYTES_MAX;
use crate::span::Span;

/// What the tokenizer itself tells apart; words are sorted into keywords afterwards.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\x0B\x0C\u{feff}]+")]
#[logos(skip(r"--[^\n]*", allow_greedy = true))]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
enum Raw {
    // Everything beyond ASCII is taken into the word and checked to be a letter afterwards: that
    // keeps the automaton small.
    #[regex(r"[A-Za-z_\u{80}-\u{feFE}\u{ff00}-\u{10FFFF}][A-Za-z0-9_\u{80}-\u{feFE}\u{ff00}-\u{10FFFF}]*")]
    Word,
    #[regex(r"@[A-Za-z0-9_\u{80}-\u{feFE}\u{ff00}-\u{10FFFF}]+")]
    Parameter,
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
    /// The end of the text.
    End,
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

/// Splits the text; the last token is [`Kind::End`].
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
        let span = units.span(range.start, range.end);
        let kind = match raw {
            Ok(Raw::Word) => {
                if range.start == number_end {
                    return Err(SqlError::number_literal(span));
                }
                word(slice, span)?
            }
            Ok(Raw::Parameter) => Kind::Parameter,
            Ok(Raw::Number | Raw::Hex) => {
                number_end = range.end;
                Kind::Number
            }
            Ok(Raw::String) => Kind::String,
            Ok(Raw::Symbol) => match SYMBOLS.iter().find(|symbol| **symbol == slice) {
                Some(symbol) => Kind::Symbol(symbol),
                None => return Err(SqlError::syntax(slice, span)),
            },
            Err(()) if slice.starts_with(['"', '\'']) => {
                return Err(SqlError::string_literal(span));
            }
            Err(()) => return Err(SqlError::syntax(slice, span)),
        };
        tokens.push(Token {
            kind,
            text: slice,
            span,
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

fn word(text: &str, span: Span) -> Result<Kind, SqlError> {
    if !text.is_ascii() && !text.chars().all(|c| c == '_' || c.is_alphanumeric()) {
        return Err(SqlError::syntax(text, span));
    }
    Ok(Keyword::from_word(text).map_or(Kind::Word, Kind::Keyword))
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
