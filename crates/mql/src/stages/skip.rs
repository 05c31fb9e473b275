//! `$skip`: all documents but the first.

use super::*;

pub(super) fn parse(stage: &'static str, spec: &Value, _: &Context<'_>) -> Result<Vec<Stage>> {
    let skip = limit::read_count(stage, spec, 5107200)?;
    Ok(vec![Stage::Skip(skip)])
}

pub(super) fn start(skip: u64) -> Work {
    Work::Step(Box::new(Skipping(skip)))
}

/// How many documents are still to be left out.
struct Skipping(u64);

impl Step for Skipping {
    fn push(&mut self, document: Object, out: &mut Vec<Object>) -> Result<Flow> {
        match self.0 {
            0 => out.push(document),
            _ => self.0 -= 1,
        }
        Ok(Flow::More)
    }
}
