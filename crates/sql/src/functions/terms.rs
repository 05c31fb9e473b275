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
        let wanted = Terms::of(phrase).0;
        if wanted.is_empty() {
            0
        } else {
            self.0
                .windows(wanted.len())
                .filter(|window| *window == wanted)
                .count()
        }
    }

    /// Whether the words of the phrase occur one after the other. A phrase without words is nowhere.
    pub(crate) fn contain(&self, phrase: &str) -> bool {
        let wanted = Terms::of(phrase).0;
        !wanted.is_empty() && self.0.windows(wanted.len()).any(|window| window == wanted)
    }
}
