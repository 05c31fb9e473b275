//! The languages that texts can be in.

use super::{stem, stop_words};

/// A language, by what is done with its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Stemmed, and without stop words.
    English,
    /// Known, but its words are taken as they are.
    Plain,
}

/// The names and codes of languages besides English.
const OTHERS: &[&str] = &[
    "da",
    "danish",
    "de",
    "dutch",
    "es",
    "fi",
    "finnish",
    "fr",
    "french",
    "german",
    "hu",
    "hungarian",
    "it",
    "italian",
    "nb",
    "nl",
    "none",
    "norwegian",
    "portuguese",
    "pt",
    "ro",
    "romanian",
    "ru",
    "russian",
    "spanish",
    "sv",
    "swedish",
    "tr",
    "turkish",
];

impl Language {
    /// The language of that name or code, if it is known.
    pub fn named(name: &str) -> Option<Language> {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "en" | "english" => Some(Language::English),
            other if OTHERS.contains(&other) => Some(Language::Plain),
            _ => None,
        }
    }

    /// Whether a word in small letters says nothing by itself.
    pub(super) fn is_stop_word(self, word: &str) -> bool {
        match self {
            Language::English => stop_words::is_english(word),
            Language::Plain => false,
        }
    }

    /// The stem of a word.
    pub(super) fn stem(self, word: &str) -> String {
        match self {
            Language::English => stem::english(word),
            Language::Plain => word.to_owned(),
        }
    }
}
