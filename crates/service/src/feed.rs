//! Pages of catalog resources, and queries over them.
//!
//! A page ends behind a resource's number, and the next one begins behind it: resources made or removed meanwhile make
//! no page repeat or leave out another.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lapsedb_sql::{Bound, Env, Executor, Flow, Params, Progress, Schema};
use lapsedb_store::{Collection, View};
use lapsedb_value::Value;

use crate::collections::{computed, search};
use crate::continuation::{Mark, invalid_token};
use crate::error::{Error, Result};
use crate::limits::{PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use crate::names;
use crate::reply::Owner;

/// The form of tokens that this version writes.
const TOKEN_VERSION: &str = "2";
/// Longest token that is looked at, in bytes.
const TOKEN_BYTES_MAX: usize = 256;

/// What a request asks of a feed.
#[derive(Clone, Debug, Default)]
pub struct Ask<'a> {
    /// Resources of a page; the server decides if it is not said.
    pub size: Option<usize>,
    /// Where an earlier page ended.
    pub continuation: Option<&'a str>,
    /// What to make of the resources; as they are, if it is not said.
    pub query: Option<Query>,
}

/// A query over a feed.
#[derive(Clone, Debug)]
pub struct Query {
    text: String,
    params: Params,
}

/// A page of a feed, or of a query's rows.
#[derive(Clone, Debug)]
pub struct Page {
    /// The resources or rows.
    pub values: Vec<Value>,
    /// Where the next page begins; none at the end.
    pub continuation: Option<String>,
    /// How far the log has come.
    pub lsn: u64,
    /// Whose feed it is.
    pub owner: Owner,
}

impl Query {
    /// The query with its names resolved and its parameters in place.
    ///
    /// # Errors
    /// When the text is wrong, or the query is planned only.
    pub(crate) fn bind(&self) -> Result<Bound> {
        let bound = lapsedb_sql::bind(&lapsedb_sql::parse(&self.text)?, &self.params)?;
        bound.check_runs()?;
        Ok(bound)
    }

    /// The query as a plan of it is asked for. Plans say nothing of collections, so the text alone decides; what a client cannot
    /// merge is planned for a single partition.
    ///
    /// # Errors
    /// When the text is wrong, or the query cannot be planned.
    pub(crate) fn bind_plan(&self, single_partition: bool) -> Result<Bound> {
        let bound = lapsedb_sql::bind(&lapsedb_sql::parse(&self.text)?, &self.params)?;
        if !single_partition {
            bound.check_plan()?;
        }
        Ok(bound)
    }

    /// The same over a collection's items, whose definition may say what names and vectors mean; and what of the text decides
    /// the order of the rows.
    ///
    /// # Errors
    /// When the text is wrong, or the query is planned only.
    pub(crate) fn bind_for(&self, collection: &Collection) -> Result<(Bound, Vec<u16>)> {
        let mut schema = Schema::new(computed::of(&collection.document));
        search::add_embeddings(&collection.document, &mut schema);
        let parsed = lapsedb_sql::parse(&self.text)?;
        let bound = lapsedb_sql::bind_with(&parsed, &self.params, &schema)?;
        bound.check_runs()?;
        Ok((bound, parsed.sequence(&self.text)))
    }

    /// Reads a posted query: `{"query": "…", "parameters": [{"name": "@p", "value": …}]}`.
    ///
    /// # Errors
    /// When the body is something else.
    pub fn of_body(body: &Value) -> Result<Query> {
        let text = match body.get("query") {
            Value::String(text) => text.to_string(),
            Value::Undefined => return Err(names::missing(&["query"])),
            _ => return Err(Error::bad_request("The query must be a text.")),
        };
        let mut params = Params::new();
        match body.get("parameters") {
            Value::Undefined | Value::Null => {}
            Value::Array(list) => {
                for parameter in list {
                    let name = parameter.get("name").as_str();
                    let name = name.ok_or_else(|| {
                        Error::bad_request("Every parameter of a query must have a name.")
                    })?;
                    params.add(name, parameter.get("value").clone())?;
                }
            }
            _ => {
                return Err(Error::bad_request(
                    "The parameters of a query must be an array.",
                ));
            }
        }
        Ok(Query { text, params })
    }
}

/// Where a page ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    /// The number of the last resource.
    after: u64,
    /// What the query had left out and let through by then.
    progress: Progress,
}

impl Position {
    fn write(self, mark: Mark) -> String {
        let Progress { skipped, emitted } = self.progress;
        let mark = mark.number();
        let text = format!("{TOKEN_VERSION},{mark},{},{skipped},{emitted}", self.after);
        URL_SAFE_NO_PAD.encode(text)
    }

    fn read(token: &str, mark: Mark) -> Option<Position> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let mut parts = std::str::from_utf8(&bytes).ok()?.split(',');
        if parts.next()? != TOKEN_VERSION {
            return None;
        }
        let mut number = || parts.next()?.parse::<u64>().ok();
        if number()? != u64::from(mark.number()) {
            return None;
        }
        let position = Position {
            after: number()?,
            progress: Progress {
                skipped: number()?,
                emitted: number()?,
            },
        };
        parts.next().is_none().then_some(position)
    }
}

/// The page that is asked for, of resources with their numbers in the order of these, and what these are called in addresses.
pub(crate) fn page(
    view: &View,
    of: (Owner, &str),
    entries: Vec<(u64, Value)>,
    ask: &Ask<'_>,
) -> Result<Page> {
    page_behind(view, of, |_| entries.into_iter(), ask)
}

/// The same of many. They are asked for from behind a number on,
/// one after the other, until the page is full.
pub(crate) fn page_behind<I: Iterator<Item = (u64, Value)>>(
    view: &View,
    (owner, kind): (Owner, &str),
    behind: impl FnOnce(u64) -> I,
    ask: &Ask<'_>,
) -> Result<Page> {
    let size = ask.size.unwrap_or(PAGE_ITEMS_DEFAULT).min(PAGE_ITEMS_MAX);
    let mark = Mark::of_resources(&owner, kind);
    let position = match ask.continuation {
        None | Some("") => Position::default(),
        Some(token) => Position::read(token, mark).ok_or_else(invalid_token)?,
    };
    let entries = behind(position.after);
    let (values, end) = match &ask.query {
        None => plain(entries, position, size),
        Some(query) => {
            let bound = query.bind()?;
            let now = i64::try_from(view.now().0).unwrap_or(i64::MAX);
            rows(&bound, Env::new(now), entries, position, size)?
        }
    };
    Ok(Page {
        values,
        continuation: end.map(|end| end.write(mark)),
        lsn: view.lsn(),
        owner,
    })
}

/// The resources of a page, and where it ends if more follow.
fn plain(
    entries: impl IntoIterator<Item = (u64, Value)>,
    position: Position,
    size: usize,
) -> (Vec<Value>, Option<Position>) {
    let mut values = Vec::new();
    let mut last = position;
    for (number, value) in entries {
        if number <= position.after {
            continue;
        }
        if values.len() >= size {
            return (values, Some(last));
        }
        last.after = number;
        values.push(value);
    }
    (values, None)
}

/// The rows of a page, and where it ends if more may follow.
///
/// Only what comes out resource by resource is paged: of a sorted, grouped or distinct result no place could be named
/// that stays right when resources come and go, and all of it is small.
fn rows(
    bound: &Bound,
    env: Env<'_>,
    entries: impl IntoIterator<Item = (u64, Value)>,
    position: Position,
    size: usize,
) -> Result<(Vec<Value>, Option<Position>)> {
    let paged = bound.is_streaming() && bound.reads_documents();
    if !paged && position != Position::default() {
        return Err(invalid_token());
    }
    let mut executor = Executor::resume(bound, env, position.progress);
    let mut rows = Vec::new();
    let mut last = position.after;
    if bound.reads_documents() {
        for (number, value) in entries {
            if number <= position.after {
                continue;
            }
            if paged && rows.len() >= size {
                let progress = executor.progress();
                let after = last;
                return Ok((rows, Some(Position { after, progress })));
            }
            last = number;
            let flow = executor.push(value)?;
            rows.append(&mut executor.take_rows());
            if flow == Flow::Done {
                break;
            }
        }
    }
    rows.append(&mut executor.finish()?);
    Ok((rows, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapsedb_value::{Object, json};

    fn resources(numbers: impl IntoIterator<Item = u64>) -> Vec<(u64, Value)> {
        numbers
            .into_iter()
            .map(|number| {
                let mut object = Object::new();
                object.push("id", Value::from(format!("r{number}")));
                object.push("n", Value::from(i64::try_from(number).unwrap()));
                (number, Value::Object(object))
            })
            .collect()
    }

    fn bound(text: &str) -> Bound {
        lapsedb_sql::bind(&lapsedb_sql::parse(text).unwrap(), &Params::new()).unwrap()
    }

    fn mark(kind: &str) -> Mark {
        Mark::of_resources(&Owner::account(), kind)
    }

    fn ids(values: &[Value]) -> Vec<&str> {
        values
            .iter()
            .map(|value| value.get("id").as_str().unwrap())
            .collect()
    }

    #[test]
    fn a_token_reads_back_as_it_was_written() {
        for after in [0, 1, 77, u64::MAX] {
            for (skipped, emitted) in [(0, 0), (3, 9), (u64::MAX, u64::MAX)] {
                let progress = Progress { skipped, emitted };
                let position = Position { after, progress };
                let token = position.write(mark("users"));
                assert!(token.bytes().all(|byte| byte.is_ascii_graphic()));
                assert_eq!(Position::read(&token, mark("users")), Some(position));
                assert_eq!(Position::read(&token, mark("colls")), None);
            }
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let long = "A".repeat(TOKEN_BYTES_MAX + 1);
        let own = mark("users").number();
        for token in [
            "x",
            "!!!",
            "AAAA",
            &long,
            &encode("1,1,0,0"),
            &encode(&format!("3,{own},1,0,0")),
            &encode(&format!("2,{own},1,0")),
            &encode(&format!("2,{own},1,0,0,0")),
            &encode(&format!("2,{own},-1,0,0")),
            &encode(&format!("2,{own},18446744073709551616,0,0")),
            &encode(&format!("2,{own},a,0,0")),
            &encode("2,1,1,0,0"),
        ] {
            assert_eq!(Position::read(token, mark("users")), None, "{token}");
        }
    }

    #[test]
    fn pages_follow_each_other_whatever_comes_and_goes() {
        let (first, end) = plain(resources([2, 5, 9, 12]), Position::default(), 2);
        assert_eq!(ids(&first), ["r2", "r5"]);
        // The last resource of the page is removed, and a new one is made.
        let (second, end) = plain(resources([2, 9, 12, 13]), end.unwrap(), 2);
        assert_eq!(ids(&second), ["r9", "r12"]);
        let (third, end) = plain(resources([2, 9, 12, 13]), end.unwrap(), 2);
        assert_eq!(ids(&third), ["r13"]);
        assert!(end.is_none());
    }

    #[test]
    fn a_full_last_page_has_no_successor() {
        let (page, end) = plain(resources([1, 2]), Position::default(), 2);
        assert_eq!((page.len(), end), (2, None));
    }

    #[test]
    fn every_page_size_gives_the_same_rows() {
        let queries = [
            "SELECT * FROM c",
            "SELECT * FROM root r WHERE r.n > 3",
            "SELECT * FROM c OFFSET 2 LIMIT 4",
            "SELECT TOP 3 * FROM c WHERE c.n != 2",
            "SELECT * FROM c ORDER BY c.n DESC",
        ];
        for text in queries {
            let bound = bound(text);
            let whole = rows(
                &bound,
                Env::new(0),
                resources(1..=8),
                Position::default(),
                100,
            );
            let whole = whole.unwrap().0;
            for size in 1..=9 {
                let mut all = Vec::new();
                let mut position = Position::default();
                loop {
                    let (page, end) =
                        rows(&bound, Env::new(0), resources(1..=8), position, size).unwrap();
                    all.extend(page);
                    match end {
                        Some(end) => {
                            let token = end.write(mark("users"));
                            position = Position::read(&token, mark("users")).unwrap();
                        }
                        None => break,
                    }
                }
                assert_eq!(ids(&all), ids(&whole), "{text} by {size}");
            }
        }
    }

    #[test]
    fn a_query_without_resources_answers_once() {
        let bound = bound("SELECT VALUE COUNT(1) FROM c");
        let (rows, end) = rows(&bound, Env::new(0), Vec::new(), Position::default(), 10).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].as_i64(), Some(0));
        assert!(end.is_none());
    }

    #[test]
    fn a_posted_query_has_text_and_named_parameters() {
        let limits = json::Limits {
            depth_max: 8,
            duplicates_refused: &[],
        };
        let read = |text: &str| Query::of_body(&json::parse(text.as_bytes(), &limits).unwrap());
        let query = read(r#"{"query":"SELECT 1","parameters":[{"name":"@p","value":5}]}"#).unwrap();
        assert_eq!(query.params.get("p").unwrap().as_i64(), Some(5));
        for bad in [
            "{}",
            "[]",
            r#"{"query":5}"#,
            r#"{"query":"x","parameters":5}"#,
            r#"{"query":"x","parameters":[5]}"#,
            r#"{"query":"x","parameters":[{"value":1}]}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
