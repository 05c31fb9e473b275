//! `$unset`: documents without some fields.

use super::*;

pub(super) fn parse(stage: &'static str, spec: &Value, _: &Context<'_>) -> Result<Vec<Stage>> {
    let refused = |code, what: &str| {
        let message = format!("$unset specification must be a string or an array{what}");
        MqlError::new(code, message)
    };
    let paths = match spec {
        Value::String(path) => vec![path.as_str()],
        Value::Array(paths) if paths.is_empty() => {
            return Err(refused(31119, " with at least one field"));
        }
        Value::Array(paths) => {
            let paths = paths.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
            paths.ok_or_else(|| refused(31120, " containing only string values"))?
        }
        _ => return Err(refused(31002, "")),
    };
    let shape = Shape::unset(paths.into_iter()).map_err(invalid(stage))?;
    Ok(vec![Stage::Shape(Arc::new(shape))])
}
