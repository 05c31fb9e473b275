//! `$limit`: the first documents.

use crate::expressions::numeric::Num;

use super::*;

pub(super) fn parse(stage: &'static str, spec: &Value, _: &Context<'_>) -> Result<Vec<Stage>> {
    match read_count(stage, spec, 5107201)? {
        0 => Err(MqlError::new(15958, "the limit must be positive")),
        limit => Ok(vec![Stage::Limit(limit)]),
    }
}

/// A whole number that is not negative.
pub(super) fn read_count(stage: &str, spec: &Value, code: i32) -> Result<u64> {
    let refused = |what: &str| {
        let message = format!("invalid argument to {stage} stage: {what} {stage}: {spec}");
        MqlError::new(code, message)
    };
    let number = Num::of(spec).ok_or_else(|| refused("Expected a number in:"))?;
    let whole = number
        .to_i64_exact()
        .ok_or_else(|| refused("Expected an integer:"))?;
    u64::try_from(whole).map_err(|_| refused("Expected a non-negative number in:"))
}

pub(super) fn start(limit: u64) -> Work {
    Work::Step(Box::new(Limiting(limit)))
}

/// How many documents may still pass.
struct Limiting(u64);

impl Step for Limiting {
    fn push(&mut self, document: Object, out: &mut Vec<Object>) -> Result<Flow> {
        if self.0 == 0 {
            return Ok(Flow::Enough);
        }
        out.push(document);
        self.0 -= 1;
        Ok(match self.0 {
            0 => Flow::Enough,
            _ => Flow::More,
        })
    }
}
