//! The relevance of a text to words (BM25).

/// How soon more occurrences of a term stop to count.
const SATURATION: f64 = 1.2;
/// How much long texts are held against their terms.
const LENGTH_PENALTY: f64 = 0.75;

/// What has to be known of all texts to score one of them.
#[derive(Clone, Debug)]
pub(crate) struct Statistics {
    /// Documents, whether they have the text or not.
    pub(crate) documents: f64,
    /// Words of all texts.
    pub(crate) words: f64,
    /// For each term, the texts that contain it.
    pub(crate) hits: Vec<f64>,
}

impl Statistics {
    /// The relevance of a text of so many words that contains each term so often. The same numbers give the same relevance to
    /// the bit, whether this server ranks or a client that fuses the rankings itself.
    pub(crate) fn score(&self, counts: &[usize], words: usize) -> f64 {
        let mean = if self.documents > 0.0 && self.words > 0.0 {
            self.words / self.documents
        } else {
            1.0
        };
        let relative_length = words as f64 / mean;
        let damping = SATURATION * (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * relative_length);
        let terms = counts.iter().zip(&self.hits);
        let scores = terms.map(|(count, hits)| {
            let count = *count as f64;
            self.rarity(*hits) * count * (SATURATION + 1.0) / (count + damping)
        });
        scores.sum()
    }

    /// How much a term counts that so many texts contain. Never less than nothing.
    fn rarity(&self, hits: f64) -> f64 {
        let without = (self.documents - hits).max(0.0);
        ((without + 0.5) / (hits.max(0.0) + 0.5)).ln_1p()
    }
}
