//! `$documentNumber`: the place of a document in its part, from 1.

use super::*;

#[derive(Debug)]
struct DocumentNumber;

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    spec.no_arguments()?;
    if spec.sort.is_none() {
        return spec
            .one_field(5371602)
            .map(|()| Arc::new(DocumentNumber) as Arc<dyn Function>);
    }
    Ok(Arc::new(DocumentNumber))
}

impl Function for DocumentNumber {
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        Ok((1..=part.len() as i32).map(Value::Int32).collect())
    }
}
