//! `$setIsSubset`: whether all of the first array is in the second.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(2, run);

fn run(args: &Args<'_>) -> Result<Value> {
    let array = |at: usize, code: i32, which: &str| {
        args[at].as_array().ok_or_else(|| {
            let found = type_name(&args[at]);
            let message = format!(
                "both operands of $setIsSubset must be arrays. {which} argument is of type: {found}"
            );
            MqlError::new(code, message)
        })
    };
    let (left, right) = (array(0, 17046, "First")?, array(1, 17042, "Second")?);
    let right = set_of(right);
    let all = left.iter().all(|element| right.contains(&Ordered(element)));
    Ok(Value::Bool(all))
}
