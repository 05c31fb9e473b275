//! BSON made from any bytes: every byte string is some document, so that a fuzzer's change is a change of meaning.

use std::sync::LazyLock;

use crate::input::Input;

/// How deep documents are made: a little deeper than may be stored.
const DEPTH_MAX: usize = 12;
/// Members of a document or elements of an array at most.
const MEMBERS_MAX: u8 = 6;

/// What part of the language a document belongs to.
#[derive(Clone, Copy)]
pub enum Part {
    /// What a query looks for.
    Filter,
    /// What an update changes.
    Update,
    /// A stage of a pipeline.
    Stage,
    /// What an expression computes, in a group or outside of it.
    Expression,
}

/// Names that mean something to a part of the language, from the page that lists them all.
static OPERATORS: LazyLock<[Vec<&'static str>; 4]> = LazyLock::new(|| {
    let page = include_str!("../../docs/support/mongo-language.md");
    let names = |headings: &[&str]| {
        let sign = |sign: char| !(sign.is_ascii_alphanumeric() || sign == '$');
        let mut names: Vec<_> = page
            .split("\n## ")
            .filter(|section| headings.iter().any(|heading| section.starts_with(heading)))
            .flat_map(|section| section.split(sign))
            .filter(|word| word.starts_with('$') && word.len() > 1)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    [
        [names(&["Filters"]), MORE_OPERATORS.to_vec()].concat(),
        [names(&["Updates"]), MORE_OPERATORS.to_vec()].concat(),
        names(&["Stages"]),
        names(&["Accumulators", "Expressions"]),
    ]
});

impl Part {
    fn operators(self) -> &'static [&'static str] {
        let [filter, update, stage, expression] = &*OPERATORS;
        match self {
            Part::Filter => filter,
            Part::Update => update,
            Part::Stage => stage,
            Part::Expression => expression,
        }
    }

    /// The part that stands behind an operator.
    fn behind(self, name: &str) -> Part {
        match (self, name) {
            (_, "$match" | "$elemMatch" | "$pull" | "$filter" | "partialFilterExpression") => {
                Part::Filter
            }
            (_, "$facet" | "pipeline") => Part::Stage,
            (Part::Stage, _) | (_, "$expr" | "$cond" | "let" | "vars") => Part::Expression,
            (part, _) => part,
        }
    }
}

const MORE_OPERATORS: [&str; 26] = [
    "$db",
    "$ref",
    "$id",
    "$geometry",
    "$box",
    "$center",
    "$centerSphere",
    "$polygon",
    "$maxDistance",
    "$minDistance",
    "$uniqueDocs",
    "$search",
    "$language",
    "$caseSensitive",
    "$each",
    "$slice",
    "$sort",
    "$position",
    "$options",
    "$comment",
    "$meta",
    "$natural",
    "$where",
    "$function",
    "$accumulator",
    "$text",
];

/// Names of fields, and of the arguments of operators.
const FIELDS: [&str; 84] = [
    "_id",
    "a",
    "b",
    "c",
    "a.b",
    "a.0",
    "a.b.c",
    "a.$",
    "a.$[]",
    "a.$[x]",
    "x",
    "x.a",
    "ttl",
    "_ts",
    "",
    "$x",
    "a.",
    ".a",
    "a..b",
    "0",
    "date",
    "d",
    "from",
    "as",
    "localField",
    "foreignField",
    "pipeline",
    "let",
    "coll",
    "into",
    "on",
    "whenMatched",
    "whenNotMatched",
    "path",
    "preserveNullAndEmptyArrays",
    "includeArrayIndex",
    "boundaries",
    "groupBy",
    "default",
    "output",
    "buckets",
    "granularity",
    "sortBy",
    "partitionBy",
    "partitionByFields",
    "window",
    "documents",
    "range",
    "unit",
    "field",
    "step",
    "bounds",
    "value",
    "method",
    "n",
    "input",
    "in",
    "cond",
    "if",
    "then",
    "else",
    "branches",
    "case",
    "vars",
    "initialValue",
    "to",
    "onError",
    "onNull",
    "format",
    "timezone",
    "startDate",
    "endDate",
    "amount",
    "binSize",
    "startOfWeek",
    "find",
    "replacement",
    "regex",
    "options",
    "chars",
    "startWith",
    "connectFromField",
    "connectToField",
    "maxDepth",
];

const TEXTS: [&str; 32] = [
    "",
    "a",
    "$a",
    "$b",
    "$$ROOT",
    "$$NOW",
    "$$this",
    "$$value",
    "$$REMOVE",
    "$$x",
    "$a.b",
    "$_id",
    "a.b",
    "(a+)+$",
    "(?=(a+)+$)b",
    "[",
    "\\p{L}+",
    "%Y-%m-%d",
    "+05:30",
    "Europe/Berlin",
    "day",
    "month",
    "2020-01-01T00:00:00Z",
    "x",
    "ixsm",
    "2dsphere",
    "hashed",
    "unbounded",
    "current",
    "replace",
    "Point",
    "\u{0}\u{e9}",
];

const NUMBERS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    1e10,
    -1e300,
    1e308,
    f64::MIN_POSITIVE,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    9_007_199_254_740_993.0,
];

/// What BSON is made of.
impl Input<'_> {
    fn operator(&mut self, part: Part) -> &'static str {
        let place = u16::from_le_bytes(self.array());
        let names = part.operators();
        names[usize::from(place) % names.len()]
    }

    /// A name of a field, or of an operator.
    pub fn name(&mut self, part: Part) -> String {
        match self.byte() % 16 {
            0..=6 => self.one_of(&FIELDS).to_owned(),
            7..=13 => self.operator(part).to_owned(),
            14 => {
                let any = [Part::Filter, Part::Update, Part::Stage, Part::Expression];
                let part = any[usize::from(self.byte() % 4)];
                self.operator(part).to_owned()
            }
            _ => self.text().replace('\0', ""),
        }
    }

    /// Some text.
    pub fn text(&mut self) -> String {
        if self.byte() % 4 != 0 {
            return self.one_of(&TEXTS).to_owned();
        }
        let length = self.byte() % 16;
        let bytes: Vec<u8> = (0..length).map(|_| self.byte()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A document, as BSON.
    pub fn document(&mut self, part: Part, depth: usize) -> Vec<u8> {
        let mut out = Document::new();
        for _ in 0..self.byte() % MEMBERS_MAX {
            let name = self.name(part);
            self.member(&name, part, depth + 1, &mut out);
        }
        out.end()
    }

    /// An array of documents, as BSON.
    pub fn documents(&mut self, part: Part) -> Vec<u8> {
        let mut out = Document::new();
        for at in 0..self.byte() % MEMBERS_MAX {
            out.push(0x03, &at.to_string(), &self.document(part, 1));
        }
        out.end()
    }

    /// An array of stages, as BSON: each a document with one operator.
    pub fn pipeline(&mut self, depth: usize) -> Vec<u8> {
        let mut out = Document::new();
        for at in 0..self.byte() % MEMBERS_MAX {
            let mut stage = Document::new();
            let name = self.operator(Part::Stage);
            self.member(name, Part::Stage, depth + 1, &mut stage);
            out.push(0x03, &at.to_string(), &stage.end());
        }
        out.end()
    }

    fn list(&mut self, part: Part, depth: usize) -> Vec<u8> {
        let mut out = Document::new();
        for at in 0..self.byte() % MEMBERS_MAX {
            self.member(&at.to_string(), part, depth + 1, &mut out);
        }
        out.end()
    }

    /// A member of any type.
    pub fn member(&mut self, name: &str, part: Part, depth: usize, out: &mut Document) {
        let part = part.behind(name);
        let kind = if depth > DEPTH_MAX {
            20
        } else {
            self.byte() % 40
        };
        match kind {
            0..=8 => out.push(0x03, name, &self.document(part, depth)),
            9..=12 => out.push(0x04, name, &self.list(part, depth)),
            13 => out.push(0x04, name, &self.pipeline(depth)),
            14..=17 => out.text(0x02, name, &self.text()),
            18..=20 => out.push(
                0x10,
                name,
                &i32::from(self.byte().cast_signed()).to_le_bytes(),
            ),
            21 => out.push(0x10, name, &self.array::<4>()),
            22 => out.push(0x12, name, &self.array::<8>()),
            23 => {
                let edge =
                    [i64::MIN, i64::MAX, i64::from(i32::MAX) + 1, 0][usize::from(self.byte() % 4)];
                out.push(0x12, name, &edge.to_le_bytes());
            }
            24..=25 => {
                let number = self.one_of(&NUMBERS);
                out.push(0x01, name, &number.to_le_bytes());
            }
            26 => out.push(0x01, name, &self.array::<8>()),
            27 => out.push(0x09, name, &self.array::<8>()),
            28 => {
                let millis = i64::from(i32::from_le_bytes(self.array())) * 1000;
                out.push(0x09, name, &millis.to_le_bytes());
            }
            29 => out.push(0x08, name, &[self.byte() & 1]),
            30 => out.push(0x0A, name, &[]),
            31 => out.push(0x07, name, &self.array::<12>()),
            32 => {
                let bytes = self.array::<6>();
                out.push(
                    0x05,
                    name,
                    &[&6i32.to_le_bytes()[..], &[self.byte() % 8 + 3], &bytes].concat(),
                );
            }
            33 => {
                let (pattern, options) = (
                    self.text().replace('\0', ""),
                    self.one_of(&["", "i", "x", "ms"]),
                );
                out.push(
                    0x0B,
                    name,
                    &[pattern.as_bytes(), b"\0", options.as_bytes(), b"\0"].concat(),
                );
            }
            34 => out.push(0x11, name, &self.array::<8>()),
            35 => out.push(0x13, name, &self.array::<16>()),
            36 => out.text(0x0D, name, &self.text()),
            37 => out.push(0x06, name, &[]),
            38 => out.push(0xFF, name, &[]),
            _ => out.push(0x7F, name, &[]),
        }
    }
}

/// A document being written.
pub struct Document(Vec<u8>);

impl Default for Document {
    fn default() -> Document {
        Document::new()
    }
}

impl Document {
    /// An empty one.
    #[must_use]
    pub fn new() -> Document {
        Document(vec![0; 4])
    }

    /// Appends a member.
    pub fn push(&mut self, kind: u8, name: &str, value: &[u8]) {
        self.0.push(kind);
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(0);
        self.0.extend_from_slice(value);
    }

    /// Appends a text.
    pub fn text(&mut self, kind: u8, name: &str, text: &str) {
        let length = i32::try_from(text.len() + 1).unwrap_or(1).to_le_bytes();
        self.push(kind, name, &[&length[..], text.as_bytes(), b"\0"].concat());
    }

    /// Its bytes.
    #[must_use]
    pub fn end(mut self) -> Vec<u8> {
        self.0.push(0);
        let length = i32::try_from(self.0.len()).unwrap_or(5).to_le_bytes();
        self.0[..4].copy_from_slice(&length);
        self.0
    }
}
