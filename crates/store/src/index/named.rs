//! Indexes that clients make one by one and call by name: in the order of BSON, over dotted paths.
//!
//! Such an index may be unique, sparse or partial, and it may end documents by their dates. Where its entries lie and under
//! which numbers documents keep their dates is decided here; what a definition may say, the service has checked.

mod base;
pub mod build;
pub mod change;
pub mod keys;
mod made;
pub mod notes;
pub mod rebase;
mod stored;
pub mod wildcard;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use lapsedb_record::{DateRule, DateRules, DateSource, Secs};
use lapsedb_value::{Object, Str, Value};

use crate::error::StoreError;

pub(crate) use base::TtlBase;
pub use made::{FindKeyMaker, KeyMaker, MadeKeys};
pub use stored::parts;
pub use wildcard::Wildcard;

/// Whether a document is one that a partial index holds.
pub type DocumentFilter = Arc<dyn Fn(&Object) -> bool + Send + Sync>;

/// A value with its texts replaced by others, whose bytes are in the order of a collation.
pub type Fold = Arc<dyn Fn(&Value) -> Value + Send + Sync>;

/// Makes a filter of its expression, with texts compared by a collation.
pub type ReadFilter =
    Arc<dyn Fn(&Object, Option<&Object>) -> Result<DocumentFilter, String> + Send + Sync>;

/// Makes a fold of a collation; none of one that compares by bytes.
pub type ReadFold = Arc<dyn Fn(&Object) -> Result<Option<Fold>, String> + Send + Sync>;

/// What an index asks of the query language, which the store does not know: the service gives it.
#[derive(Clone)]
pub struct FilterCompiler {
    /// Reads the filter of a partial index.
    pub filters: ReadFilter,
    /// Says how the keys of an index are made whose kind is no direction.
    pub key_makers: FindKeyMaker,
    /// Reads the collation of an index.
    pub folds: ReadFold,
}

/// How the entries of an index made now are written: with texts folded by its collation, for every path of a wildcard, with
/// parts that were cut noted. Older ones have neither.
pub const ENTRIES_FORMAT: u32 = 1;

/// How a field of an index is kept.
#[derive(Clone, Debug)]
pub enum PartKind {
    /// From the least value to the greatest.
    Ascending,
    /// From the greatest value to the least.
    Descending,
    /// For equality alone. Its entries are those of an ascending field.
    Hashed,
    /// A kind whose keys only the query language can make, such as `text`: kept as the client gave it.
    Other(Value),
}

/// A field of an index.
#[derive(Clone, Debug)]
pub struct IndexPart {
    /// Its dotted path.
    pub path: Str,
    /// How it is kept.
    pub kind: PartKind,
}

/// The filter of a partial index.
#[derive(Clone)]
pub struct PartialFilter {
    /// As the client gave it.
    pub expression: Object,
    matches: DocumentFilter,
}

impl fmt::Debug for PartialFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)
    }
}

/// What a client says of an index.
#[derive(Clone, Debug, Default)]
pub struct IndexDefinition {
    /// Its name, unlike that of every other in the collection.
    pub name: Str,
    /// Its fields; one at least.
    pub parts: Vec<IndexPart>,
    /// Whether two living documents may not have the same values.
    pub unique: bool,
    /// Whether documents without any of the fields are left out.
    pub sparse: bool,
    /// Whether queries pass it over.
    pub hidden: bool,
    /// The expression of a partial index.
    pub filter: Option<Object>,
    /// How long a document lives after its date, if it was asked for. An index whose keys are not in the order of values
    /// ends nothing, see [`NamedIndex::holds_dates`].
    pub expire_after: Option<Secs>,
    /// Other options, such as a collation, as the client gave them.
    pub options: Object,
}

impl IndexDefinition {
    /// See [`NamedIndex::holds_dates`].
    #[must_use]
    pub fn holds_dates(&self) -> bool {
        hold_dates(&self.parts)
    }
}

/// An index of a collection.
#[derive(Clone)]
pub struct NamedIndex {
    /// Its number in the collection: never used twice, so what an older one has left is never taken for its own.
    pub number: u32,
    /// See [`IndexDefinition::name`].
    pub name: Str,
    /// See [`IndexDefinition::parts`].
    pub parts: Vec<IndexPart>,
    /// See [`IndexDefinition::unique`]. Writers obey it from the beginning of the build on.
    pub unique: bool,
    /// See [`IndexDefinition::sparse`].
    pub sparse: bool,
    /// See [`IndexDefinition::hidden`].
    pub hidden: bool,
    /// The filter of a partial index.
    pub filter: Option<PartialFilter>,
    /// See [`IndexDefinition::expire_after`].
    pub expire_after: Option<Secs>,
    /// See [`IndexDefinition::options`].
    pub options: Object,
    /// How its keys are made, if not by the order of values.
    pub made: Option<MadeKeys>,
    /// Whether every living document has its entries, so that queries may rely on them.
    pub whole: bool,
    /// Whether every living document keeps its date, so that the index ends documents.
    pub dates_whole: bool,
    /// The numbers under which documents keep their dates for this index. New ones use the last; see `0009-dated-documents.md`.
    pub dates: Vec<u32>,
    /// How its entries are written, see [`ENTRIES_FORMAT`].
    pub format: u32,
    /// What its collation makes of values.
    pub fold: Option<Fold>,
    /// The paths it holds, if it holds whichever a document has.
    pub wildcard: Option<Wildcard>,
}

impl fmt::Debug for NamedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedIndex")
            .field("number", &self.number)
            .field("name", &self.name)
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

/// All named indexes of a collection, and what is left of those that are gone.
#[derive(Clone, Debug, Default)]
pub struct NamedIndexes {
    all: Vec<NamedIndex>,
    /// By number of dates: up to which date documents are dead whatever the index says now.
    buried: BTreeMap<u32, i64>,
    /// Burials that the next commit will date: by number, how long before the commit they lie, in milliseconds.
    burying: BTreeMap<u32, i64>,
    /// Numbers of indexes whose entries are being removed.
    dropped: Vec<u32>,
    /// The next free number.
    next: u32,
    /// Where documents have the base of their time to live, if the collection says or has said so.
    base: Option<TtlBase>,
    rules: DateRules,
}

impl NamedIndex {
    /// Whether documents have entries in it in the order of their values.
    #[must_use]
    pub fn has_entries(&self) -> bool {
        let kept = |part: &IndexPart| match part.kind {
            PartKind::Ascending | PartKind::Descending | PartKind::Hashed => true,
            PartKind::Other(_) => false,
        };
        let wild = |part: &IndexPart| wildcard::is_wild(&part.path);
        match &self.wildcard {
            Some(_) => true,
            None => self.parts.iter().all(kept) && !self.parts.iter().any(wild),
        }
    }

    /// Whether its entries lie in exactly the order of the values, as far as no part was cut.
    #[must_use]
    pub const fn is_ordered(&self) -> bool {
        self.format >= ENTRIES_FORMAT && self.wildcard.is_none()
    }

    /// The collation it was made with, as the client gave it.
    #[must_use]
    pub fn collation(&self) -> Option<&Object> {
        self.options.get("collation").and_then(Value::as_object)
    }

    /// Reads what the index says in the query language.
    pub(crate) fn read_with(
        mut self,
        language: Option<&FilterCompiler>,
    ) -> Result<NamedIndex, StoreError> {
        if self.format < ENTRIES_FORMAT {
            return Ok(self);
        }
        self.wildcard = Wildcard::of(&self.parts, &self.options);
        if let Some(collation) = self.collation() {
            let unreadable = |why: &str| {
                StoreError::Engine(format!("the collation of an index cannot be used: {why}"))
            };
            let language = language.ok_or_else(|| unreadable("nobody can read it"))?;
            self.fold = (language.folds)(collation).map_err(|why| unreadable(&why))?;
        }
        Ok(self)
    }

    /// Whether queries may use it now.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.whole && !self.hidden && self.has_entries()
    }

    /// Whether it can be asked now for what only its own kind of keys tells: words, or places.
    #[must_use]
    pub const fn is_searchable(&self) -> bool {
        self.whole && !self.hidden && self.made.is_some()
    }

    /// Whether it still has to be built for documents that were there before it.
    #[must_use]
    pub const fn is_unfinished(&self) -> bool {
        !self.whole || (!self.dates.is_empty() && !self.dates_whole)
    }

    /// Whether its keys can be dates: the values themselves, not what a hash, words or places are made of. As in MongoDB, a
    /// time to live on another kind is kept and shown, and nothing expires by it. An earlier version let documents expire by such
    /// indexes: one that has dates from then goes on until it is dropped.
    #[must_use]
    pub fn holds_dates(&self) -> bool {
        hold_dates(&self.parts)
    }

    /// Whether it holds documents like this one, whatever values they have.
    #[must_use]
    pub fn covers(&self, document: &Object) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| (filter.matches)(document))
    }

    /// Its fields with their directions or kinds, as clients see them.
    #[must_use]
    pub fn pattern(&self) -> Object {
        let mut pattern = Object::with_capacity(self.parts.len());
        for part in &self.parts {
            let kind = match &part.kind {
                PartKind::Ascending => Value::Int32(1),
                PartKind::Descending => Value::Int32(-1),
                PartKind::Hashed => Value::from("hashed"),
                PartKind::Other(kind) => kind.clone(),
            };
            pattern.push(part.path.as_str(), kind);
        }
        pattern
    }
}

/// Whether the keys of these parts can be dates.
fn hold_dates(parts: &[IndexPart]) -> bool {
    let by_value = |part: &IndexPart| match part.kind {
        PartKind::Ascending | PartKind::Descending => true,
        PartKind::Hashed | PartKind::Other(_) => false,
    };
    parts.iter().all(by_value)
}

impl NamedIndexes {
    /// The indexes of a collection that has no documents yet: one on a field that every document has.
    #[must_use]
    pub fn on(name: &str, path: &str) -> NamedIndexes {
        let mut indexes = NamedIndexes {
            next: 1,
            ..NamedIndexes::default()
        };
        indexes.all.push(NamedIndex {
            number: 1,
            name: name.into(),
            parts: vec![IndexPart {
                path: path.into(),
                kind: PartKind::Ascending,
            }],
            unique: false,
            sparse: false,
            hidden: false,
            filter: None,
            expire_after: None,
            options: Object::new(),
            whole: true,
            dates_whole: false,
            dates: Vec::new(),
            format: ENTRIES_FORMAT,
            fold: None,
            wildcard: None,
            made: None,
        });
        indexes
    }

    /// All indexes, in the order they were made.
    #[must_use]
    pub fn all(&self) -> &[NamedIndex] {
        &self.all
    }

    /// An index by name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&NamedIndex> {
        self.all.iter().find(|index| index.name == name)
    }

    /// An index by number.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Option<&NamedIndex> {
        self.all.iter().find(|index| index.number == number)
    }

    /// Whether there is nothing to keep of them: no index, no burial, no number used.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// What the collection says of its documents' dates.
    #[must_use]
    pub const fn date_rules(&self) -> &DateRules {
        &self.rules
    }

    /// Whether an index still has to be built, or the entries of one that is gone removed, or bases found.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        !self.dropped.is_empty()
            || self.is_rebasing()
            || self.all.iter().any(NamedIndex::is_unfinished)
    }

    /// Whether the commit that writes them says what stays expired from then on: readers have to wait for it.
    #[must_use]
    pub fn buries(&self) -> bool {
        !self.burying.is_empty()
    }

    /// Makes the rules of what is known; to be done after every change.
    fn rule(&mut self) {
        let mut rules = Vec::new();
        for index in &self.all {
            let life = index.expire_after.filter(|_| index.dates_whole);
            for number in &index.dates {
                rules.push(DateRule {
                    number: *number,
                    source: DateSource::Index,
                    life,
                    buried: self.buried.get(number).copied(),
                });
            }
        }
        for rule in self.base.iter().flat_map(TtlBase::rules) {
            let buried = self.buried.get(&rule.number).copied();
            rules.push(DateRule { buried, ..rule });
        }
        for (number, date) in &self.buried {
            if !rules.iter().any(|rule| rule.number == *number) {
                rules.push(DateRule {
                    number: *number,
                    source: DateSource::Index,
                    life: None,
                    buried: Some(*date),
                });
            }
        }
        self.rules = DateRules::new(rules);
    }
}
