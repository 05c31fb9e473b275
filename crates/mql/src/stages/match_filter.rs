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

pub(super) fn start(filter: &Arc<Filter>) -> Work {
    Work::Step(Box::new(Matching(Arc::clone(filter))))
}

struct Matching(Arc<Filter>);

impl Step for Matching {
    fn push(&mut self, document: Object, out: &mut Vec<Object>) -> Result<Flow> {
        if self.0.matches(&document)? {
            out.push(document);
        }
        Ok(Flow::More)
    }
}
