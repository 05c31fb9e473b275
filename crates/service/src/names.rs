//! What a catalog resource may be called.

use lapsedb_value::{Object, Str, Value};

use crate::error::{Error, Kind, Result};
use crate::limits::NAME_CHARS_MAX;

/// Signs that would break a path.
const FORBIDDEN: [char; 4] = ['/', '\\', '#', '?'];
/// Signs that would break a header. Scripts may have them in their names, as in the service.
const CONTROL: [char; 3] = ['\t', '\r', '\n'];

/// The `id` of a posted resource.
///
/// # Errors
/// When it is missing, not a text, or not allowed.
pub fn id_of(body: &Object) -> Result<Str> {
    let id = text_of(body)?;
    check(id)?;
    Ok(id.clone())
}

/// The `id` of a posted stored procedure, trigger or function.
///
/// # Errors
/// When it is missing, not a text, or not allowed.
pub fn script_id_of(body: &Object) -> Result<Str> {
    let id = text_of(body)?;
    check_length_and_path(id)?;
    Ok(id.clone())
}

fn text_of(body: &Object) -> Result<&Str> {
    match body.get("id") {
        None | Some(Value::Undefined) => Err(missing(&["id"])),
        Some(Value::String(id)) => Ok(id),
        Some(other) => Err(invalid(&other.to_string())),
    }
}

/// The `id` of a replacement, which must be the one it replaces.
///
/// # Errors
/// When it is missing or another one.
pub fn same_id(body: &Object, id: &str) -> Result<()> {
    let given = text_of(body)?;
    if given == id {
        return Ok(());
    }
    Err(Error::bad_request(format!(
        "The id '{given}' in the body is not the id '{id}' of the resource that is to be replaced; ids cannot be changed."
    )))
}

/// Refuses a name that is empty, too long, ends in a space, or holds a sign that paths cannot.
///
/// # Errors
/// When the name is not allowed.
pub fn check(name: &str) -> Result<()> {
    check_length_and_path(name)?;
    if name.contains(CONTROL) {
        return Err(invalid(name));
    }
    Ok(())
}

fn check_length_and_path(name: &str) -> Result<()> {
    let fits = !name.is_empty()
        && name.chars().count() <= NAME_CHARS_MAX
        && !name.ends_with(' ')
        && !name.contains(FORBIDDEN);
    if fits { Ok(()) } else { Err(invalid(name)) }
}

/// What a body without required properties is answered.
#[must_use]
pub fn missing(names: &[&str]) -> Error {
    let list: String = names.iter().flat_map(|name| [*name, "; "]).collect();
    Error::bad_request(format!(
        "The input content is invalid because the required properties - '{list}' - are missing"
    ))
}

/// What a name that another resource of the kind has is answered.
#[must_use]
pub fn taken(kind: &str) -> Error {
    taken_as(Kind::Conflict, kind)
}

/// What a name that another database has is answered.
#[must_use]
pub fn database_taken() -> Error {
    taken_as(Kind::DatabaseNameTaken, "Database")
}

fn taken_as(failure: Kind, resource: &str) -> Error {
    Error::new(
        failure,
        format!("Resource with specified id or name already exists., ResourceType: {resource}"),
    )
}

fn invalid(name: &str) -> Error {
    Error::bad_request(format!(
        "The input name '{name}' is invalid. Ensure to provide a unique non-empty string less than '{NAME_CHARS_MAX}' characters."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(id: impl Into<Value>) -> Object {
        let mut body = Object::new();
        body.push("id", id);
        body
    }

    #[test]
    fn ordinary_names_are_allowed() {
        let longest = "n".repeat(NAME_CHARS_MAX);
        let longest_wide = "é".repeat(NAME_CHARS_MAX);
        for name in [
            "a",
            "colls",
            " leading",
            "a b",
            "日本",
            "%",
            "..",
            &longest,
            &longest_wide,
        ] {
            assert!(check(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn names_that_break_paths_are_refused() {
        let too_long = "n".repeat(NAME_CHARS_MAX + 1);
        for name in [
            "", " ", "a ", "a/b", "a\\b", "a#b", "a?b", "a\tb", "a\rb", "a\nb", &too_long,
        ] {
            let error = check(name).unwrap_err();
            assert!(
                error
                    .message
                    .starts_with(&format!("The input name '{name}' is invalid.")),
                "{}",
                error.message
            );
        }
    }

    #[test]
    fn names_of_scripts_may_have_control_characters() {
        for name in ["a\tb", "a\rb", "a\nb"] {
            assert_eq!(script_id_of(&body(name)).unwrap(), name);
            assert!(same_id(&body(name), name).is_ok());
        }
        for name in ["", "a ", "a/b", "a\\b", "a#b", "a?b"] {
            assert!(script_id_of(&body(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn an_id_is_a_text() {
        assert_eq!(id_of(&body("a")).unwrap(), "a");
        for id in [
            Value::Null,
            Value::from(5),
            Value::from(true),
            Value::Array(Vec::new()),
        ] {
            assert!(id_of(&body(id)).is_err());
        }
        let message = id_of(&Object::new()).unwrap_err().message;
        assert_eq!(
            message,
            "The input content is invalid because the required properties - 'id; ' - are missing"
        );
    }

    #[test]
    fn a_replacement_keeps_its_id() {
        assert!(same_id(&body("a"), "a").is_ok());
        assert!(same_id(&body("b"), "a").is_err());
        assert!(same_id(&Object::new(), "a").is_err());
    }
}
