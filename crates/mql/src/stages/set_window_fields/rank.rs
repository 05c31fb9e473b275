//! `$rank`: the place of a document in its part, from 1; ties share a place and leave a gap behind them.

use super::*;

#[derive(Debug)]
struct Rank;

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    spec.no_arguments()?;
    spec.one_field(5371602)?;
    Ok(Arc::new(Rank))
}

impl Function for Rank {
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        let (mut ranks, mut rank) = (Vec::with_capacity(part.len()), 0);
        let mut before: Option<Value> = None;
        for at in 0..part.len() {
            let here = missing_to_null(part.position(at));
            let tied = before
                .as_ref()
                .is_some_and(|before| compare(before, &here).is_eq());
            if !tied {
                rank = at as i32 + 1;
            }
            ranks.push(Value::Int32(rank));
            before = Some(here);
        }
        Ok(ranks)
    }
}
