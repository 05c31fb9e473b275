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
        let of = |text: &str, strict| terms(text, language, strict).collect::<BTreeSet<String>>();
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
