//! Words of a text: runs of letters and digits, in lower case.

/// The words of a text in order.
pub(crate) struct Terms(Vec<String>);

impl Terms {
    /// Splits a text.
    pub(crate) fn of(text: &str) -> Terms {
        let words = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        Terms(words.map(str::to_lowercase).collect())
    }

    /// How many words there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// How often the words of the phrase occur one after the other.
    pub(crate) fn count(&self, phrase: &str) -> usize {
        self.ends(&Terms::of(phrase)).count()
    }

    /// Whether the words of the phrase occur one after the other. A phrase without words is nowhere.
    pub(crate) fn contain(&self, phrase: &str) -> bool {
        self.ends(&Terms::of(phrase)).next().is_some()
    }

    /// Where the phrase ends, each time. Every word is looked at twice at most, however often the phrase begins (Knuth, Morris, Pratt).
    fn ends<'a>(&'a self, phrase: &'a Terms) -> impl Iterator<Item = usize> + 'a {
        let wanted = &phrase.0;
        let mut shorter = vec![0; wanted.len()];
        let mut matched = 0;
        for at in 1..wanted.len() {
            matched = longer(wanted, &shorter, matched, &wanted[at]);
            shorter[at] = matched;
        }
        let mut matched = 0;
        self.0.iter().enumerate().filter_map(move |(at, word)| {
            if wanted.is_empty() {
                return None;
            }
            if matched == wanted.len() {
                matched = shorter[matched - 1];
            }
            matched = longer(wanted, &shorter, matched, word);
            (matched == wanted.len()).then_some(at)
        })
    }
}

/// How many words of the phrase are matched with one word more; `shorter` tells the longest beginning that is also an end.
fn longer(wanted: &[String], shorter: &[usize], mut matched: usize, word: &str) -> usize {
    while matched > 0 && wanted[matched] != word {
        matched = shorter[matched - 1];
    }
    matched + usize::from(wanted[matched] == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_counted_as_windows_of_words() {
        let texts = (0..3_u32.pow(7)).map(|mut n| {
            let mut words = Vec::new();
            while n > 0 {
                words.push(["a", "b", ""][n as usize % 3]);
                n /= 3;
            }
            words.join(" ")
        });
        for text in texts {
            let words = Terms::of(&text);
            for phrase in ["", "a", "a a", "a b a", "a a b a a", "b"] {
                let wanted = Terms::of(phrase).0;
                let windows = words.0.windows(wanted.len().max(1));
                let count = windows.filter(|window| *window == wanted).count();
                assert_eq!(words.count(phrase), count, "{phrase} in {text}");
                assert_eq!(words.contain(phrase), count > 0, "{phrase} in {text}");
            }
        }
    }

    #[test]
    fn a_phrase_that_almost_occurs_everywhere_takes_linear_time() {
        let words = Terms::of(&"a ".repeat(200_000));
        let phrase = format!("{}b", "a ".repeat(100_000));
        assert!(!words.contain(&phrase));
    }
}
