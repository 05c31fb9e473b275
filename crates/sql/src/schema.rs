//! What a container's definition says that queries depend on.

use lapsedb_value::path::{Path, Segment};
use lapsedb_value::{Object, Str, Value};

use crate::ast::Step;
use crate::computed::Computed;

/// What binding a query needs to know of its container.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Its computed properties.
    pub computed: Computed,
    embeddings: Vec<(Vec<Step>, Str)>,
}

/// Nothing is known.
pub(crate) static NONE: Schema = Schema {
    computed: Computed::NONE,
    embeddings: Vec::new(),
};

impl Schema {
    /// A container of which only its computed properties are known.
    #[must_use]
    pub const fn new(computed: Computed) -> Schema {
        Schema {
            computed,
            embeddings: Vec::new(),
        }
    }

    /// Says by which function the vectors at a path are compared, unless a query says another.
    pub fn add_embedding(&mut self, path: &Path, distance_function: &str) {
        let steps = path.segments().iter().map(|segment| match segment {
            Segment::Member(name) => Some(Step::Member(name.clone())),
            Segment::Elements => None,
        });
        if let Some(steps) = steps.collect() {
            self.embeddings.push((steps, Str::from(distance_function)));
        }
    }

    /// The options of `VectorDistance` for vectors at one of some paths, with what the query says of them.
    pub(crate) fn vector_options(
        &self,
        paths: &[Option<Vec<Step>>],
        said: &Value,
    ) -> Option<Value> {
        if !said.get("distanceFunction").is_undefined() {
            return None;
        }
        let known = |steps: &Vec<Step>| paths.iter().flatten().any(|path| path == steps);
        let (_, metric) = self.embeddings.iter().find(|(steps, _)| known(steps))?;
        let mut options = said.as_object().cloned().unwrap_or_else(Object::new);
        options.push("distanceFunction", Value::String(metric.clone()));
        Some(Value::Object(options))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use lapsedb_value::json;

    use super::*;
    use crate::{Env, Executor, Params, bind_with, parse};

    fn rows(text: &str) -> Vec<String> {
        let mut schema = Schema::default();
        schema.add_embedding(&Path::parse_pointer("/v").unwrap(), "euclidean");
        let bound = bind_with(&parse(text).unwrap(), &Params::new(), &schema).unwrap();
        let mut executor = Executor::new(&bound, Env::new(0));
        for text in [
            r#"{"id":"far","v":[9,9],"w":[3,4]}"#,
            r#"{"id":"near","v":[3,4],"w":[9,9]}"#,
        ] {
            let document = json::parse(text.as_bytes(), &json::Limits::default()).unwrap();
            executor.push(document).unwrap();
        }
        let mut rows = executor.take_rows();
        rows.append(&mut executor.finish().unwrap());
        rows.iter().map(json::to_string).collect()
    }

    #[test]
    fn vectors_are_compared_as_the_policy_says_unless_the_query_says_it() {
        for (text, expected) in [
            (
                "SELECT VALUE VectorDistance(c.v, [0,0]) FROM c WHERE c.id = 'near'",
                ["5"].as_slice(),
            ),
            (
                "SELECT VALUE VectorDistance([0,0], c.v, true) FROM c WHERE c.id = 'near'",
                &["5"],
            ),
            (
                "SELECT VALUE VectorDistance(c.v, [1,0], false, {dataType: 'float32'}) FROM c WHERE c.id = 'near'",
                &["4.47213595499958"],
            ),
            (
                "SELECT VALUE VectorDistance(c.v, [1,1], false, {distanceFunction: 'dotproduct'}) FROM c WHERE c.id = 'near'",
                &["7"],
            ),
            (
                "SELECT VALUE VectorDistance(c.w, [1,0], true) FROM c WHERE c.id = 'far'",
                &["0.6"],
            ),
            (
                "SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.v, [0,0])",
                &[r#""near""#, r#""far""#],
            ),
        ] {
            assert_eq!(rows(text), expected, "{text}");
        }
    }
}
