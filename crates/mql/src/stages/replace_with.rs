//! `$replaceWith`: short for `$replaceRoot`.

use super::*;

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    Ok(vec![Stage::ReplaceRoot(Arc::new(
        replace_root::ReplaceRoot {
            name: "'replacement document' ",
            root: Expr::parse(spec, &context.names)?,
        },
    ))])
}
