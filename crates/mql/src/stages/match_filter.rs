//! `$match`: the documents that fulfil a filter.

use super::*;

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let Some(object) = spec.as_object() else {
        return Err(MqlError::new(
            15959,
            "the match filter must be an expression in an object",
        ));
    };
    let filter = Filter::parse(object, context.options)?;
    Ok(vec![Stage::Match(Arc::new(filter))])
}

pub(super) fn start(filter: &Arc<Filter>, env: Shared) -> Work {
    Work::Step(Box::new(Matching(Arc::clone(filter), env)))
}

struct Matching(Arc<Filter>, Shared);

impl Step for Matching {
    fn push(&mut self, document: Object, out: &mut Vec<Object>) -> Result<Flow> {
        if let Some(found) = self.0.match_with_position(&document)? {
            if found.score.is_some() {
                self.1.set_beside(Beside {
                    score: found.score,
                    ..Beside::default()
                });
            }
            out.push(document);
        }
        Ok(Flow::More)
    }
}
