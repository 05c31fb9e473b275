//! `$project`: documents with some fields, others computed.

use super::*;

pub(super) fn parse(
    stage: &'static str,
    spec: &Value,
    context: &Context<'_>,
) -> Result<Vec<Stage>> {
    let object = object_of(15969, spec, "$project specification must be an object")?;
    let shape = Shape::project(object, &context.names).map_err(invalid(stage))?;
    Ok(vec![Stage::Shape(Arc::new(shape))])
}

pub(super) fn start(shape: &Arc<Shape>, env: Shared) -> Work {
    Work::Step(Box::new(Shaping {
        shape: Arc::clone(shape),
        env,
    }))
}

struct Shaping {
    shape: Arc<Shape>,
    env: Shared,
}

impl Step for Shaping {
    fn push(&mut self, document: Object, out: &mut Vec<Object>) -> Result<Flow> {
        out.push(self.shape.apply(document, &self.env)?);
        Ok(Flow::More)
    }
}
