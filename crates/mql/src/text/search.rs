//! `$text`: what a question asks of texts, and whether a document answers it.

use std::collections::BTreeSet;
use std::sync::Arc;

use lapsedb_value::bson::type_name;
use lapsedb_value::{Object, Value};

use super::spec::shortened;
use super::words::{Strictness, terms};
use super::{Language, TextSpec};
use crate::{MqlError, Result};

/// A question to the texts of documents, read for one text index.
#[derive(Clone, Debug)]
pub struct Search {
    spec: Arc<TextSpec>,
    /// A document has one of these at least; they make its score.
    terms: BTreeSet<String>,
    /// The same where case or accents count.
    exact: BTreeSet<String>,
    denied: BTreeSet<String>,
    phrases: Vec<String>,
    denied_phrases: Vec<String>,
    strict: Strictness,
}

impl Search {
    /// Reads the argument of `$text`.
    pub fn parse(argument: &Value, spec: &Arc<TextSpec>) -> Result<Search> {
        let Some(object) = argument.as_object() else {
            return Err(MqlError::bad_value("$text expects an object"));
        };
        let text = |name: &str| match object.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(wrong_type(name, "string", other)),
        };
        let truth = |name: &str| match object.get(name) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(other) => Err(wrong_type(name, "bool", other)),
        };
        let asked = text("$search")?
            .ok_or_else(|| MqlError::new(4, "Missing expected field \"$search\""))?;
        let language = match text("$language")?.filter(|name| !name.is_empty()) {
            None => spec.language(),
            Some(name) => Language::named(name).ok_or_else(|| {
                MqlError::bad_value(format!(
                    "unsupported language: \"{name}\" for text index version 3"
                ))
            })?,
        };
        let strict = Strictness {
            case: truth("$caseSensitive")?,
            accents: truth("$diacriticSensitive")?,
        };
        let known = [
            "$search",
            "$language",
            "$caseSensitive",
            "$diacriticSensitive",
        ];
        if object.keys().any(|name| !known.contains(&name.as_str())) {
            return Err(MqlError::bad_value("extra fields in $text"));
        }
        let question = Question::read(asked);
        // Words of a language that has no stems here are looked for as the index's own language holds them, too.
        let (own, named) = (spec.language(), text("$language")?.unwrap_or_default());
        let stemless = language == Language::Plain && !named.eq_ignore_ascii_case("none");
        let too = (stemless && own != language).then_some(own);
        let of = |text: &str, strict| {
            let mut all: BTreeSet<String> = terms(text, language, strict).collect();
            all.extend(too.into_iter().flat_map(|own| terms(text, own, strict)));
            all
        };
        Ok(Search {
            spec: Arc::clone(spec),
            terms: of(&question.wanted, Strictness::default()),
            exact: of(&question.wanted, strict),
            denied: of(&question.denied, strict),
            phrases: question.phrases,
            denied_phrases: question.denied_phrases,
            strict,
        })
    }

    /// The terms of which an index names every document that may answer.
    pub fn index_terms(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| shortened(term))
    }

    /// What was understood, as plans show it.
    pub fn describe(&self) -> Object {
        let list = |texts: &mut dyn Iterator<Item = &String>| {
            Value::Array(texts.map(|text| Value::from(text.as_str())).collect())
        };
        let mut described = Object::with_capacity(4);
        described.push("terms", list(&mut self.terms.iter()));
        described.push("negatedTerms", list(&mut self.denied.iter()));
        described.push("phrases", list(&mut self.phrases.iter()));
        described.push("negatedPhrases", list(&mut self.denied_phrases.iter()));
        described
    }

    /// The score of a document that answers; nothing, if it does not.
    pub fn score(&self, document: &Object) -> Result<Option<f64>> {
        let scores = self.spec.scores(document, &self.terms)?;
        if scores.is_empty() {
            return Ok(None);
        }
        let plain =
            self.denied.is_empty() && self.phrases.is_empty() && self.denied_phrases.is_empty();
        if (!plain || self.strict.is_any()) && !self.fits(document)? {
            return Ok(None);
        }
        // In the order of the terms, so that a sum is the same each time.
        let found = self.terms.iter().filter_map(|term| scores.get(term));
        Ok(Some(found.sum()))
    }

    /// Whether a document has what is wanted exactly, and nothing of what is denied.
    fn fits(&self, document: &Object) -> Result<bool> {
        let fold = |phrases: &[String]| {
            phrases
                .iter()
                .map(|phrase| self.strict.folded(phrase))
                .collect::<Vec<_>>()
        };
        let (phrases, denied_phrases) = (fold(&self.phrases), fold(&self.denied_phrases));
        let mut found = vec![false; phrases.len()];
        let (mut exact, mut denied) = (!self.strict.is_any(), false);
        self.spec.visit(document, &mut |text, language, _| {
            if !self.denied.is_empty() || !exact {
                for term in terms(text, language, self.strict) {
                    exact |= self.exact.contains(&term);
                    denied |= self.denied.contains(&term);
                }
            }
            if !phrases.is_empty() || !denied_phrases.is_empty() {
                let folded = self.strict.folded(text);
                denied |= denied_phrases
                    .iter()
                    .any(|phrase| folded.contains(phrase.as_str()));
                for (found, phrase) in found.iter_mut().zip(&phrases) {
                    *found |= folded.contains(phrase.as_str());
                }
            }
        })?;
        Ok(exact && !denied && found.iter().all(|found| *found))
    }
}

fn wrong_type(name: &str, expected: &str, found: &Value) -> MqlError {
    let found = type_name(found);
    MqlError::type_mismatch(format!(
        "\"{name}\" had the wrong type. Expected {expected}, found {found}"
    ))
}

/// A question taken apart.
#[derive(Default)]
struct Question {
    wanted: String,
    denied: String,
    phrases: Vec<String>,
    denied_phrases: Vec<String>,
}

/// A piece of a question.
enum Piece {
    Text(usize, usize),
    Minus,
    Quote(usize),
}

impl Question {
    /// A minus behind a space denies what follows, up to the next space; quotation marks hold phrases.
    fn read(asked: &str) -> Question {
        let mut question = Question::default();
        let (mut denies, mut quoted): (bool, Option<usize>) = (false, None);
        for (piece, behind_space) in pieces(asked) {
            match piece {
                Piece::Minus => denies |= quoted.is_none() && behind_space,
                Piece::Quote(at) => match quoted.take() {
                    Some(start) => {
                        let phrase = asked.get(start + 1..at).unwrap_or_default().to_owned();
                        match denies {
                            true => question.denied_phrases.push(phrase),
                            false => question.phrases.push(phrase),
                        }
                    }
                    None => {
                        denies &= !behind_space;
                        quoted = Some(at);
                    }
                },
                Piece::Text(..) if quoted.is_some() && denies => {}
                Piece::Text(start, end) => {
                    denies &= !behind_space;
                    let words = asked.get(start..end).unwrap_or_default();
                    let sentence = if denies {
                        &mut question.denied
                    } else {
                        &mut question.wanted
                    };
                    sentence.push_str(words);
                    sentence.push(' ');
                }
            }
        }
        question
    }
}

/// The pieces of a question, each with whether a space or the beginning is before it.
fn pieces(asked: &str) -> Vec<(Piece, bool)> {
    let mut pieces = Vec::new();
    let (mut behind_space, mut text): (bool, Option<(usize, bool)>) = (true, None);
    for (at, sign) in asked.char_indices().chain([(asked.len(), ' ')]) {
        let space = matches!(sign, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}');
        if !space && !matches!(sign, '-' | '"') {
            text.get_or_insert((at, behind_space));
            behind_space = false;
            continue;
        }
        if let Some((start, behind)) = text.take() {
            pieces.push((Piece::Text(start, at), behind));
        }
        match sign {
            '-' => pieces.push((Piece::Minus, behind_space)),
            '"' => pieces.push((Piece::Quote(at), behind_space)),
            _ => {}
        }
        behind_space = space;
    }
    pieces
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use lapsedb_value::json;

    use super::*;

    fn object(text: &str) -> Object {
        let value = json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap();
        value.into_object().unwrap()
    }

    fn search(options: &str, question: &str) -> Search {
        let spec = Arc::new(TextSpec::of_options(&object(options)));
        Search::parse(&Value::Object(object(question)), &spec).unwrap()
    }

    /// The score of a document, as text with four digits.
    fn score(options: &str, question: &str, document: &str) -> String {
        match search(options, question).score(&object(document)).unwrap() {
            Some(score) => format!("{score:.4}"),
            None => "none".to_owned(),
        }
    }

    #[test]
    fn documents_have_the_scores_that_mongod_gave_them() {
        let on_a = r#"{"weights":{"a":1}}"#;
        for (options, asked, document, expected) in [
            (on_a, "coffee", r#"{"a":"coffee"}"#, "1.0000"),
            (on_a, "run", r#"{"a":"run"}"#, "1.1000"),
            (on_a, "coffee", r#"{"a":"Coffee shop"}"#, "0.7500"),
            (on_a, "coffee tea", r#"{"a":"coffee coffee tea"}"#, "1.9167"),
            (on_a, "coffee", r#"{"a":["coffee","tea coffee"]}"#, "1.7500"),
            (
                on_a,
                "run",
                r#"{"a":"tea Running runs run runner"}"#,
                "1.4000",
            ),
            (on_a, "coffee", r#"{"b":"coffee"}"#, "none"),
            (on_a, "-tea", r#"{"a":"coffee"}"#, "none"),
            (on_a, "coffee -tea", r#"{"a":"coffee tea"}"#, "none"),
            (on_a, "the", r#"{"a":"the"}"#, "none"),
            (
                r#"{"weights":{"a":2,"b.c":5}}"#,
                "tea",
                r#"{"a":"tea","b":{"c":"tea x"}}"#,
                "5.9500",
            ),
            (
                r#"{"weights":{"$**":7,"a":3}}"#,
                "tea",
                r#"{"a":"tea","z":[{"y":"tea"}]}"#,
                "4.4000",
            ),
        ] {
            let question = format!(r#"{{"$search":"{asked}"}}"#);
            assert_eq!(
                score(options, &question, document),
                expected,
                "{asked} {document}"
            );
        }
    }

    #[test]
    fn quotation_marks_and_minus_signs_are_read() {
        let described = |asked: &str| {
            let question = format!(r#"{{"$search":{asked:?}}}"#);
            Value::Object(search("{}", &question).describe()).to_string()
        };
        assert_eq!(
            described("tea -\"green tea\" \"black tea\" -milk-sugar coffee -\"x"),
            r#"{"terms":["black","coffe","tea"],"negatedTerms":["milk","sugar"],"phrases":["black tea"],"negatedPhrases":["green tea"]}"#
        );
    }

    #[test]
    fn languages_are_named_or_refused() {
        let on_a = r#"{"weights":{"a":1}}"#;
        let plain = r#"{"a":"running","language":"none"}"#;
        assert_eq!(score(on_a, r#"{"$search":"run"}"#, plain), "none");
        assert_eq!(
            score(on_a, r#"{"$search":"running","$language":"none"}"#, plain),
            "1.1000"
        );
        let spec = Arc::new(TextSpec::of_options(&object(on_a)));
        let refused = spec.index_terms(&object(r#"{"a":"x","language":"klingon"}"#));
        assert_eq!(refused.unwrap_err().code, 17262);
        let refused = spec.index_terms(&object(r#"{"a":"x","language":5}"#));
        assert_eq!(refused.unwrap_err().code, 17261);
    }
}
