//! The parameters behind the `?` of an admin call.

/// Parameters that were given, each at most once.
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the text behind the `?`, in which only these names may stand.
    pub fn parse(text: &str, allowed: &[&str]) -> Result<Query, String> {
        let mut given: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) =
                (super::percent_decode(name), super::percent_decode(value))
            else {
                return Err("the query is not percent-encoded UTF-8".to_owned());
            };
            if !allowed.contains(&name.as_str()) {
                let allowed = allowed.join(", ");
                return Err(format!("'{name}' is not a parameter; allowed: {allowed}"));
            }
            if given.iter().any(|(other, _)| *other == name) {
                return Err(format!("{name} is given twice"));
            }
            given.push((name, value));
        }
        Ok(Query(given))
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn parameters_are_decoded_and_found() {
        let query = Query::parse("by=day&&buckets=%31%30", &["by", "buckets", "more"]).unwrap();
        assert_eq!(query.get("by"), Some("day"));
        assert_eq!(query.get("buckets"), Some("10"));
        assert_eq!(query.get("more"), None);
    }

    #[test]
    fn what_is_unknown_twice_or_no_text_is_refused() {
        for (text, says) in [
            ("till=day", "allowed: by, buckets"),
            ("by=day&by=day", "twice"),
            ("by=%ff", "percent"),
            ("%zz=1", "percent"),
        ] {
            let Err(error) = Query::parse(text, &["by", "buckets"]) else {
                panic!("{text} is taken");
            };
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
