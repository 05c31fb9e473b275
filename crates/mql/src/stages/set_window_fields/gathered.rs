//! Accumulators over windows.

use crate::accumulators::Accumulator;

use super::*;

/// An accumulator, and its window; all documents of the part without one.
#[derive(Debug)]
pub(super) struct Gathered {
    gather: Gather,
    bounds: Option<Bounds>,
}

impl Gathered {
    pub(super) fn new(gather: Gather, bounds: Option<Bounds>) -> Gathered {
        Gathered { gather, bounds }
    }
}

impl Function for Gathered {
    /// A window that only grows at its end goes on with what it has; any other begins anew.
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        let whole = Bounds::Documents(None, None);
        let bounds = self.bounds.as_ref().unwrap_or(&whole);
        let mut values: Vec<Value> = Vec::with_capacity(part.len());
        let mut last = 0..0;
        let mut accumulator: Option<Box<dyn Accumulator>> = None;
        for at in 0..part.len() {
            let window = bounds.window(part, at)?;
            if accumulator.is_some()
                && window == last
                && let Some(value) = values.last()
            {
                values.push(part.counted(value.clone())?);
                continue;
            }
            let goes_on = window.start == last.start && window.end >= last.end;
            let mut current = match accumulator.take() {
                Some(current) if goes_on => current,
                Some(_) | None => {
                    last = window.start..window.start;
                    self.gather.start(&Value::Null, part.env)?
                }
            };
            for document in part.documents.get(last.end..window.end).unwrap_or_default() {
                let scope = Scope::new(document, part.env);
                self.gather.add(current.as_mut(), &scope)?;
            }
            part.env.budget().set_scratch(0);
            part.env.budget().charge(2 * current.bytes())?;
            values.push(part.counted(current.result()?)?);
            accumulator = Some(current);
            last = window;
        }
        Ok(values)
    }
}
