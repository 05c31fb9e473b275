//! `$addFields`, also written `$set`: documents with more fields, computed.

use super::*;

pub(super) fn parse(
    stage: &'static str,
    spec: &Value,
    context: &Context<'_>,
) -> Result<Vec<Stage>> {
    let message = format!("{stage} specification stage must be an object");
    let object = object_of(40272, spec, &message)?;
    let shape = Shape::add_fields(object, &context.names).map_err(invalid(stage))?;
    Ok(vec![Stage::Shape(Arc::new(shape))])
}
