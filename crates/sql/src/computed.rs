//! Computed properties: names that stand for an expression over the document, wherever a query says `c.name`.
//!
//! They are put in when a query is bound, so evaluation knows nothing of them. `SELECT *` does not show them.

use lapsedb_value::Str;

use crate::ast::{Collection, Expr, OrderBy, Query, SelectList};
use crate::bind;
use crate::error::SqlError;
use crate::parser;

/// How deep the expression of a computed property may nest: it adds to the depth of the queries that use it.
const HEIGHT_MAX: u16 = 32;

/// The computed properties of a container.
#[derive(Clone, Debug, Default)]
pub struct Computed {
    properties: Vec<Property>,
}

/// One computed property.
#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) name: Str,
    /// What its query calls the document.
    pub(crate) alias: Str,
    pub(crate) expr: Expr,
}

impl Computed {
    /// No computed properties.
    pub(crate) const NONE: Computed = Computed {
        properties: Vec::new(),
    };

    /// Adds a property that is defined by `SELECT VALUE <expression> FROM c`.
    ///
    /// # Errors
    /// When the query is of another form, or its expression is not allowed there.
    pub fn add(&mut self, name: &str, query: &str) -> Result<(), SqlError> {
        let parsed = parser::parse(query)?;
        let (alias, expr) = form(&parsed)?;
        let property = Property {
            name: Str::from(name),
            alias,
            expr,
        };
        bind::check_computed(&parsed, &property)?;
        self.properties.push(property);
        Ok(())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Property> {
        let mut properties = self.properties.iter();
        properties.find(|property| property.name == name)
    }
}

/// The alias and the expression of a definition.
fn form(query: &Query) -> Result<(Str, Expr), SqlError> {
    let plain = query.filter.is_none()
        && query.group_by.keys.is_empty()
        && matches!(query.order_by, OrderBy::None)
        && query.window.is_none()
        && query.select.top.is_none()
        && !query.select.distinct;
    match (&query.select.list, query.from.as_slice()) {
        (SelectList::Value(expr), [source]) if plain && !source.iterates => {
            match &source.collection {
                Collection::Path { root, steps, .. } if steps.is_empty() => {
                    if query.height > HEIGHT_MAX {
                        return Err(SqlError::too_complex(
                            "the expression of a computed property nests too deep",
                            query.span,
                        ));
                    }
                    let alias = source.alias.as_ref().unwrap_or(root);
                    Ok((alias.text.clone(), expr.clone()))
                }
                Collection::Path { .. } | Collection::Query(_) => Err(not_the_form(query)),
            }
        }
        _ => Err(not_the_form(query)),
    }
}

fn not_the_form(query: &Query) -> SqlError {
    // The service's code for this text is not known.
    let message =
        "The query of a computed property must have the form SELECT VALUE <expression> FROM c.";
    SqlError::new("SC2001", message, query.span)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use lapsedb_value::{Value, json};

    use super::*;
    use crate::{Env, Executor, Params, Schema, bind_with};

    fn computed(properties: &[(&str, &str)]) -> Computed {
        let mut computed = Computed::default();
        for (name, query) in properties {
            computed.add(name, query).unwrap();
        }
        computed
    }

    fn documents() -> Vec<Value> {
        ["Bb", "aA", "bB", ""]
            .iter()
            .zip(1..)
            .map(|(group, n)| {
                let text = match *group {
                    "" => format!(r#"{{"id":"{n}","n":{n}}}"#),
                    group => format!(r#"{{"id":"{n}","n":{n},"g":"{group}","low":"stored"}}"#),
                };
                json::parse(text.as_bytes(), &json::Limits::default()).unwrap()
            })
            .collect()
    }

    fn rows(text: &str) -> Result<Vec<String>, SqlError> {
        let computed = computed(&[
            ("low", "SELECT VALUE LOWER(x.g) FROM x"),
            ("square", "SELECT VALUE c.n * c.n FROM c"),
            ("both", "SELECT VALUE c.n > 1 AND c.n < 4 FROM c"),
            ("alias", "SELECT VALUE c.g FROM c"),
        ]);
        let schema = Schema::new(computed);
        let bound = bind_with(&parser::parse(text)?, &Params::new(), &schema)?;
        let mut executor = Executor::new(&bound, Env::new(0));
        let mut rows = Vec::new();
        for document in documents() {
            executor.push(document)?;
            rows.append(&mut executor.take_rows());
        }
        rows.append(&mut executor.finish()?);
        Ok(rows.iter().map(json::to_string).collect())
    }

    #[test]
    fn a_computed_property_is_read_wherever_a_path_is() {
        for (text, expected) in [
            (
                "SELECT VALUE c.low FROM c",
                vec![r#""bb""#, r#""aa""#, r#""bb""#],
            ),
            (
                r#"SELECT VALUE c.id FROM c WHERE c.low = "bb""#,
                vec![r#""1""#, r#""3""#],
            ),
            (
                r#"SELECT VALUE d["low"] FROM d WHERE d.n = 2"#,
                vec![r#""aa""#],
            ),
            (
                "SELECT c.low, c.square FROM c WHERE c.both",
                vec![r#"{"low":"aa","square":4}"#, r#"{"low":"bb","square":9}"#],
            ),
            (
                "SELECT VALUE c.id FROM c ORDER BY c.low DESC",
                vec![r#""3""#, r#""1""#, r#""2""#, r#""4""#],
            ),
            (
                "SELECT VALUE c.id FROM c ORDER BY c.low",
                vec![r#""4""#, r#""2""#, r#""1""#, r#""3""#],
            ),
            (
                "SELECT c.low, COUNT(1) AS n FROM c GROUP BY c.low",
                vec![
                    r#"{"n":1}"#,
                    r#"{"low":"aa","n":1}"#,
                    r#"{"low":"bb","n":2}"#,
                ],
            ),
            (
                "SELECT c.both, SUM(c.square) AS s FROM c GROUP BY c.both",
                vec![r#"{"both":false,"s":17}"#, r#"{"both":true,"s":13}"#],
            ),
            ("SELECT VALUE MAX(c.square) FROM c", vec!["16"]),
            (
                "SELECT VALUE (SELECT VALUE c.square) FROM c WHERE c.n = 3",
                vec!["9"],
            ),
        ] {
            assert_eq!(rows(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_whole_document_shows_none_and_a_part_of_it_has_none() {
        let found = rows("SELECT * FROM c WHERE c.n = 4").unwrap();
        assert_eq!(found, [r#"{"id":"4","n":4}"#]);
        let found =
            rows("SELECT VALUE {d: d.low} FROM c JOIN (SELECT VALUE {low: 7}) d WHERE c.n = 4");
        assert_eq!(found.unwrap(), [r#"{"d":7}"#]);
    }

    #[test]
    fn what_is_no_definition_is_refused() {
        for query in [
            "SELECT c.a FROM c",
            "SELECT * FROM c",
            "SELECT VALUE c.a FROM c WHERE c.b",
            "SELECT VALUE x FROM x IN c.list",
            "SELECT VALUE 1 FROM c JOIN x IN c.list",
            "SELECT VALUE c.a FROM c.b",
            "SELECT VALUE 1",
            "SELECT TOP 1 VALUE c.a FROM c",
            "SELECT DISTINCT VALUE c.a FROM c",
            "SELECT VALUE c.a FROM c ORDER BY c.a",
            "SELECT VALUE c.a FROM c GROUP BY c.a",
            "SELECT VALUE c.a FROM c OFFSET 0 LIMIT 1",
            "SELECT VALUE COUNT(1) FROM c",
            "SELECT VALUE EXISTS(SELECT VALUE 1 FROM x IN c.list) FROM c",
            "SELECT VALUE d.a FROM c",
            "SELECT VALUE NOFUNCTION(c.a) FROM c",
            "SELECT VALUE RAND() FROM c",
            "SELECT VALUE @p FROM c",
            "SELECT VALUE",
        ] {
            assert!(Computed::default().add("p", query).is_err(), "{query}");
        }
    }

    #[test]
    fn a_deep_definition_is_refused() {
        let deep = format!(
            "SELECT VALUE {}c.a{} FROM c",
            "ABS(".repeat(40),
            ")".repeat(40)
        );
        assert!(Computed::default().add("p", &deep).is_err());
    }
}
