//! `$meta`: what the search for a document left beside it. Nothing here leaves any, so it is always missing.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const KINDS: &[&str] = &[
    "geoNearDistance",
    "geoNearPoint",
    "indexKey",
    "randVal",
    "recordId",
    "searchHighlights",
    "searchScore",
    "sortKey",
    "textScore",
];

fn parse(_: &'static str, spec: &Value, _: &Names) -> Result<Expr> {
    let Some(kind) = spec.as_str() else {
        return Err(MqlError::new(17307, "$meta only supports string arguments"));
    };
    match KINDS.contains(&kind) {
        true => Ok(Expr::lazy(Meta)),
        false => Err(MqlError::new(
            17308,
            format!("Unsupported argument to $meta: {kind}"),
        )),
    }
}

#[derive(Debug)]
struct Meta;

impl Operator for Meta {
    fn eval(&self, _: &Scope<'_>) -> Result<Value> {
        Ok(Value::Undefined)
    }
}
