//! `$topN`: a value of the first documents by an order.

use std::cmp::Ordering;

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    ordered(operator, spec, names, false, true)
}

/// Reads `{sortBy, output}`, and `n` if several are asked for.
pub(super) fn ordered(
    operator: &str,
    spec: &Value,
    names: &Names,
    last: bool,
    counted: bool,
) -> Result<Gather> {
    let Some(object) = spec.as_object() else {
        let message = format!("specification must be an object; found {operator}: {spec}");
        return Err(MqlError::new(5788001, message));
    };
    let (mut by, mut output, mut n) = (None, None, None);
    for (name, value) in object {
        match (name.as_str(), value) {
            ("n", value) if counted => n = Some(Expr::parse(value, names)?),
            ("output", value) => output = Some(Expr::parse(value, names)?),
            ("sortBy", Value::Object(fields)) => by = Some(Sort::parse(fields)?),
            ("sortBy", other) => {
                let message = format!(
                    "expected 'sortBy' to already be an object in the arguments to {operator}; found {other}"
                );
                return Err(MqlError::new(10065, message));
            }
            (other, _) => {
                let message = format!("Unknown argument to {operator} '{other}'");
                return Err(MqlError::new(5788002, message));
            }
        }
    }
    let missing = |code, name: &str| MqlError::new(code, format!("Missing value for '{name}'"));
    if counted && n.is_none() {
        return Err(missing(5788003, "n"));
    }
    if let Some(n) = n.as_ref().and_then(Expr::constant) {
        read_n(n)?;
    }
    let output = output.ok_or_else(|| missing(5788004, "output"))?;
    let by = by.ok_or_else(|| missing(5788005, "sortBy"))?;
    Ok(Gather {
        argument: Argument::Sorted {
            by: by.clone(),
            output,
        },
        start: Start::Ordered { by, n, last },
    })
}

/// How many are kept, and whether they come in an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kept {
    One,
    Several(usize),
}

/// The first or last values by the keys before them, kept in order.
#[derive(Debug)]
pub(super) struct Top {
    by: Sort,
    kept: Kept,
    last: bool,
    /// Keys, then the value.
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

impl Top {
    pub(super) fn new(by: Sort, kept: Kept, last: bool) -> Top {
        Top {
            by,
            kept,
            last,
            rows: Vec::new(),
            bytes: 0,
        }
    }
}

impl Accumulator for Top {
    fn add(&mut self, value: &Value) -> Result<()> {
        let Some(row) = value.as_array() else {
            return Ok(());
        };
        let n = match self.kept {
            Kept::One => 1,
            Kept::Several(n) => n,
        };
        let at = self
            .rows
            .partition_point(|kept| self.by.compare_keys(kept, row) != Ordering::Greater);
        match self.last {
            false if at < n => {
                self.bytes += row_weight(row);
                self.rows.insert(at, row.to_vec());
                if self.rows.len() > n {
                    let gone = self.rows.pop();
                    self.bytes -= gone.as_deref().map_or(0, row_weight);
                }
            }
            true if self.rows.len() < n || at > 0 => {
                self.bytes += row_weight(row);
                self.rows.insert(at, row.to_vec());
                if self.rows.len() > n {
                    let gone = self.rows.remove(0);
                    self.bytes -= row_weight(&gone);
                }
            }
            false | true => {}
        }
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        let output = |row: &Vec<Value>| missing_to_null(row.last().cloned().unwrap_or_default());
        Ok(match self.kept {
            Kept::One => self.rows.first().map_or(Value::Null, output),
            Kept::Several(_) => Value::Array(self.rows.iter().map(output).collect()),
        })
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn work(&self) -> usize {
        self.rows.len() * size_of::<Vec<Value>>()
    }
}

/// Bytes that the keys and the value of one document take.
fn row_weight(row: &[Value]) -> usize {
    size_of::<Vec<Value>>() + row.iter().map(weight).sum::<usize>()
}
