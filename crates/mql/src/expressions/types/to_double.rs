//! `$toDouble`: short for `$convert`.

use super::convert::{Target, convert};
use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    short(operator, spec, names, run)
}

fn run(args: &Args<'_>) -> Result<Value> {
    match is_nullish(&args[0]) {
        true => Ok(Value::Null),
        false => convert(&args[0], Target::Double),
    }
}
