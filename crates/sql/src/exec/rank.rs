//! `ORDER BY RANK`: scores need all rows, so all are kept until the end.

use std::cmp::Ordering;

use lapsedb_query::order::sort_bytes;
use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::{Ctx, ScopeRef, eval, weight};
use crate::functions::terms::Terms;
use crate::plan::{Rank, RankComponent};

/// How soon more occurrences of a term stop to count (BM25).
const SATURATION: f64 = 1.2;
/// How much long texts are held against their terms (BM25).
const LENGTH_PENALTY: f64 = 0.75;
/// What is added to a rank before it is inverted (reciprocal rank fusion).
const FUSION_OFFSET: f64 = 60.0;

/// Bytes of where a row came from: the ordinal of its document, and its number among the rows of it.
pub(super) const ORIGIN_BYTES: usize = 12;

/// What one component knows of one row.
enum Mark {
    /// Occurrences of each term, and the words of the text.
    Text(Vec<usize>, usize),
    /// The distance, if the vectors have one.
    Vector(Option<f64>),
}

/// The rows seen so far.
pub(super) struct Ranker<'q> {
    rank: &'q Rank,
    /// The rows, each with where it came from.
    rows: Vec<([u8; ORIGIN_BYTES], Value)>,
    /// The marks of each row, component by component.
    marks: Vec<Vec<Mark>>,
}

impl<'q> Ranker<'q> {
    pub(super) fn new(rank: &'q Rank) -> Ranker<'q> {
        Ranker {
            rank,
            rows: Vec::new(),
            marks: rank.components.iter().map(|_| Vec::new()).collect(),
        }
    }

    /// Takes one row.
    pub(super) fn add(
        &mut self,
        ctx: &Ctx<'_>,
        scope: ScopeRef<'_>,
        origin: [u8; ORIGIN_BYTES],
        row: Value,
    ) -> Result<(), SqlError> {
        let mut bytes = weight(&row);
        for ((component, _), marks) in self.rank.components.iter().zip(&mut self.marks) {
            let mark = match component {
                RankComponent::FullText { text, terms } => {
                    let text = eval(ctx, text, scope)?;
                    let words = Terms::of(text.as_str().unwrap_or_default());
                    let counts: Vec<usize> = terms.iter().map(|term| words.count(term)).collect();
                    bytes += 8 * counts.len() as u64;
                    Mark::Text(counts, words.len())
                }
                RankComponent::Vector { distance, .. } => {
                    Mark::Vector(eval(ctx, distance, scope)?.as_f64())
                }
            };
            marks.push(mark);
        }
        ctx.keep(bytes)?;
        self.rows.push((origin, row));
        Ok(())
    }

    /// All rows with the keys they are sorted by, best first; rows that tie stay in the order they came.
    pub(super) fn finish(self) -> impl Iterator<Item = (Vec<u8>, Value)> {
        let scores: Vec<Vec<Option<f64>>> = self
            .rank
            .components
            .iter()
            .zip(&self.marks)
            .map(|((component, _), marks)| scored(component, marks))
            .collect();
        let total = match scores.as_slice() {
            [only] => only.clone(),
            many => fused(many, &self.rank.components, self.rows.len()),
        };
        let mut rows: Vec<(Vec<u8>, Value)> = total
            .into_iter()
            .zip(self.rows)
            .map(|(score, (origin, row))| (key(score, origin), row))
            .collect();
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        rows.into_iter()
    }
}

/// Large scores first, rows without one last, then by origin.
fn key(score: Option<f64>, origin: [u8; ORIGIN_BYTES]) -> Vec<u8> {
    let mut key = vec![u8::from(score.is_none())];
    if let Some(score) = score {
        let from = key.len();
        sort_bytes(&Value::Double(score), &mut key);
        key.iter_mut().skip(from).for_each(|byte| *byte = !*byte);
    }
    key.extend_from_slice(&origin);
    key
}

/// Large scores first, rows without one last.
fn best_first(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// The score of every row; large is good.
fn scored(component: &RankComponent, marks: &[Mark]) -> Vec<Option<f64>> {
    let texts: Vec<(&[usize], f64)> = marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Text(counts, words) => Some((counts.as_slice(), *words as f64)),
            Mark::Vector(_) => None,
        })
        .collect();
    match component {
        RankComponent::Vector { descending, .. } => marks
            .iter()
            .map(|mark| match mark {
                Mark::Vector(distance) => {
                    distance.map(|distance| if *descending { distance } else { -distance })
                }
                Mark::Text(..) => None,
            })
            .collect(),
        RankComponent::FullText { terms, .. } => {
            let rows = texts.len() as f64;
            let mean = (texts.iter().map(|(_, words)| words).sum::<f64>() / rows.max(1.0)).max(1.0);
            let rarity: Vec<f64> = (0..terms.len())
                .map(|term| {
                    let having = texts
                        .iter()
                        .filter(|(counts, _)| counts.get(term).is_some_and(|count| *count > 0));
                    let having = having.count() as f64;
                    (1.0 + (rows - having + 0.5) / (having + 0.5)).ln()
                })
                .collect();
            texts
                .into_iter()
                .map(|(counts, words)| Some(relevance(counts, words / mean, &rarity)))
                .collect()
        }
    }
}

/// The relevance of one text by BM25.
fn relevance(counts: &[usize], relative_length: f64, rarity: &[f64]) -> f64 {
    let damping = SATURATION * (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * relative_length);
    let terms = counts.iter().zip(rarity);
    terms
        .map(|(count, rarity)| {
            rarity * *count as f64 * (SATURATION + 1.0) / (*count as f64 + damping)
        })
        .sum()
}

/// Reciprocal rank fusion: a row scores by its place in each ranking.
fn fused(
    scores: &[Vec<Option<f64>>],
    components: &[(RankComponent, f64)],
    rows: usize,
) -> Vec<Option<f64>> {
    let mut total = vec![0.0; rows];
    for (scores, (_, weight)) in scores.iter().zip(components) {
        let mut places: Vec<usize> = (0..rows).collect();
        let score = |row: &usize| scores.get(*row).copied().flatten();
        places.sort_by(|a, b| best_first(score(a), score(b)));
        // Rows with the same score have the same rank, and the next one has the next.
        let mut rank = 0.0;
        let mut last = None;
        for row in places {
            let Some(found) = score(&row) else {
                continue;
            };
            if last != Some(found) {
                rank += 1.0;
                last = Some(found);
            }
            if let Some(total) = total.get_mut(row) {
                *total += weight / (FUSION_OFFSET + rank);
            }
        }
    }
    total.into_iter().map(Some).collect()
}
