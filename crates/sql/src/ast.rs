//! The query as it was written: names are still names.

use lapsedb_value::{Str, Value};

use crate::span::Span;

/// A name and where it stands.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name as written, quotes and escapes resolved.
    pub text: Str,
    /// Where.
    pub span: Span,
}

/// `SELECT … FROM … WHERE … GROUP BY … ORDER BY … OFFSET … LIMIT …`
#[derive(Clone, Debug)]
pub struct Query {
    /// What each row yields.
    pub select: Select,
    /// Where rows come from: the first source, then the joined ones. Empty without `FROM`.
    pub from: Vec<Source>,
    /// The condition of `WHERE`.
    pub filter: Option<Expr>,
    /// The expressions of `GROUP BY`.
    pub group_by: GroupBy,
    /// The order of the rows.
    pub order_by: OrderBy,
    /// `OFFSET n LIMIT m`.
    pub window: Option<Window>,
    /// The whole query.
    pub span: Span,
    /// The text that spans are of. Kept by the outermost query, for messages.
    pub(crate) text: Str,
    /// How deep its expressions nest; kept by the parser.
    pub(crate) height: u16,
}

/// The `SELECT` clause.
#[derive(Clone, Debug)]
pub struct Select {
    /// Whether equal rows come once.
    pub distinct: bool,
    /// From the beginning of the query to `DISTINCT`, `TOP n` and what is selected.
    pub span: Span,
    /// `TOP n`.
    pub top: Option<Top>,
    /// What each row yields.
    pub list: SelectList,
}

/// What each row yields.
#[derive(Clone, Debug)]
pub enum SelectList {
    /// `*`: the whole document.
    Star(Span),
    /// `VALUE e`: the value itself.
    Value(Expr),
    /// `a, b AS c`: an object.
    Items(Vec<SelectItem>),
}

/// One member of a row.
#[derive(Clone, Debug)]
pub struct SelectItem {
    /// Its value.
    pub expr: Expr,
    /// Its name, if one is given.
    pub alias: Option<Name>,
}

/// `TOP n`
#[derive(Clone, Debug)]
pub struct Top {
    /// Rows that may come.
    pub count: Count,
    /// Where the clause stands.
    pub span: Span,
}

/// `GROUP BY a, b`
#[derive(Clone, Debug)]
pub struct GroupBy {
    /// What rows are grouped by; nothing without the clause.
    pub keys: Vec<Expr>,
    /// Where the clause stands.
    pub span: Span,
}

/// A number of rows.
#[derive(Clone, Debug)]
pub enum Count {
    /// Said in the text.
    Literal(Value, Span),
    /// Said by a parameter.
    Parameter(Name),
}

/// `OFFSET n LIMIT m`
#[derive(Clone, Debug)]
pub struct Window {
    /// Rows left out at the start.
    pub offset: Count,
    /// Rows that may follow.
    pub limit: Count,
    /// Where the clause stands.
    pub span: Span,
}

/// One source of rows.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it reads.
    pub collection: Collection,
    /// The name its values go by.
    pub alias: Option<Name>,
    /// `alias IN collection`: one row for each element of the array.
    pub iterates: bool,
    /// The whole source.
    pub span: Span,
}

/// What a source reads.
#[derive(Clone, Debug)]
pub enum Collection {
    /// `c`, `c.children`, `c.a[0]["b c"]`
    Path {
        /// The container, or an alias.
        root: Name,
        /// The way from there.
        steps: Vec<Step>,
        /// Where they stand.
        span: Span,
    },
    /// `(SELECT …)`
    Query(Box<Query>),
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a member.
    Member(Str),
    /// Into an element.
    Index(u64),
}

/// The order of the rows.
#[derive(Clone, Debug)]
pub enum OrderBy {
    /// As they come.
    None,
    /// By values; and where the clause stands.
    Items(Vec<OrderItem>, Span),
    /// `ORDER BY RANK f(…)`: by relevance.
    Rank(RankBy),
}

/// `ORDER BY RANK f(…)`
#[derive(Clone, Debug)]
pub struct RankBy {
    /// The call of a function.
    pub call: Expr,
    /// Whether `ASC` or `DESC` is said, which is refused.
    pub sorted: bool,
    /// Where the clause stands.
    pub span: Span,
}

/// One value to order by.
#[derive(Clone, Debug)]
pub struct OrderItem {
    /// The value.
    pub expr: Expr,
    /// `ASC` is false and `DESC` is true, if either is said.
    pub descending: Option<bool>,
    /// The value with `ASC` or `DESC`.
    pub span: Span,
}

/// An expression and where it stands.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
    /// The height of the tree; kept by the parser.
    pub(crate) height: u16,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `1`, `'a'`, `true`, `null`, `undefined`
    Literal(Value),
    /// `@name`
    Parameter(Str),
    /// An alias.
    Name(Str),
    /// `e.name`, `e["name"]`
    Member(Box<Expr>, Name),
    /// `e[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `[a, b]`
    Array(Vec<Expr>),
    /// `{a: b}`
    Object(Vec<(Name, Expr)>),
    /// `-e`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a + b - c`: operators that bind alike, from left to right. There are two at least; so long sums are no deep trees.
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
        /// The character that takes `%`, `_` and `[` their meaning; one, if the query is valid.
        escape: Option<Name>,
        /// `NOT LIKE`
        negated: bool,
    },
    /// `f(a, b)`
    Call {
        /// The name as written.
        name: Name,
        /// `udf.f(…)`
        user_defined: bool,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `(SELECT …)`, `EXISTS(SELECT …)` and their kin
    Subquery(SubqueryKind, Box<Query>),
    /// `(LET a = b IN c)`
    Let(Name, Box<Expr>, Box<Expr>),
}

/// What becomes of the rows of a subquery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubqueryKind {
    /// The only row.
    Scalar,
    /// Whether there is a row.
    Exists,
    /// All rows as an array.
    Array,
    /// Whether no row is false.
    All,
    /// The first row.
    First,
    /// The last row.
    Last,
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    BitNot,
    /// `NOT`
    Not,
}

/// An operator with two operands, `AND`, `OR` and `??` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `>>>`
    ShiftRightZero,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `=`
    Equal,
    /// `!=` and `<>`
    NotEqual,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `||`
    Concat,
}

impl ExprKind {
    /// The height of the highest child.
    pub(crate) fn child_height(&self) -> u16 {
        fn most<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> u16 {
            exprs.into_iter().map(|expr| expr.height).max().unwrap_or(0)
        }
        match self {
            ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::Name(_) => 0,
            ExprKind::Member(base, _) => base.height,
            ExprKind::Unary(_, operand) => operand.height,
            ExprKind::Index(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Coalesce(a, b)
            | ExprKind::Let(_, a, b) => a.height.max(b.height),
            ExprKind::Chain(first, rest) => {
                most(rest.iter().map(|(_, operand)| operand)).max(first.height)
            }
            ExprKind::Conditional(a, b, c) => a.height.max(b.height).max(c.height),
            ExprKind::Array(items) | ExprKind::And(items) | ExprKind::Or(items) => most(items),
            ExprKind::Object(members) => most(members.iter().map(|(_, expr)| expr)),
            ExprKind::In { needle, list, .. } => needle.height.max(most(list)),
            ExprKind::Between {
                value, low, high, ..
            } => value.height.max(low.height).max(high.height),
            ExprKind::Like { value, pattern, .. } => value.height.max(pattern.height),
            ExprKind::Call { args, .. } => most(args),
            ExprKind::Subquery(_, query) => query.height,
        }
    }
}
