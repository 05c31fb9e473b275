//! What databases and collections may be called.

use std::fmt;

use crate::documents::fault::{Fault, Result, code};

/// Bytes of a database's name at most.
pub const DATABASE_NAME_BYTES_MAX: usize = 63;
/// Bytes of database and collection together at most.
pub const NAMESPACE_BYTES_MAX: usize = 255;

const DATABASE_SIGNS_REFUSED: [char; 12] =
    ['/', '\\', '.', ' ', '"', '$', '*', '<', '>', ':', '|', '?'];

/// A collection of a database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Namespace {
    /// The database.
    pub database: String,
    /// The collection.
    pub collection: String,
}

impl Namespace {
    /// Checks both names.
    ///
    /// # Errors
    /// When one of them is not allowed.
    pub fn new(database: &str, collection: &str) -> Result<Namespace> {
        check_database(database)?;
        check_collection(database, collection)?;
        Ok(Namespace {
            database: database.to_owned(),
            collection: collection.to_owned(),
        })
    }

    /// A namespace that names no collection, for what is asked of a whole database.
    #[must_use]
    pub fn pseudo(database: &str, collection: &str) -> Namespace {
        Namespace {
            database: database.to_owned(),
            collection: collection.to_owned(),
        }
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.collection)
    }
}

/// Checks a database's name.
///
/// # Errors
/// When it is empty, too long, or has a sign that is not allowed.
pub fn check_database(name: &str) -> Result<()> {
    let fits = !name.is_empty()
        && name.len() <= DATABASE_NAME_BYTES_MAX
        && !name.contains(DATABASE_SIGNS_REFUSED)
        && !name.contains('\0');
    if fits {
        return Ok(());
    }
    Err(Fault::new(
        code::INVALID_NAMESPACE,
        format!("Invalid database name: '{name}'"),
    ))
}

fn check_collection(database: &str, name: &str) -> Result<()> {
    let fits = !name.is_empty()
        && !name.starts_with('.')
        && !name.contains('\0')
        && (!name.contains('$') || name == "$cmd")
        && database.len() + 1 + name.len() <= NAMESPACE_BYTES_MAX;
    if fits {
        return Ok(());
    }
    Err(Fault::new(
        code::INVALID_NAMESPACE,
        format!("Invalid namespace specified '{database}.{name}'"),
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn names_that_are_refused_say_73() {
        let long = "x".repeat(64);
        for name in [
            "", "a.b", "a b", "a/b", "a\\b", "a$", "a\"", "a*", "a<", "a>", "a:", "a|", "a?",
            "a\0b", &long,
        ] {
            assert_eq!(check_database(name).unwrap_err().code(), Some(73), "{name}");
        }
        let long = "x".repeat(254);
        for name in ["", ".a", "a$b", "$", "a\0b", &long] {
            assert_eq!(
                Namespace::new("d", name).unwrap_err().code(),
                Some(73),
                "{name}"
            );
        }
        for name in ["a", "a.b", "a b", "a/b", "system.users", "é", "a..b"] {
            assert_eq!(
                Namespace::new("d", name).unwrap().to_string(),
                format!("d.{name}")
            );
        }
    }
}
