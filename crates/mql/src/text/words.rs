//! Texts to words, and words to the terms that are compared.

use std::sync::LazyLock;

use regex::Regex;

use super::Language;
use super::fold::{bare, small};

/// What lies between signs that part words: dashes, quotation marks, spaces, and the signs of syntax and punctuation.
const APART: &str = r"\p{Dash}\p{Hyphen}\p{Pattern_Syntax}\p{Quotation_Mark}\p{Terminal_Punctuation}\p{White_Space}";

static PLAIN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("[^{APART}]+")).ok());
/// An apostrophe is a part of an English word.
static ENGLISH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!("(?:[^{APART}]|')+")).ok());

/// What tells two words apart besides their letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Strictness {
    pub(super) case: bool,
    pub(super) accents: bool,
}

impl Strictness {
    pub(super) fn is_any(self) -> bool {
        self.case || self.accents
    }

    /// The text as phrases are compared.
    pub(super) fn folded(self, text: &str) -> String {
        let text = if self.case {
            text.to_owned()
        } else {
            small(text)
        };
        if self.accents { text } else { bare(&text) }
    }
}

/// The words of a text as they stand there.
fn words(text: &str, language: Language) -> impl Iterator<Item = &str> {
    let pattern = match language {
        Language::English => &*ENGLISH,
        Language::Plain => &*PLAIN,
    };
    pattern
        .iter()
        .flat_map(|pattern| pattern.find_iter(text))
        .map(|found| found.as_str())
}

/// The terms of a text in their order: words that say something, reduced to their stems.
pub(super) fn terms(
    text: &str,
    language: Language,
    strict: Strictness,
) -> impl Iterator<Item = String> {
    words(text, language).filter_map(move |word| {
        let lower = small(word);
        if language.is_stop_word(&lower) {
            return None;
        }
        let stem = language.stem(if strict.case { word } else { &lower });
        let term = if strict.accents { stem } else { bare(&stem) };
        (!term.is_empty()).then_some(term)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, language: Language) -> Vec<String> {
        terms(text, language, Strictness::default()).collect()
    }

    #[test]
    fn words_end_at_signs_and_lose_case_accents_and_endings() {
        let text = "The O'Neils' e-mail, x_y: foo@bar.com 3.14 «Größe» Cafés";
        assert_eq!(
            all(text, Language::English),
            [
                "o'neil", "e", "mail", "x_i", "foo", "bar", "com", "3", "14", "große", "cafe"
            ]
        );
        assert_eq!(
            all("The O'Neils run", Language::Plain),
            ["the", "o", "neils", "run"]
        );
    }

    #[test]
    fn strict_terms_keep_case_or_accents() {
        let strict = |case, accents| {
            let strict = Strictness { case, accents };
            terms("Running CAFÉS The", Language::English, strict).collect::<Vec<_>>()
        };
        assert_eq!(strict(true, false), ["Run", "CAFES"]);
        assert_eq!(strict(false, true), ["run", "café"]);
    }
}
