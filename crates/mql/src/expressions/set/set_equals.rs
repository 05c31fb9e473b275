//! `$setEquals`: whether the arrays hold the same.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(_: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let args = arguments(spec, names)?;
    match args.len() >= 2 {
        true => Ok(Expr::Call {
            run: Run::Charged(run),
            args,
        }),
        false => Err(MqlError::new(
            17045,
            format!(
                "$setEquals needs at least two arguments had: {}",
                args.len()
            ),
        )),
    }
}

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    let mut first: Option<BTreeSet<Ordered<'_>>> = None;
    for (index, value) in args.iter().enumerate() {
        let Some(elements) = value.as_array() else {
            let (nth, found) = (index + 1, type_name(value));
            let message = format!(
                "All operands of $setEquals must be arrays. {nth}-th argument is of type: {found}"
            );
            return Err(MqlError::new(17044, message));
        };
        let set = counted_set(elements, budget)?;
        match &first {
            None => first = Some(set),
            Some(first) if *first != set => return Ok(Value::Bool(false)),
            Some(_) => {}
        }
    }
    Ok(Value::Bool(true))
}
