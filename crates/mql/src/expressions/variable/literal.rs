//! `$literal`, also written `$const`: a value that is not looked into.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(_: &'static str, spec: &Value, _: &Names) -> Result<Expr> {
    Ok(Expr::Literal(spec.clone()))
}
