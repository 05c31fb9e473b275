//! Which members of a collection's documents a pipeline looks at, so that the others need not be read.

use super::*;

impl Pipeline {
    /// The names of the outermost members that it looks at; none, if it may look at all of them or shows them.
    pub fn fields(&self) -> Option<Vec<Str>> {
        let mut names = Vec::new();
        for stage in self.stages() {
            match stage {
                Stage::Match(filter) => names.extend(filter.fields()?),
                Stage::Limit(_) | Stage::Skip(_) => {}
                Stage::Sort(ordered) => {
                    let first = |path: &str| Str::new(path.split('.').next().unwrap_or(path));
                    names.extend(ordered.sort().fields().map(|(path, _)| first(path)));
                }
                // What comes behind sees the groups and no longer the documents.
                Stage::Group(group) => return group.fields(&mut names).then_some(names),
                _ => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use lapsedb_value::json;

    use super::*;

    fn fields(text: &str) -> Option<Vec<String>> {
        let stages = json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap();
        let stages = stages.as_array().unwrap();
        let pipeline = Pipeline::parse(stages, &Options::default()).unwrap();
        let mut names: Vec<String> = pipeline
            .fields()?
            .iter()
            .map(|name| name.to_string())
            .collect();
        names.sort();
        names.dedup();
        Some(names)
    }

    #[test]
    fn a_pipeline_that_groups_says_which_members_it_looks_at() {
        let count = r#"[{"$match": {}}, {"$group": {"_id": 1, "n": {"$sum": 1}}}]"#;
        assert_eq!(fields(count), Some(vec![]));
        assert_eq!(fields(r#"[{"$count": "n"}]"#), Some(vec![]));
        let text = r#"[{"$match": {"a.b": 1}}, {"$sort": {"c.d": 1}}, {"$limit": 3},
            {"$group": {"_id": {"x": "$e.f"}, "s": {"$sum": {"$add": ["$g", 1]}},
                        "t": {"$top": {"sortBy": {"h.i": 1}, "output": "$k"}}}}, {"$match": {"z": 1}}]"#;
        assert_eq!(fields(text).unwrap(), ["a", "c", "e", "g", "h", "k"]);
    }

    #[test]
    fn one_that_shows_documents_or_hides_what_it_reads_says_nothing() {
        for text in [
            "[]",
            r#"[{"$match": {"a": 1}}]"#,
            r#"[{"$unwind": "$a"}, {"$count": "n"}]"#,
            r#"[{"$group": {"_id": null, "all": {"$push": "$$ROOT"}}}]"#,
            r#"[{"$group": {"_id": {"$cond": [{"$gt": ["$a", 1]}, "$b", "$c"]}}}]"#,
            r#"[{"$match": {"$expr": {"$eq": ["$a", "$b"]}}}, {"$count": "n"}]"#,
        ] {
            assert_eq!(fields(text), None, "{text}");
        }
    }
}
