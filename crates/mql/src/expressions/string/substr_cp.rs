//! `$substrCP`: a part of a text, counted in code points.

use super::*;

pub(crate) const FORM: Form = Form::Exactly(3, run);

fn run(args: &Args<'_>) -> Result<Value> {
    let text = loose_text(&args[0])?;
    let number = |at: usize, (not_number, not_whole): (i32, i32), what: &str| {
        let Some(number) = Num::of(&args[at]) else {
            let found = type_name(&args[at]);
            let message =
                format!("$substrCP: {what} must be a numeric type (is BSON type {found})");
            return Err(MqlError::new(not_number, message));
        };
        number.to_i32_exact().ok_or_else(|| {
            let message = format!(
                "$substrCP: {what} cannot be represented as a 32-bit integral value: {}",
                args[at]
            );
            MqlError::new(not_whole, message)
        })
    };
    let start = number(1, (34450, 34451), "starting index")?;
    let length = number(2, (34452, 34453), "length")?;
    let Ok(length) = usize::try_from(length) else {
        return Err(MqlError::new(
            34454,
            "$substrCP: length must be a nonnegative integer.",
        ));
    };
    let Ok(start) = usize::try_from(start) else {
        return Err(MqlError::new(
            34455,
            "$substrCP: the starting index must be nonnegative integer.",
        ));
    };
    let part: String = text.chars().skip(start).take(length).collect();
    Ok(Value::from(part))
}
