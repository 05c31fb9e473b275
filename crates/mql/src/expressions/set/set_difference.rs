//! `$setDifference`: what is in the first array and not in the second, each once, in the first's order.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    if any_nullish(args) {
        return Ok(Value::Null);
    }
    let array = |at: usize, code: i32, which: &str| {
        args[at].as_array().ok_or_else(|| {
            let found = type_name(&args[at]);
            let message = format!(
                "both operands of $setDifference must be arrays. {which} argument is of type: {found}"
            );
            MqlError::new(code, message)
        })
    };
    let (left, right) = (array(0, 17048, "First")?, array(1, 17049, "Second")?);
    let mut seen = set_of(right);
    let rest = left.iter().filter(|element| seen.insert(Ordered(element)));
    Ok(Value::Array(rest.cloned().collect()))
}
