//! Values that come beside the query text.

use lapsedb_value::{Str, Value};

/// The parameters of a query by name; names go with or without their `@`.
#[derive(Clone, Debug, Default)]
pub struct Params(Vec<(Str, Value)>);

impl Params {
    /// No parameters.
    pub const fn new() -> Params {
        Params(Vec::new())
    }

    /// Adds or replaces a parameter.
    pub fn set(&mut self, name: &str, value: Value) {
        let name = bare(name);
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((Str::new(name), value)),
        }
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let name = bare(name);
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
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
