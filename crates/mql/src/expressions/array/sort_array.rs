//! `$sortArray`: the elements in order, of themselves or of some of their fields.

use lapsedb_value::budget::sort_by;

use crate::sort::Sort;

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[("input", 2942502), ("sortBy", 2942503)],
    not_object: 2942500,
    unknown: 2942501,
};

#[derive(Debug)]
struct SortArray {
    input: Expr,
    by: By,
}

#[derive(Debug)]
enum By {
    Whole { descending: bool },
    Fields(Sort),
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let parts = FIELDS.take(operator, spec)?;
    let part = |at: usize| {
        parts
            .get(at)
            .copied()
            .flatten()
            .unwrap_or(Value::undefined())
    };
    let by = match part(1) {
        Value::Object(fields) => {
            By::Fields(Sort::parse(fields).map_err(|error| MqlError::new(2942505, error.message))?)
        }
        other => match Num::of(other).map(Num::to_i64_exact) {
            Some(Some(1)) => By::Whole { descending: false },
            Some(Some(-1)) => By::Whole { descending: true },
            Some(_) => {
                return Err(MqlError::new(
                    2942506,
                    "The $sort element value must be either 1 or -1",
                ));
            }
            None => {
                return Err(MqlError::new(
                    2942507,
                    "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields",
                ));
            }
        },
    };
    let input = Expr::parse(part(0), names)?;
    Ok(Expr::lazy(SortArray { input, by }))
}

impl Operator for SortArray {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let elements = match self.input.eval(scope)? {
            Value::Array(elements) => elements,
            other if is_nullish(&other) => return Ok(Value::Null),
            other => {
                let found = type_name(&other);
                let message = format!(
                    "The input argument to $sortArray must be an array, but was of type: {found}"
                );
                return Err(MqlError::new(2942504, message));
            }
        };
        let budget = scope.budget();
        let sorted = match &self.by {
            By::Whole { descending: false } => sort_by(elements, budget, compare)?,
            By::Whole { descending: true } => sort_by(elements, budget, |a, b| compare(b, a))?,
            By::Fields(sort) => sort.order_values(elements, budget)?,
        };
        Ok(Value::Array(sorted))
    }
}
