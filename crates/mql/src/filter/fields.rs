//! Which members of a document a filter looks at, so that the others need not be read.

use lapsedb_value::Str;

use super::Filter;
use super::node::Node;

impl Filter {
    /// The names of the outermost members that it looks at; none, if it may look at all of them.
    pub fn fields(&self) -> Option<Vec<Str>> {
        let mut names = Vec::new();
        collect(&self.root, &mut names).then_some(names)
    }
}

/// Adds the names; false, if they cannot be told.
fn collect(node: &Node, names: &mut Vec<Str>) -> bool {
    match node {
        Node::And(parts) | Node::Or(parts) | Node::Nor(parts) => {
            parts.iter().all(|part| collect(part, names))
        }
        Node::Not(part) => collect(part, names),
        Node::Never | Node::Sample(_) => true,
        Node::Field { path, .. } => {
            if let Some(first) = path.parts().first()
                && !names.contains(first)
            {
                names.push(first.clone());
            }
            true
        }
        Node::Expr(_) | Node::Schema(_) | Node::Text(_) => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use lapsedb_value::{Value, json};

    use crate::filter::{Filter, Options};

    fn fields(text: &str) -> Option<Vec<String>> {
        let Value::Object(filter) = json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap()
        else {
            panic!("not an object");
        };
        let filter = Filter::parse(&filter, &Options::default()).unwrap();
        let mut names: Vec<String> = filter
            .fields()?
            .iter()
            .map(|name| name.to_string())
            .collect();
        names.sort();
        Some(names)
    }

    #[test]
    fn a_filter_says_which_members_it_looks_at() {
        assert_eq!(fields("{}"), Some(vec![]));
        assert_eq!(fields(r#"{"a.b.c": 1, "a.x": 2}"#).unwrap(), ["a"]);
        let text = r#"{"$or": [{"a": 1}, {"b": {"$not": {"$gt": 2}}}], "c": {"$elemMatch": {"d": 1}}, "$nor": [{"e.0": 1}]}"#;
        assert_eq!(fields(text).unwrap(), ["a", "b", "c", "e"]);
        assert_eq!(fields(r#"{"a": 1, "$expr": {"$gt": ["$b", 1]}}"#), None);
        assert_eq!(fields(r#"{"$jsonSchema": {"required": ["a"]}}"#), None);
    }
}
