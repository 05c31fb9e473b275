//! Values that come beside the query text.

use std::collections::HashMap;

use lapsedb_value::{Str, Value};

use crate::error::SqlError;
use crate::lexer;

/// The parameters of a query by name; names go with or without their `@`.
#[derive(Clone, Debug, Default)]
pub struct Params(HashMap<Str, Value>);

impl Params {
    /// No parameters.
    pub fn new() -> Params {
        Params::default()
    }

    /// Adds a parameter as a request names it.
    ///
    /// # Errors
    /// When the name is not `@` and an identifier, or is there already.
    pub fn add(&mut self, name: &str, value: Value) -> Result<(), SqlError> {
        if !lexer::is_parameter(name) {
            return Err(SqlError::parameter_name(name));
        }
        match self.0.insert(Str::new(bare(name)), value) {
            None => Ok(()),
            Some(_) => Err(SqlError::parameter_twice(name)),
        }
    }

    /// Adds or replaces a parameter.
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(Str::new(bare(name)), value);
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(bare(name))
    }
}

impl<N: AsRef<str>> FromIterator<(N, Value)> for Params {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(pairs: I) -> Params {
        let mut params = Params::new();
        for (name, value) in pairs {
            params.set(name.as_ref(), value);
        }
        params
    }
}

fn bare(name: &str) -> &str {
    name.strip_prefix('@').unwrap_or(name)
}
