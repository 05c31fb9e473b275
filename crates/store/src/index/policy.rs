//! The indexing policy of a container: which paths of an item are indexed.
//!
//! Knows no storage; `encode` walks items along the tree that is built here.

use std::collections::BTreeMap;
use std::fmt;

use lapsedb_value::path::{End, Path, Segment};
use lapsedb_value::{Object, Str, Value};

/// Most included and excluded paths together.
pub const INDEX_PATHS_MAX: usize = 1500;
/// Most composite indexes of a container.
pub const COMPOSITE_INDEXES_MAX: usize = 100;
/// Most paths of one composite index.
pub const COMPOSITE_PATHS_MAX: usize = 8;
/// Fewest paths of one composite index.
pub const COMPOSITE_PATHS_MIN: usize = 2;
/// The member of a spatial index that bounds what it covers, on a plane.
pub const BOUNDING_BOX: &str = "boundingBox";
/// Most spatial indexes of a container.
pub const SPATIAL_INDEXES_MAX: usize = 100;

/// The path that the service leaves out of every index that holds the root.
const ETAG_PATH: &str = "/\"_etag\"/?";
const ROOT_PATH: &str = "/*";
const SPATIAL_TYPES: [&str; 4] = ["Point", "Polygon", "MultiPolygon", "LineString"];
/// Members that are kept and shown, but that no index here is made from.
const ECHOED: [&str; 2] = ["vectorIndexes", "fullTextIndexes"];

/// When the index is brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// With every write.
    Consistent,
    /// Never: there is no index.
    None,
}

/// The direction of one path of a composite index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Small values first.
    Ascending,
    /// Large values first.
    Descending,
}

/// One path of a composite index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompositePath {
    /// Where the value lies.
    pub path: Path,
    /// In which direction it is sorted.
    pub order: Order,
}

/// A path whose values are shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpatialPath {
    /// Where the shapes lie.
    pub path: Path,
    /// Which kinds of shapes.
    pub types: Vec<Str>,
}

/// Why a policy is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(pub String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PolicyError {}

/// What a container says about its indexes.
#[derive(Clone, Debug)]
pub struct IndexPolicy {
    /// When the index is brought up to date.
    pub mode: Mode,
    /// Whether items are indexed without being asked for.
    pub automatic: bool,
    /// Indexes over several paths.
    pub composites: Vec<Vec<CompositePath>>,
    /// Indexes over shapes.
    pub spatial: Vec<SpatialPath>,
    root: Node,
    echo: Object,
}

/// One place in the tree of paths, with what the policy says of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// What `/?` says of the value right here.
    scalar: Option<bool>,
    /// What `/*` says of everything from here down.
    subtree: Option<bool>,
    members: BTreeMap<Str, Node>,
    elements: Option<Box<Node>>,
}

/// Where a walk through an item stands in the tree of paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    node: Option<&'a Node>,
    /// What the nearest `/*` at or above says.
    inherited: bool,
}

impl<'a> Cursor<'a> {
    fn at(node: Option<&'a Node>, inherited: bool) -> Self {
        let inherited = node.and_then(|node| node.subtree).unwrap_or(inherited);
        Cursor { node, inherited }
    }

    /// One step into a member.
    pub(super) fn member(self, name: &str) -> Self {
        Self::at(
            self.node.and_then(|node| node.members.get(name)),
            self.inherited,
        )
    }

    /// One step into the elements of an array.
    pub(super) fn elements(self) -> Self {
        Self::at(
            self.node.and_then(|node| node.elements.as_deref()),
            self.inherited,
        )
    }

    /// Whether the value right here is indexed: the most precise path decides.
    pub(super) fn indexed(self) -> bool {
        self.node
            .and_then(|node| node.scalar)
            .unwrap_or(self.inherited)
    }

    /// Whether neither this place nor any below it is indexed.
    pub(super) fn barren(self) -> bool {
        self.node.is_none() && !self.inherited
    }
}

impl Default for IndexPolicy {
    /// Everything is indexed, with every write.
    fn default() -> Self {
        let mut root = Node {
            subtree: Some(true),
            ..Node::default()
        };
        let etag = Node {
            scalar: Some(false),
            ..Node::default()
        };
        root.members.insert(Str::new("_etag"), etag);
        let mut policy = IndexPolicy {
            mode: Mode::Consistent,
            automatic: true,
            composites: Vec::new(),
            spatial: Vec::new(),
            root,
            echo: Object::new(),
        };
        policy.echo = policy.head();
        policy
            .echo
            .push("includedPaths", path_list([Str::new(ROOT_PATH)]));
        policy
            .echo
            .push("excludedPaths", path_list([Str::new(ETAG_PATH)]));
        policy
    }
}

/// Whether a path is that of the etags, quoted or not: `/_etag/?` is how some clients write it.
fn is_etag_path(text: &str) -> bool {
    let path = |text| Path::parse_policy(text).ok();
    path(text) == path(ETAG_PATH)
}

impl IndexPolicy {
    /// Reads the `indexingPolicy` of a container; what it leaves out is filled in.
    pub fn parse(value: &Value) -> Result<IndexPolicy, PolicyError> {
        if matches!(value, Value::Undefined | Value::Null) {
            return Ok(IndexPolicy::default());
        }
        let object = value
            .as_object()
            .ok_or_else(|| refused("indexingPolicy must be an object."))?;
        let (mode, automatic) = read_mode(object)?;
        let mut policy = IndexPolicy {
            mode,
            automatic,
            composites: Vec::new(),
            spatial: Vec::new(),
            root: Node::default(),
            echo: Object::new(),
        };
        policy.echo = policy.head();
        policy.read_paths(object)?;
        policy.read_composites(object)?;
        policy.read_spatial(object)?;
        for name in ECHOED {
            if let Some(list @ Value::Array(_)) = object.get(name) {
                policy.echo.push(name, list.clone());
            }
        }
        Ok(policy)
    }

    /// The policy as clients see it, with everything filled in.
    pub fn to_object(&self) -> Object {
        self.echo.clone()
    }

    /// Whether every item of the container is in the index.
    pub fn is_complete(&self) -> bool {
        self.automatic
            && match self.mode {
                Mode::Consistent => true,
                Mode::None => false,
            }
    }

    /// Whether every value found at exactly this path, of whatever kind, has an entry in the index.
    pub fn indexes(&self, path: &Path) -> bool {
        self.is_complete()
            && path
                .segments()
                .iter()
                .fold(self.cursor(), |cursor, segment| match segment {
                    Segment::Member(name) => cursor.member(name),
                    Segment::Elements => cursor.elements(),
                })
                .indexed()
    }

    /// Whether the policy includes a path by its name, not only by a wildcard above it.
    pub fn includes_by_name(&self, path: &Path) -> bool {
        let node = path
            .segments()
            .iter()
            .try_fold(&self.root, |node, segment| match segment {
                Segment::Member(name) => node.members.get(name),
                Segment::Elements => node.elements.as_deref(),
            });
        self.is_complete() && node.is_some_and(|node| node.scalar.or(node.subtree) == Some(true))
    }

    /// The beginning of a walk through an item.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        Cursor::at(Some(&self.root), false)
    }

    fn head(&self) -> Object {
        let mut echo = Object::with_capacity(8);
        let mode = match self.mode {
            Mode::Consistent => "consistent",
            Mode::None => "none",
        };
        echo.push("indexingMode", mode);
        echo.push("automatic", self.automatic);
        echo
    }

    fn read_paths(&mut self, object: &Object) -> Result<(), PolicyError> {
        let mut included = read_path_list(object, "includedPaths")?;
        let mut excluded = read_path_list(object, "excludedPaths")?;
        let holds_root = |list: &Option<Vec<Str>>| {
            list.as_ref()
                .is_some_and(|list| list.iter().any(|path| path == ROOT_PATH))
        };
        if self.mode != Mode::None {
            if included.is_none() && !holds_root(&excluded) {
                included = Some(vec![Str::new(ROOT_PATH)]);
            }
            if holds_root(&included) {
                let list = excluded.get_or_insert_default();
                if !list.iter().any(|path| is_etag_path(path)) {
                    list.push(Str::new(ETAG_PATH));
                }
            } else if !holds_root(&excluded) {
                return Err(refused(
                    "The special mandatory indexing path \"/\" is not provided in any of the path type sets. Please provide this path in one of the sets.",
                ));
            }
        }
        let (included, excluded) = (included.unwrap_or_default(), excluded.unwrap_or_default());
        if included.len() + excluded.len() > INDEX_PATHS_MAX {
            return Err(refused(&format!(
                "The number of included and excluded paths may not exceed {INDEX_PATHS_MAX}."
            )));
        }
        for (list, verdict) in [(&included, true), (&excluded, false)] {
            for text in list {
                self.root.set(text, verdict)?;
            }
        }
        self.echo.push("includedPaths", path_list(included));
        self.echo.push("excludedPaths", path_list(excluded));
        Ok(())
    }

    fn read_composites(&mut self, object: &Object) -> Result<(), PolicyError> {
        let Some(lists) = read_list(object, "compositeIndexes", COMPOSITE_INDEXES_MAX)? else {
            return Ok(());
        };
        let mut echo = Vec::with_capacity(lists.len());
        for list in lists {
            let paths = list
                .as_array()
                .filter(|paths| (COMPOSITE_PATHS_MIN..=COMPOSITE_PATHS_MAX).contains(&paths.len()))
                .ok_or_else(|| {
                    refused(&format!(
                        "A composite index must have {COMPOSITE_PATHS_MIN} to {COMPOSITE_PATHS_MAX} paths."
                    ))
                })?;
            let mut composite = Vec::with_capacity(paths.len());
            let mut shown = Vec::with_capacity(paths.len());
            for entry in paths {
                let (path, object) = read_composite_path(entry)?;
                composite.push(path);
                shown.push(Value::Object(object));
            }
            self.composites.push(composite);
            echo.push(Value::Array(shown));
        }
        self.echo.push("compositeIndexes", echo);
        Ok(())
    }

    fn read_spatial(&mut self, object: &Object) -> Result<(), PolicyError> {
        let Some(list) = read_list(object, "spatialIndexes", SPATIAL_INDEXES_MAX)? else {
            return Ok(());
        };
        let mut echo = Vec::with_capacity(list.len());
        for entry in list {
            let text = path_text(entry)?;
            let (path, _) = Path::parse_policy(text).map_err(|_| bad_path(text))?;
            let types = read_spatial_types(entry)?;
            let mut shown = Object::with_capacity(3);
            shown.push("path", text);
            let names: Vec<Value> = types.iter().cloned().map(Value::String).collect();
            shown.push("types", names);
            if let area @ Value::Object(_) = entry.get(BOUNDING_BOX) {
                shown.push(BOUNDING_BOX, area.clone());
            }
            echo.push(Value::Object(shown));
            self.spatial.push(SpatialPath { path, types });
        }
        self.echo.push("spatialIndexes", echo);
        Ok(())
    }
}

impl Node {
    /// Notes what the policy says of a path; the same path may not be both included and excluded.
    fn set(&mut self, text: &str, verdict: bool) -> Result<(), PolicyError> {
        let (path, end) = Path::parse_policy(text).map_err(|_| bad_path(text))?;
        let mut node = self;
        for segment in path.segments() {
            node = match segment {
                Segment::Member(name) => node.members.entry(name.clone()).or_default(),
                Segment::Elements => node.elements.get_or_insert_default(),
            };
        }
        let place = match end {
            End::Scalar => &mut node.scalar,
            End::Subtree => &mut node.subtree,
            End::Bare => return Err(bad_path(text)),
        };
        if place.is_some_and(|before| before != verdict) {
            return Err(refused(&format!(
                "The indexing path '{text}' is both included and excluded."
            )));
        }
        *place = Some(verdict);
        Ok(())
    }
}

fn refused(text: &str) -> PolicyError {
    PolicyError(text.to_owned())
}

fn bad_path(text: &str) -> PolicyError {
    PolicyError(format!(
        "The indexing path '{text}' could not be accepted. Please ensure that the path is a valid path. Common errors include invalid characters or absence of quotes around labels."
    ))
}

fn path_list(texts: impl IntoIterator<Item = Str>) -> Vec<Value> {
    texts
        .into_iter()
        .map(|text| {
            let mut entry = Object::with_capacity(1);
            entry.push("path", text);
            Value::Object(entry)
        })
        .collect()
}

fn read_mode(object: &Object) -> Result<(Mode, bool), PolicyError> {
    let mode = match object.get("indexingMode") {
        None | Some(Value::Null) => Mode::Consistent,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("consistent") => Mode::Consistent,
        // Old clients and stored definitions say it; the service makes it consistent, too.
        Some(Value::String(text)) if text.eq_ignore_ascii_case("lazy") => Mode::Consistent,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("none") => Mode::None,
        Some(other) => {
            return Err(PolicyError(format!(
                "The indexing mode '{}' is invalid. It must be 'consistent' or 'none'.",
                other
                    .as_str()
                    .map_or_else(|| other.to_string(), str::to_owned)
            )));
        }
    };
    let automatic = match object.get("automatic") {
        None | Some(Value::Null) => mode != Mode::None,
        Some(Value::Bool(automatic)) => *automatic,
        Some(_) => {
            return Err(refused(
                "The indexing policy's 'automatic' must be true or false.",
            ));
        }
    };
    if mode == Mode::None && automatic {
        return Err(refused(
            "When indexing mode is 'none', 'automatic' must be set to false.",
        ));
    }
    Ok((mode, automatic))
}

fn read_list<'a>(
    object: &'a Object,
    name: &str,
    entries_max: usize,
) -> Result<Option<&'a [Value]>, PolicyError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(entries)) if entries.len() <= entries_max => Ok(Some(entries)),
        Some(Value::Array(_)) => Err(PolicyError(format!(
            "The indexing policy's '{name}' may have at most {entries_max} entries."
        ))),
        Some(_) => Err(PolicyError(format!(
            "The indexing policy's '{name}' must be an array."
        ))),
    }
}

/// The texts of a list of paths, in their usual form, each once.
fn read_path_list(object: &Object, name: &str) -> Result<Option<Vec<Str>>, PolicyError> {
    let Some(entries) = read_list(object, name, INDEX_PATHS_MAX)? else {
        return Ok(None);
    };
    let mut texts: Vec<Str> = Vec::with_capacity(entries.len());
    let mut seen = std::collections::BTreeSet::new();
    for entry in entries {
        // Old clients write the root as a bare slash.
        let text = match path_text(entry)? {
            "/" => ROOT_PATH,
            text => text,
        };
        if seen.insert(text) {
            texts.push(Str::new(text));
        }
    }
    Ok(Some(texts))
}

fn path_text(entry: &Value) -> Result<&str, PolicyError> {
    entry.get("path").as_str().ok_or_else(|| {
        refused("Every path of the indexing policy must be an object with a string 'path'.")
    })
}

fn read_composite_path(entry: &Value) -> Result<(CompositePath, Object), PolicyError> {
    let text = path_text(entry)?;
    let (path, end) = Path::parse_policy(text).map_err(|_| bad_path(text))?;
    if path.segments().is_empty()
        || path.segments().contains(&Segment::Elements)
        || end == End::Subtree
    {
        return Err(bad_path(text));
    }
    let order = match entry.get("order") {
        Value::Undefined | Value::Null => Order::Ascending,
        Value::String(text) if text.eq_ignore_ascii_case("ascending") => Order::Ascending,
        Value::String(text) if text.eq_ignore_ascii_case("descending") => Order::Descending,
        _ => {
            return Err(refused(
                "The order of a composite index path must be 'ascending' or 'descending'.",
            ));
        }
    };
    let mut shown = Object::with_capacity(2);
    shown.push("path", text);
    let name = match order {
        Order::Ascending => "ascending",
        Order::Descending => "descending",
    };
    shown.push("order", name);
    Ok((CompositePath { path, order }, shown))
}

fn read_spatial_types(entry: &Value) -> Result<Vec<Str>, PolicyError> {
    match entry.get("types") {
        Value::Undefined | Value::Null => Ok(SPATIAL_TYPES.into_iter().map(Str::new).collect()),
        Value::Array(names) => names
            .iter()
            .map(|name| {
                name.as_str()
                    .and_then(|name| {
                        SPATIAL_TYPES
                            .into_iter()
                            .find(|known| known.eq_ignore_ascii_case(name))
                    })
                    .map(Str::new)
                    .ok_or_else(|| PolicyError(format!("The spatial type '{name}' is not known.")))
            })
            .collect(),
        _ => Err(refused("The types of a spatial index must be an array.")),
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
