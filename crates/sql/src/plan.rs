//! The query as it runs: names are slots, parameters are constants, functions are found.

use std::fmt;

use lapsedb_value::{Str, Value};

pub use crate::ast::{BinaryOp, Step, SubqueryKind, UnaryOp};
use crate::constant_set::ConstantSet;
use crate::functions::Function;
pub use crate::functions::terms::Phrase;
use crate::span::Span;

/// Names one variable of the query: an alias, a group key or an aggregate. Unique in a whole query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// An expression ready to be evaluated, and where it stood.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stood in the text.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A value known before the first row.
    Constant(Value),
    /// A variable.
    Slot(Slot),
    /// `e.name`
    Member(Box<Expr>, Str),
    /// `e[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `[a, b]`
    Array(Vec<Expr>),
    /// `{a: b}`
    Object(Vec<(Str, Expr)>),
    /// `-e`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a + b - c`, from left to right
    Chain(Box<Expr>, Vec<(BinaryOp, Expr)>),
    /// `a AND b AND c`
    And(Vec<Expr>),
    /// `a OR b OR c`
    Or(Vec<Expr>),
    /// `a ?? b`
    Coalesce(Box<Expr>, Box<Expr>),
    /// `a ? b : c`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `a [NOT] IN (b, c)`
    In {
        /// What is looked for.
        needle: Box<Expr>,
        /// Where.
        list: Vec<Expr>,
        /// The list by hash, if it is long and constant.
        set: Option<ConstantSet>,
        /// `NOT IN`
        negated: bool,
    },
    /// `a [NOT] BETWEEN b AND c`
    Between {
        /// The value.
        value: Box<Expr>,
        /// The lower bound, included.
        low: Box<Expr>,
        /// The upper bound, included.
        high: Box<Expr>,
        /// `NOT BETWEEN`
        negated: bool,
    },
    /// `a [NOT] LIKE b [ESCAPE c]`
    Like {
        /// The text.
        value: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The character that takes `%`, `_` and `[` their meaning.
        escape: Option<char>,
        /// `NOT LIKE`
        negated: bool,
    },
    /// `f(a, b)`
    Call(&'static Function, Vec<Expr>),
    /// `udf.f(a, b)`. There is no engine for scripts, so such a query is planned and never run.
    UserFunction(Str, Vec<Expr>),
    /// `(SELECT …)` and its kin
    Subquery(SubqueryKind, Box<BoundQuery>),
    /// `(LET a = b IN c)`
    Let(Slot, Box<Expr>, Box<Expr>),
}

/// A query whose names are resolved.
#[derive(Clone, Debug)]
pub struct BoundQuery {
    /// Where rows come from; empty means one row.
    pub sources: Vec<BoundSource>,
    /// The condition of `WHERE`.
    pub filter: Option<Expr>,
    /// Set if rows are grouped or aggregated.
    pub grouping: Option<Grouping>,
    /// What each row or group yields.
    pub projection: Projection,
    /// What the rows are sorted by.
    pub order: Vec<BoundOrder>,
    /// What the rows are ranked by; then they are not sorted otherwise.
    pub rank: Option<Rank>,
    /// Whether equal rows come once.
    pub distinct: bool,
    /// Rows left out at the start.
    pub offset: u64,
    /// Rows that may follow: `TOP` or `LIMIT`.
    pub limit: Option<u64>,
}

/// One source of rows.
#[derive(Clone, Debug)]
pub struct BoundSource {
    /// The variable that holds the value.
    pub slot: Slot,
    /// Where the value comes from.
    pub kind: SourceKind,
    /// `alias IN …`: one row for each element of the value, if it is an array.
    pub iterates: bool,
}

/// Where the values of a source come from.
#[derive(Clone, Debug)]
pub enum SourceKind {
    /// The documents fed to the query; always the first source.
    Container,
    /// A part of an earlier variable.
    Value(Expr),
    /// The rows of a subquery over the current row.
    Rows(Box<BoundQuery>),
    /// The rows of a subquery that reads the container itself; always the first source.
    Feed(Box<BoundQuery>),
}

/// How rows are gathered.
#[derive(Clone, Debug)]
pub struct Grouping {
    /// What makes rows belong together, and the variables that hold it afterwards. Without keys all
    /// rows are one group, which exists even without rows.
    pub keys: Vec<(Slot, Expr)>,
    /// What is gathered, and the variables that hold it afterwards.
    pub aggregates: Vec<(Slot, AggregateKind, Expr)>,
}

/// An aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    /// `COUNT`
    Count,
    /// `COUNTIF`
    CountIf,
    /// `SUM`
    Sum,
    /// `AVG`
    Avg,
    /// `MIN`
    Min,
    /// `MAX`
    Max,
    /// `MAKELIST`
    MakeList,
    /// `MAKESET`
    MakeSet,
}

/// What each row yields.
#[derive(Clone, Debug)]
pub enum Projection {
    /// The value itself; an undefined one is no row.
    Value(Expr),
    /// An object; undefined members are left out.
    Object(Vec<(Str, Expr)>),
}

/// One value to sort by.
#[derive(Clone, Debug)]
pub struct BoundOrder {
    /// The value.
    pub expr: Expr,
    /// Whether large values come first.
    pub descending: bool,
    /// The path in the document; none for a distance of vectors, and for most computed properties.
    pub path: Option<Vec<Step>>,
    /// The computed property it is, if it is one.
    pub computed: Option<Str>,
}

impl BoundOrder {
    /// Whether the value is a distance of vectors: rows that have none come last in either direction.
    #[must_use]
    pub fn is_distance(&self) -> bool {
        self.path.is_none() && self.computed.is_none()
    }
}

/// `ORDER BY RANK`
#[derive(Clone, Debug)]
pub struct Rank {
    /// What the rows are ranked by, and how much each counts if there are several. With a negative weight the worst come first.
    pub components: Vec<(RankComponent, f64)>,
    /// How several scores become one.
    pub fusion: Fusion,
}

/// How several scores of a row become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fusion {
    /// `RRF(…)`: by the reciprocals of its ranks, among the best rows of each score. There are so many times as many of them as
    /// wanted rows.
    Ranks(f64),
    /// `COMBINEDSCORE(…)`: their sum.
    Sum,
}

/// One way to rank rows.
#[derive(Clone, Debug)]
pub enum RankComponent {
    /// `FullTextScore(text, terms…)`: by the relevance of the terms, BM25.
    FullText {
        /// The text.
        text: Expr,
        /// The words or phrases.
        terms: Vec<Phrase>,
    },
    /// `VectorDistance(…)`
    Vector {
        /// The similarity or distance.
        distance: Expr,
        /// Whether large values are near.
        descending: bool,
    },
}

impl Rank {
    /// Whether a score depends on documents that the filter leaves out.
    pub(crate) fn counts_documents(&self) -> bool {
        let mut components = self.components.iter();
        components.any(|(component, _)| matches!(component, RankComponent::FullText { .. }))
    }
}

impl Expr {
    /// An expression at a place.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span }
    }

    /// Shows the expressions that this one is made of, but for those inside subqueries, which are of other rows.
    pub(crate) fn each_part<'e>(&'e self, show: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            ExprKind::Constant(_) | ExprKind::Slot(_) | ExprKind::Subquery(..) => {}
            ExprKind::Member(base, _) | ExprKind::Unary(_, base) => show(base),
            ExprKind::Index(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Coalesce(a, b)
            | ExprKind::Let(_, a, b) => [a, b].into_iter().for_each(|part| show(part)),
            ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|part| show(part)),
            ExprKind::Chain(first, rest) => {
                show(first);
                rest.iter().for_each(|(_, operand)| show(operand));
            }
            ExprKind::Array(items) | ExprKind::And(items) | ExprKind::Or(items) => {
                items.iter().for_each(show);
            }
            ExprKind::Object(members) => members.iter().for_each(|(_, value)| show(value)),
            ExprKind::In { needle, list, .. } => {
                show(needle);
                list.iter().for_each(show);
            }
            ExprKind::Between {
                value, low, high, ..
            } => [value, low, high].into_iter().for_each(|part| show(part)),
            ExprKind::Like { value, pattern, .. } => {
                [value, pattern].into_iter().for_each(|part| show(part));
            }
            ExprKind::Call(_, args) | ExprKind::UserFunction(_, args) => {
                args.iter().for_each(show);
            }
        }
    }

    /// The value, if it is known before the first row.
    pub fn constant(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Constant(value) => Some(value),
            _ => None,
        }
    }
}

impl BoundQuery {
    /// Whether the query reads the container, by itself or through its first source.
    pub fn reads_container(&self) -> bool {
        self.sources
            .first()
            .is_some_and(|source| match source.kind {
                SourceKind::Container | SourceKind::Feed(_) => true,
                SourceKind::Value(_) | SourceKind::Rows(_) => false,
            })
    }
}

impl AggregateKind {
    /// The aggregate of that name.
    pub fn from_name(name: &str) -> Option<AggregateKind> {
        let all = [
            AggregateKind::Avg,
            AggregateKind::Count,
            AggregateKind::CountIf,
            AggregateKind::MakeList,
            AggregateKind::MakeSet,
            AggregateKind::Max,
            AggregateKind::Min,
            AggregateKind::Sum,
        ];
        all.into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    const fn name(self) -> &'static str {
        match self {
            AggregateKind::Count => "COUNT",
            AggregateKind::CountIf => "COUNTIF",
            AggregateKind::Sum => "SUM",
            AggregateKind::Avg => "AVG",
            AggregateKind::Min => "MIN",
            AggregateKind::Max => "MAX",
            AggregateKind::MakeList => "MAKELIST",
            AggregateKind::MakeSet => "MAKESET",
        }
    }
}

impl fmt::Display for AggregateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
