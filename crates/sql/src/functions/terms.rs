//! Words of a text: runs of letters and digits, in lower case.

use std::collections::HashSet;
use std::sync::LazyLock;

use lapsedb_value::Value;

use super::fulltext::common_words::COMMON_WORDS;
use crate::limits::FUZZY_WORDS_MAX;

/// How much a word of a text may differ from that of a phrase at most: letters put in, left out or changed.
const DISTANCE_MAX: usize = 2;
/// Columns of a matrix of distances that are looked at in each row.
const BAND: usize = 2 * DISTANCE_MAX + 1;

static COMMON: LazyLock<HashSet<&str>> =
    LazyLock::new(|| COMMON_WORDS.split_ascii_whitespace().collect());

/// The words of a text in order.
pub(crate) struct Terms(Vec<String>);

/// What is looked for in a text: words one after the other.
#[derive(Clone, Debug)]
pub struct Phrase {
    words: Vec<String>,
    /// How many letters of each word may differ.
    distance: usize,
    /// For each word, how many words before it are also the beginning of the phrase.
    shorter: Vec<usize>,
}

impl Phrase {
    /// Words as they are.
    pub(crate) fn of(text: &str) -> Phrase {
        let Terms(words) = Terms::of(text);
        let mut shorter = vec![0; words.len()];
        let mut matched = 0;
        for at in 1..words.len() {
            matched = longer(&words, &shorter, matched, &words[at]);
            shorter[at] = matched;
        }
        Phrase {
            words,
            distance: 0,
            shorter,
        }
    }

    /// A text, or a text that others may be similar to: `{"term": "…", "distance": 0 to 2}`.
    pub(crate) fn from_value(value: &Value) -> Option<Phrase> {
        if let Some(text) = value.as_str() {
            return Some(Phrase::of(text));
        }
        let distance = value.get("distance").as_f64()?;
        if !(0.0..=DISTANCE_MAX as f64).contains(&distance) {
            return None;
        }
        let mut phrase = Phrase::of(value.get("term").as_str()?);
        // To find something similar, every place of the text is compared with the whole phrase.
        if phrase.words.len() <= FUZZY_WORDS_MAX {
            phrase.distance = distance as usize;
        }
        Some(phrase)
    }
}

impl Terms {
    /// Splits a text. A number with its fraction and its thousands is one word, as for the service.
    pub(crate) fn of(text: &str) -> Terms {
        let mut words = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find(char::is_alphanumeric) {
            rest = &rest[start..];
            let word = &rest[..end_of_word(rest)];
            words.push(word.to_lowercase());
            rest = &rest[word.len()..];
        }
        Terms(words)
    }

    /// How many words there are, common ones apart: what the service takes for the length of a text.
    pub(crate) fn weight(&self) -> usize {
        let rare = |word: &&String| !COMMON.contains(word.as_str());
        self.0.iter().filter(rare).count()
    }

    /// How often the words of the phrase occur one after the other.
    pub(crate) fn count(&self, phrase: &Phrase) -> usize {
        if phrase.distance > 0 {
            return self.similar(phrase).count();
        }
        self.ends(phrase).count()
    }

    /// Whether the words of the phrase occur one after the other. A phrase without words is nowhere.
    pub(crate) fn contain(&self, phrase: &Phrase) -> bool {
        if phrase.distance > 0 {
            return self.similar(phrase).next().is_some();
        }
        self.ends(phrase).next().is_some()
    }

    /// Where words begin that are similar to those of the phrase.
    fn similar<'a>(&'a self, phrase: &'a Phrase) -> impl Iterator<Item = usize> + 'a {
        let wanted = &phrase.words;
        let windows = self.0.windows(wanted.len().max(1)).enumerate();
        let found = windows.filter(move |(_, words)| {
            words.len() == wanted.len()
                && words
                    .iter()
                    .zip(wanted)
                    .all(|(word, wanted)| is_similar(word, wanted, phrase.distance))
        });
        found.map(|(at, _)| at)
    }

    /// Where the phrase ends, each time. Every word is looked at twice at most, however often the phrase begins (Knuth, Morris, Pratt).
    fn ends<'a>(&'a self, phrase: &'a Phrase) -> impl Iterator<Item = usize> + 'a {
        let (wanted, shorter) = (&phrase.words, &phrase.shorter);
        let mut matched = 0;
        self.0.iter().enumerate().filter_map(move |(at, word)| {
            if wanted.is_empty() {
                return None;
            }
            if matched == wanted.len() {
                matched = shorter[matched - 1];
            }
            matched = longer(wanted, shorter, matched, word);
            (matched == wanted.len()).then_some(at)
        })
    }
}

/// Where the word ends that a text begins with.
fn end_of_word(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut digit = false;
    while let Some((at, c)) = chars.next() {
        if !c.is_alphanumeric() {
            let inside = digit && matches!(c, '.' | ',');
            let next = chars.peek().is_some_and(|(_, next)| next.is_numeric());
            if !inside || !next {
                return at;
            }
        }
        digit = c.is_numeric();
    }
    text.len()
}

/// How many words of the phrase are matched with one word more; `shorter` tells the longest beginning that is also an end.
fn longer(wanted: &[String], shorter: &[usize], mut matched: usize, word: &str) -> usize {
    while matched > 0 && wanted[matched] != word {
        matched = shorter[matched - 1];
    }
    matched + usize::from(wanted[matched] == word)
}

/// Whether one word becomes the other with so many letters put in, left out or changed.
fn is_similar(a: &str, b: &str, distance: usize) -> bool {
    let distance = distance.min(DISTANCE_MAX);
    // A letter has four bytes at most.
    if a.len() > 4 * (b.len() + distance) || b.len() > 4 * (a.len() + distance) {
        return false;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > distance {
        return false;
    }
    // Of the matrix of Levenshtein only a band around the diagonal can hold small numbers. Column `at` of the band is column
    // `row + at - distance` of the matrix.
    let far = distance + 1;
    let mut above = [far; BAND];
    for (column, place) in above.iter_mut().skip(distance).enumerate() {
        *place = column.min(far);
    }
    for (row, x) in (1..).zip(&a) {
        let mut here = [far; BAND];
        for at in 0..=2 * distance {
            let Some(column) = (row + at).checked_sub(distance) else {
                continue;
            };
            here[at] = match column.checked_sub(1).map(|before| b.get(before)) {
                None => row.min(far),
                Some(None) => far,
                Some(Some(y)) => {
                    let changed = above[at] + usize::from(x != y);
                    let left_out = above.get(at + 1).map_or(far, |known| known + 1);
                    let put_in = at.checked_sub(1).map_or(far, |left| here[left] + 1);
                    changed.min(left_out).min(put_in).min(far)
                }
            };
        }
        if here.iter().all(|known| *known >= far) {
            return false;
        }
        above = here;
    }
    let last = (b.len() + distance).checked_sub(a.len());
    last.and_then(|at| above.get(at))
        .is_some_and(|known| *known <= distance)
}

#[cfg(test)]
#[path = "terms_tests.rs"]
mod tests;
