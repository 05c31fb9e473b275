//! `$multiply`: the product of numbers.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    let mut product = Product::default();
    for value in args {
        match Num::of(value) {
            Some(number) => product.multiply(number),
            None if is_nullish(value) => return Ok(Value::Null),
            None => {
                return Err(MqlError::type_mismatch(format!(
                    "$multiply only supports numeric types, not {}",
                    type_name(value)
                )));
            }
        }
    }
    Ok(product.total().value())
}

/// A product in the widest kind met so far. Doubles are multiplied beside whole numbers from the beginning, so that a sign
/// that a zero has as a double is not lost.
struct Product {
    exact: Num,
    double: f64,
}

impl Default for Product {
    fn default() -> Product {
        Product {
            exact: Num::Int(1),
            double: 1.0,
        }
    }
}

impl Product {
    fn multiply(&mut self, number: Num) {
        self.exact = self.total().multiply(number);
        self.double *= number.to_f64();
    }

    fn total(&self) -> Num {
        match self.exact {
            Num::Double(_) => Num::Double(self.double),
            exact @ (Num::Int(_) | Num::Long(_) | Num::Decimal(_)) => exact,
        }
    }
}
