//! Array filters: which elements `$[name]` means.

use lapsedb_value::{Object, Str, Value};

use crate::filter::{Filter, Options};
use crate::{MqlError, Result};

/// Filters by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArrayFilters(Vec<(Str, Filter)>);

impl ArrayFilters {
    pub(crate) fn parse(filters: &[Object], options: &Options) -> Result<ArrayFilters> {
        let mut all: Vec<(Str, Filter)> = Vec::with_capacity(filters.len());
        for document in filters {
            let filter = Filter::parse(document, options).map_err(|error| {
                let message = format!(
                    "Error parsing array filter :: caused by :: {}",
                    error.message
                );
                MqlError::new(error.code, message)
            })?;
            let mut names = Vec::new();
            collect_names(document, &mut names);
            let name = single(&names)?;
            check_name(name)?;
            if all.iter().any(|(known, _)| known == name) {
                return Err(MqlError::failed_to_parse(format!(
                    "Found multiple array filters with the same top-level field name {name}"
                )));
            }
            all.push((Str::new(name), filter));
        }
        Ok(ArrayFilters(all))
    }

    /// Whether the element fulfils the filter of that name.
    pub(crate) fn matches(&self, name: &str, element: &Value) -> Result<bool> {
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, filter)) => filter.matches_named(name, element),
            None => Ok(false),
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// The first names of all paths in a filter.
fn collect_names<'a>(filter: &'a Object, names: &mut Vec<&'a str>) {
    for (name, value) in filter {
        if name.starts_with('$') {
            let branches = value.as_array().unwrap_or_default();
            let branches = branches.iter().filter_map(Value::as_object);
            branches.for_each(|branch| collect_names(branch, names));
        } else {
            names.push(name.split('.').next().unwrap_or(name));
        }
    }
}

fn single<'a>(names: &[&'a str]) -> Result<&'a str> {
    let first = names.first().copied().ok_or_else(|| {
        MqlError::failed_to_parse(
            "Cannot use an expression without a top-level field name in arrayFilters",
        )
    })?;
    match names.iter().find(|name| **name != first) {
        Some(other) => Err(MqlError::failed_to_parse(format!(
            "Error parsing array filter :: caused by :: Expected a single top-level field name, found '{first}' and '{other}'"
        ))),
        None => Ok(first),
    }
}

fn check_name(name: &str) -> Result<()> {
    let fits = name.starts_with(|sign: char| sign.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match fits {
        true => Ok(()),
        false => Err(MqlError::bad_value(format!(
            "Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string beginning \
             with a lowercase letter, found '{name}'"
        ))),
    }
}
