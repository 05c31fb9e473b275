//! `ORDER BY RANK`: scores need all rows, so all are kept until the end.

use std::cmp::Ordering;

use lapsedb_query::order::sort_bytes;
use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::{Ctx, ScopeRef, eval, weight};
use crate::functions::fulltext::bm25::Statistics;
use crate::functions::terms::Terms;
use crate::limits::FUSED_ROWS_MIN;
use crate::plan::{BoundQuery, Fusion, Rank, RankComponent};

/// What is added to a rank before it is inverted (reciprocal rank fusion).
const FUSION_OFFSET: f64 = 60.0;
/// What a text that is none adds to a sum of scores.
const NO_TEXT: f64 = -1.0;

/// Bytes of where a row came from: the ordinal of its document, and its number among the rows of it.
pub(super) const ORIGIN_BYTES: usize = 12;

/// What one component knows of one row.
enum Mark {
    /// Occurrences of each term, and the words of the text, if there is one.
    Text(Option<(Vec<usize>, usize)>),
    /// The distance, if the vectors have one.
    Vector(Option<f64>),
}

/// The texts of a document, one for each component that is about a text.
pub(super) struct Texts(Vec<Mark>);

/// The rows seen so far.
pub(super) struct Ranker<'q> {
    rank: &'q Rank,
    /// Rows that `OFFSET` leaves out and those that may follow.
    wanted: Option<u64>,
    /// What is known of all documents for each component; nothing for vectors.
    statistics: Vec<Option<Statistics>>,
    /// The rows, each with where it came from.
    rows: Vec<([u8; ORIGIN_BYTES], Value)>,
    /// The marks of each row, component by component.
    marks: Vec<Vec<Mark>>,
}

impl<'q> Ranker<'q> {
    pub(super) fn new(rank: &'q Rank, query: &BoundQuery) -> Ranker<'q> {
        let statistics = rank
            .components
            .iter()
            .map(|(component, _)| match component {
                RankComponent::FullText { terms, .. } => Some(Statistics {
                    documents: 0.0,
                    words: 0.0,
                    hits: vec![0.0; terms.len()],
                }),
                RankComponent::Vector { .. } => None,
            });
        Ranker {
            rank,
            wanted: query.limit.map(|limit| limit.saturating_add(query.offset)),
            statistics: statistics.collect(),
            rows: Vec::new(),
            marks: rank.components.iter().map(|_| Vec::new()).collect(),
        }
    }

    /// Counts the words of a document, before it is known whether it is a row: how rare a word is depends on all documents.
    pub(super) fn observe(
        &mut self,
        ctx: &Ctx<'_>,
        scope: ScopeRef<'_>,
    ) -> Result<Texts, SqlError> {
        let mut texts = Vec::new();
        let components = self.rank.components.iter().zip(&mut self.statistics);
        for ((component, _), statistics) in components {
            let (RankComponent::FullText { text, terms }, Some(statistics)) =
                (component, statistics)
            else {
                continue;
            };
            statistics.documents += 1.0;
            let text = eval(ctx, text, scope)?;
            let Some(text) = text.as_str() else {
                texts.push(Mark::Text(None));
                continue;
            };
            ctx.work(text.len().saturating_mul(terms.len() + 1))?;
            let words = Terms::of(text);
            let counts: Vec<usize> = terms.iter().map(|term| words.count(term)).collect();
            for (hits, count) in statistics.hits.iter_mut().zip(&counts) {
                *hits += f64::from(u8::from(*count > 0));
            }
            statistics.words += words.weight() as f64;
            texts.push(Mark::Text(Some((counts, words.weight()))));
        }
        Ok(Texts(texts))
    }

    /// Takes one row with the texts of its document.
    pub(super) fn add(
        &mut self,
        ctx: &Ctx<'_>,
        scope: ScopeRef<'_>,
        texts: Texts,
        origin: [u8; ORIGIN_BYTES],
        row: Value,
    ) -> Result<(), SqlError> {
        let mut bytes = weight(&row);
        let mut texts = texts.0.into_iter();
        for ((component, _), marks) in self.rank.components.iter().zip(&mut self.marks) {
            let mark = match component {
                RankComponent::FullText { terms, .. } => {
                    bytes += 8 * terms.len() as u64;
                    texts.next().unwrap_or(Mark::Text(None))
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
        let components = self.rank.components.iter().zip(&self.statistics);
        let scores: Vec<Scores> = components
            .zip(&self.marks)
            .map(|(((component, weight), statistics), marks)| Scores {
                of_rows: scored(component, statistics.as_ref(), marks, *weight),
                weight: weight.abs(),
                missing: match component {
                    RankComponent::FullText { .. } if *weight >= 0.0 => NO_TEXT,
                    RankComponent::FullText { .. } | RankComponent::Vector { .. } => f64::MIN,
                },
            })
            .collect();
        let total = match (scores.as_slice(), self.rank.fusion) {
            ([only], _) => only.of_rows.iter().map(|score| (true, *score)).collect(),
            (many, Fusion::Sum) => summed(many, self.rows.len()),
            (many, Fusion::Ranks(multiplier)) => {
                let brought = self.wanted.map(|wanted| brought_in(wanted, multiplier));
                fused(many, self.rows.len(), brought)
            }
        };
        let mut rows: Vec<(Vec<u8>, Value)> = total
            .into_iter()
            .zip(self.rows)
            .filter(|((brought, _), _)| *brought)
            .map(|((_, score), (origin, row))| (key(score, origin), row))
            .collect();
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        rows.into_iter()
    }
}

/// The scores of all rows by one component.
struct Scores {
    /// Large is good; nothing where there is nothing to score, which is worse than all.
    of_rows: Vec<Option<f64>>,
    /// How much it counts.
    weight: f64,
    /// What a row without a score adds to a sum.
    missing: f64,
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
fn scored(
    component: &RankComponent,
    statistics: Option<&Statistics>,
    marks: &[Mark],
    weight: f64,
) -> Vec<Option<f64>> {
    let nearness = match component {
        RankComponent::Vector {
            descending: false, ..
        } => -1.0,
        RankComponent::Vector { .. } | RankComponent::FullText { .. } => 1.0,
    };
    let sign = if weight < 0.0 { -nearness } else { nearness };
    let scores = marks.iter().map(|mark| match mark {
        Mark::Text(text) => {
            let (counts, words) = text.as_ref()?;
            Some(sign * statistics?.score(counts, *words))
        }
        // There is no negative nothing among ranks.
        Mark::Vector(distance) => distance.map(|distance| sign * distance + 0.0),
    });
    scores.collect()
}

/// The best rows of each ranking that are looked at for so many wanted rows.
fn brought_in(wanted: u64, multiplier: f64) -> usize {
    let several = (wanted as f64 * multiplier).max(0.0) as u64;
    let rows = several.max(wanted).max(FUSED_ROWS_MIN);
    usize::try_from(rows).unwrap_or(usize::MAX)
}

/// Reciprocal rank fusion: a row scores by its place in each ranking. Only rows that are among the best of some ranking take part,
/// and have a place in the others too, as where the clients fuse rankings.
fn fused(scores: &[Scores], rows: usize, brought: Option<usize>) -> Vec<(bool, Option<f64>)> {
    let rankings: Vec<Vec<usize>> = scores
        .iter()
        .map(|scores| {
            let score = |row: &usize| scores.of_rows.get(*row).copied().flatten();
            let mut ranking: Vec<usize> = (0..rows).collect();
            ranking.sort_by(|a, b| best_first(score(a), score(b)));
            ranking
        })
        .collect();
    let mut total = vec![(brought.is_none(), Some(0.0)); rows];
    for ranking in rankings.iter().filter(|_| brought.is_some()) {
        for row in ranking.iter().take(brought.unwrap_or(rows)) {
            if let Some((takes_part, _)) = total.get_mut(*row) {
                *takes_part = true;
            }
        }
    }
    for (scores, ranking) in scores.iter().zip(rankings) {
        // Rows with the same score have the same rank, and the next one has the next.
        let mut rank = 0.0;
        let mut last = None;
        for row in ranking {
            let Some((true, Some(sum))) = total.get_mut(row) else {
                continue;
            };
            let score = scores.of_rows.get(row).copied().flatten();
            if last != Some(score) {
                rank += 1.0;
                last = Some(score);
            }
            *sum += scores.weight / (FUSION_OFFSET + rank);
        }
    }
    total
}

/// The sum of the weighted scores of each row.
fn summed(scores: &[Scores], rows: usize) -> Vec<(bool, Option<f64>)> {
    let total = (0..rows).map(|row| {
        let parts = scores.iter().map(|scores| {
            let score = scores.of_rows.get(row).copied().flatten();
            score.unwrap_or(scores.missing) * scores.weight
        });
        (true, Some(parts.sum::<f64>().max(f64::MIN)))
    });
    total.collect()
}
