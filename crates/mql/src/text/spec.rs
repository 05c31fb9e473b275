//! What a text index holds: which fields count how much, and in which languages they are.

use std::collections::{BTreeSet, HashMap};

use lapsedb_value::{Object, Str, Value};

use super::Language;
use super::words::{Strictness, terms};
use crate::{MqlError, Result};

/// The path that stands for all fields.
const EVERYTHING: &str = "$**";
/// How much a word counts where no weight is given.
const WEIGHT_DEFAULT: f64 = 1.0;
/// Terms of one document at most.
const TERMS_MAX: usize = 400_000;
/// Bytes of a term that an index tells apart; longer ones are found by their beginnings.
const TERM_BYTES_MAX: usize = 256;

/// The definition of a text index.
#[derive(Clone, Debug)]
pub struct TextSpec {
    /// By path, how much a word there counts; sorted.
    weights: Vec<(Str, f64)>,
    /// Whether words count everywhere, at paths without a weight too.
    everywhere: bool,
    language: Language,
    language_field: Str,
}

impl TextSpec {
    /// Reads the options of an index, which have been checked.
    pub fn of_options(options: &Object) -> TextSpec {
        let empty = Object::new();
        let given = options
            .get("weights")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let weight =
            |(path, weight): (&Str, &Value)| (path.clone(), weight.as_f64().unwrap_or(1.0));
        let mut weights: Vec<(Str, f64)> = given.iter().map(weight).collect();
        weights.sort_by(|(a, _), (b, _)| a.cmp(b));
        let at = weights.iter().position(|(path, _)| path == EVERYTHING);
        // As in MongoDB, its own weight says nothing.
        let everywhere = at.map(|at| weights.remove(at)).is_some();
        let text = |name: &str| options.get(name).and_then(Value::as_str);
        TextSpec {
            weights,
            everywhere,
            language: text("default_language")
                .and_then(Language::named)
                .unwrap_or(Language::English),
            language_field: text("language_override").unwrap_or("language").into(),
        }
    }

    /// The language of documents that name none, and of questions.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The terms under which an index holds a document.
    ///
    /// # Errors
    /// When the document names a language that is not known, or has too many words.
    pub fn index_terms(&self, document: &Object) -> Result<BTreeSet<String>> {
        let mut all = BTreeSet::new();
        self.visit(document, &mut |text, language, _| {
            all.extend(
                terms(text, language, Strictness::default())
                    .map(|term| shortened(&term).to_owned()),
            );
        })?;
        match all.len() > TERMS_MAX {
            true => Err(MqlError::new(
                16732,
                format!("a document in a text index has at most {TERMS_MAX} different words"),
            )),
            false => Ok(all),
        }
    }

    /// The same, each with how much it counts in the document.
    ///
    /// # Errors
    /// As of [`TextSpec::index_terms`].
    pub fn scored_index_terms(&self, document: &Object) -> Result<Vec<(String, f64)>> {
        self.index_terms(document)?;
        let mut all = BTreeSet::new();
        self.visit(document, &mut |text, language, _| {
            all.extend(terms(text, language, Strictness::default()));
        })?;
        let scores = self.scores(document, &all)?;
        let short = |(term, score): (String, f64)| (shortened(&term).to_owned(), score);
        Ok(scores.into_iter().map(short).collect())
    }

    /// How much each of some terms counts in a document; those that it lacks are left out.
    pub(super) fn scores(
        &self,
        document: &Object,
        wanted: &BTreeSet<String>,
    ) -> Result<HashMap<String, f64>> {
        let mut scores = HashMap::new();
        self.visit(document, &mut |text, language, weight| {
            let mut found: HashMap<String, Frequency> = HashMap::new();
            let mut total = 0u32;
            for term in terms(text, language, Strictness::default()) {
                total += 1;
                if wanted.contains(&term) {
                    found.entry(term).or_default().count();
                }
            }
            for (term, frequency) in found {
                let score = weight * frequency.score(&term, text, total);
                *scores.entry(term).or_insert(0.0) += score;
            }
        })?;
        Ok(scores)
    }

    /// Shows every text of a document that counts, with its language and its weight.
    pub(super) fn visit(
        &self,
        document: &Object,
        each: &mut dyn FnMut(&str, Language, f64),
    ) -> Result<()> {
        let mut visit = Visit { spec: self, each };
        let language = self.language_of(document, self.language)?;
        visit.object(document, language, "")
    }

    fn language_of(&self, document: &Object, around: Language) -> Result<Language> {
        match document.get(&self.language_field) {
            None => Ok(around),
            Some(Value::String(name)) => Language::named(name).ok_or_else(|| {
                MqlError::new(17262, format!("language override unsupported: {name}"))
            }),
            Some(_) => Err(MqlError::new(
                17261,
                "found language override field in document with non-string type",
            )),
        }
    }

    fn weight(&self, path: &str) -> Option<f64> {
        let at = self
            .weights
            .binary_search_by(|(known, _)| known.as_str().cmp(path));
        at.ok()
            .and_then(|at| self.weights.get(at))
            .map(|(_, weight)| *weight)
    }

    /// Whether a path leads to one that counts.
    fn leads(&self, path: &str) -> bool {
        let below = |known: &Str| {
            known
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        self.weights.iter().any(|(known, _)| below(known))
    }
}

/// The beginning of a term that an index tells apart.
pub(super) fn shortened(term: &str) -> &str {
    let mut end = term.len().min(TERM_BYTES_MAX);
    while !term.is_char_boundary(end) {
        end -= 1;
    }
    term.get(..end).unwrap_or(term)
}

struct Visit<'a> {
    spec: &'a TextSpec,
    each: &'a mut dyn FnMut(&str, Language, f64),
}

impl Visit<'_> {
    fn object(&mut self, object: &Object, language: Language, path: &str) -> Result<()> {
        for (name, value) in object {
            if self.spec.everywhere && *name == self.spec.language_field {
                continue;
            }
            match path.is_empty() {
                true => self.value(value, language, name, false)?,
                false => self.value(value, language, &format!("{path}.{name}"), false)?,
            }
        }
        Ok(())
    }

    fn value(
        &mut self,
        value: &Value,
        language: Language,
        path: &str,
        in_array: bool,
    ) -> Result<()> {
        let spec = self.spec;
        let weight = spec.weight(path);
        if !spec.everywhere && weight.is_none() && !spec.leads(path) {
            return Ok(());
        }
        match value {
            Value::String(text) => {
                if let Some(weight) = weight.or(spec.everywhere.then_some(WEIGHT_DEFAULT)) {
                    (self.each)(text, language, weight);
                }
                Ok(())
            }
            Value::Object(inner) if spec.everywhere || weight.is_none() => {
                let language = spec.language_of(inner, language)?;
                self.object(inner, language, path)
            }
            Value::Array(elements) if spec.everywhere || !in_array => elements
                .iter()
                .try_for_each(|element| self.value(element, language, path, true)),
            _ => Ok(()),
        }
    }
}

/// How often a term stands in a text. Each further time counts half as much as the one before.
#[derive(Default)]
struct Frequency {
    count: u32,
    sum: f64,
    next: Option<f64>,
}

/// What a text gains that is nothing but the term.
const WHOLE_TEXT: f64 = 1.1;

impl Frequency {
    fn count(&mut self) {
        let share = self.next.unwrap_or(1.0);
        self.count += 1;
        self.sum += share;
        self.next = Some(share / 2.0);
    }

    fn score(&self, term: &str, text: &str, total: u32) -> f64 {
        let density = 0.5 * f64::from(self.count) / f64::from(total) + 0.5;
        let whole = text.len() == term.len() && text.eq_ignore_ascii_case(term);
        self.sum * density * if whole { WHOLE_TEXT } else { 1.0 }
    }
}
