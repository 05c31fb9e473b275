//! `$sort`: documents in order. With a `$limit` behind it, only so many are held.

use lapsedb_value::budget::sort_by;

use super::*;
use crate::accumulators::{object_weight, weight};

/// An order, and how many documents are asked for at most.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    sort: Sort,
    limit: Option<usize>,
}

impl Ordered {
    pub(super) fn sort(&self) -> &Sort {
        &self.sort
    }
}

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let Some(object) = spec.as_object() else {
        return Err(MqlError::new(
            15973,
            "the $sort key specification must be an object",
        ));
    };
    let sort = Sort::parse(object)?;
    sort.check(context.names.metas())?;
    Ok(vec![by(
        sort.with_collation(context.options.collation.clone())
    )])
}

/// The stage of an order.
pub(super) fn by(sort: Sort) -> Stage {
    Stage::Sort(Arc::new(Ordered { sort, limit: None }))
}

/// Tells every `$sort` how many documents the `$skip` and `$limit` right behind it ask for.
fn limit_sorts(stages: &mut [Stage]) {
    let mut asked: Option<u64> = None;
    for stage in stages.iter_mut().rev() {
        match stage {
            Stage::Limit(limit) => asked = Some(asked.map_or(*limit, |asked| asked.min(*limit))),
            Stage::Skip(skip) => asked = asked.map(|asked| asked.saturating_add(*skip)),
            Stage::Sort(ordered) => {
                let limit = asked.and_then(|asked| usize::try_from(asked).ok());
                *ordered = Arc::new(Ordered {
                    sort: ordered.sort.clone(),
                    limit,
                });
                asked = None;
            }
            _ => asked = None,
        }
    }
}

/// Moves `$skip` and `$limit` before stages that make one document of one, so that less is computed.
fn move_limits(stages: &mut [Stage]) {
    for at in 1..stages.len() {
        let mut place = at;
        while place > 0
            && matches!(stages.get(place), Some(Stage::Skip(_) | Stage::Limit(_)))
            && matches!(stages.get(place - 1), Some(Stage::Shape(_)))
        {
            stages.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// Moves every `$match` before the `$sort` right before it, and makes one of several in a row.
fn move_matches(stages: &mut Vec<Stage>) {
    let mut at = 1;
    while at < stages.len() {
        match (stages.get(at - 1), stages.get(at)) {
            (Some(Stage::Sort(_)), Some(Stage::Match(_))) => {
                stages.swap(at - 1, at);
                at = (at - 1).max(1);
            }
            (Some(Stage::Match(first)), Some(Stage::Match(second))) => {
                let both = Stage::Match(Arc::new(first.and(second)));
                stages.splice(at - 1..=at, [both]);
                at = (at - 1).max(1);
            }
            _ => at += 1,
        }
    }
}

/// What the order of stages allows to do with less work.
pub(super) fn optimize(stages: &mut Vec<Stage>) {
    move_matches(stages);
    move_limits(stages);
    limit_sorts(stages);
}

pub(super) fn start(ordered: &Arc<Ordered>, env: Shared) -> Work {
    Work::Step(Box::new(Sorting {
        ordered: Arc::clone(ordered),
        rows: Vec::new(),
        memory: Memory::new("$sort", &env),
        env,
        besides: Vec::new(),
        from: Provenance::NONE,
        provenance: Vec::new(),
    }))
}

/// Documents with their keys; more than twice the limit are never held.
struct Sorting {
    ordered: Arc<Ordered>,
    rows: Vec<Row>,
    memory: Memory,
    env: Shared,
    besides: Vec<Beside>,
    /// Where the next document comes from.
    from: Provenance,
    provenance: Vec<Provenance>,
}

/// A document with its key, with what is beside it, and where it comes from.
type Row = (Vec<Value>, Object, Option<Box<Beside>>, Provenance);

/// Bytes that a document takes with the key that it is sorted by.
fn row_weight(key: &[Value], document: &Object) -> usize {
    object_weight(document) + key.iter().map(weight).sum::<usize>()
}

impl Sorting {
    fn order(&mut self) -> Result<()> {
        let sort = &self.ordered.sort;
        let rows = std::mem::take(&mut self.rows);
        self.rows = sort_by(rows, self.env.budget(), |(a, ..), (b, ..)| {
            sort.compare_keys(a, b)
        })?;
        if let Some(limit) = self.ordered.limit {
            for (key, document, ..) in self.rows.drain(limit.min(self.rows.len())..) {
                self.memory.remove(row_weight(&key, &document));
            }
        }
        Ok(())
    }
}

impl Step for Sorting {
    fn push(&mut self, document: Object, _: &mut Vec<Object>) -> Result<Flow> {
        let beside = Some(self.env.beside()).filter(|beside| !beside.is_empty());
        let score = beside.as_ref().and_then(|beside| beside.score);
        let key = self.ordered.sort.key_beside(&document, score, None)?;
        self.memory.add(row_weight(&key, &document))?;
        self.rows
            .push((key, document, beside.map(Box::new), self.from));
        if let Some(limit) = self.ordered.limit
            && self.rows.len() >= limit.saturating_mul(2)
        {
            self.order()?;
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<Object>) -> Result<()> {
        self.order()?;
        for (_, document, beside, from) in self.rows.drain(..) {
            out.push(document);
            self.provenance.push(from);
            self.besides
                .push(beside.map(|beside| *beside).unwrap_or_default());
        }
        Ok(())
    }

    fn besides(&mut self) -> Vec<Beside> {
        std::mem::take(&mut self.besides)
    }

    fn holds(&self) -> bool {
        true
    }

    fn comes_from(&mut self, from: Provenance) {
        self.from = from;
    }

    fn provenance(&mut self) -> Vec<Provenance> {
        std::mem::take(&mut self.provenance)
    }
}
