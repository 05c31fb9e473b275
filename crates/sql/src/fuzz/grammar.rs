//! Queries put together from the grammar: all of it, with the spellings that mean the same, and only what parses.

use super::Choices;
use crate::functions;

/// Expressions inside of one another, towers apart.
const DEPTH_MAX: usize = 6;

/// Parts of a query after which only the simplest ones come.
const PARTS_MAX: usize = 80;

/// How often something is repeated or put around itself; the last ones are beyond the limits.
const HEIGHTS: [usize; 6] = [1, 2, 8, 40, 300, 2_500];

/// Aliases, in the order in which they are taken, and names of nothing.
const NAMES: [&str; 12] = [
    "c", "x", "_a1", "root", "rank", "Let", "count", "udf1", "é", "日本", "TRUE", "All",
];
const MEMBERS: [&str; 12] = [
    ".a",
    ".b",
    ".c",
    ".list",
    " . x",
    "[0]",
    "[1]",
    "[\"a\"]",
    "['value']",
    "[@p]",
    "['it\\'s']",
    "[\"\"]",
];
const LITERALS: [&str; 34] = [
    "1",
    "0",
    "2.5",
    ".5",
    "7.",
    "1e3",
    "1E-7",
    "0x1F",
    "2147483648",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "1e308",
    "5e-324",
    "''",
    "'a'",
    "\"b\"",
    "'it\\'s'",
    "\"q\\\"uote\"",
    "'\\u0041\\ud83d\\ude00'",
    "'\\d\\%'",
    "'%a_[b]'",
    "'😀é'",
    "'2026-11-15T12:00:00Z'",
    "true",
    "false",
    "null",
    "undefined",
    "NaN",
    "Infinity",
    "[]",
    "{}",
    "@p",
    "@q",
];
const SYMBOLS: [&[&str]; 3] = [
    &["<", "=", "<=", ">", ">=", "!=", "<>", "<<", ">>", ">>>"],
    &["+", "-", "&", "^", "|", "||"],
    &["*", "/", "%"],
];
const BLANKS: [&str; 12] = [
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\t",
    "\u{a0}",
    "\u{2028}",
    " -- it's a comment\n",
];

/// The query that the bytes choose.
pub(super) fn query(bytes: &[u8]) -> String {
    let mut grammar = Grammar {
        choices: Choices(bytes),
        text: String::new(),
        scope: Vec::new(),
        depth: 0,
        parts: 0,
    };
    grammar.query();
    grammar.text
}

struct Grammar<'b> {
    choices: Choices<'b>,
    text: String,
    /// The aliases there are.
    scope: Vec<&'static str>,
    depth: usize,
    parts: usize,
}

impl Grammar<'_> {
    /// One token, and what parts it from the next.
    fn word(&mut self, word: &str) {
        self.text.push_str(word);
        let blank = self.choices.one_of(&BLANKS);
        self.text.push_str(blank);
    }

    /// A reserved word, in any case.
    fn keyword(&mut self, keyword: &str) {
        match self.choices.below(4) {
            1 => self.word(&keyword.to_ascii_lowercase()),
            _ => self.word(keyword),
        }
    }

    fn keywords(&mut self, keywords: &str) {
        for keyword in keywords.split(' ') {
            self.keyword(keyword);
        }
    }

    /// True in one of so many cases, and never once the query is large.
    fn perhaps(&mut self, of: usize) -> bool {
        self.choices.below(of) == 1 && self.parts < PARTS_MAX
    }

    /// An alias, as a rule.
    fn name(&mut self) {
        let known = self.choices.below(16) != 15 && !self.scope.is_empty();
        let at = self
            .choices
            .below(if known { self.scope.len() } else { NAMES.len() });
        let name = if known {
            self.scope.get(at)
        } else {
            NAMES.get(at)
        };
        let name = name.copied().unwrap_or("z");
        self.word(name);
    }

    /// `part , part`
    fn list(&mut self, most: usize, part: fn(&mut Self)) {
        for at in 0..=self.choices.below(most) {
            if at > 0 {
                self.word(",");
            }
            part(self);
        }
    }

    fn query(&mut self) {
        self.depth += 1;
        let outer = self.scope.len();
        let before = std::mem::take(&mut self.text);
        // `*` needs a source.
        let everything = self.choices.below(6) == 5;
        if everything || self.choices.below(6) != 5 {
            self.from();
        }
        let from = std::mem::replace(&mut self.text, before);
        self.select(everything);
        self.text.push_str(&from);
        if self.perhaps(3) {
            self.keyword("WHERE");
            self.expr();
        }
        if self.perhaps(8) {
            self.keywords("GROUP BY");
            self.list(2, Self::expr);
        }
        if self.perhaps(6) {
            self.order_by();
        }
        if self.perhaps(8) {
            self.keyword("OFFSET");
            let count = self.choices.one_of(&["0", "1", "0x1", "@p"]);
            self.word(count);
            self.keyword("LIMIT");
            let count = self.choices.one_of(&["10", "1", "0", "@p"]);
            self.word(count);
        }
        self.scope.truncate(outer);
        self.depth -= 1;
    }

    fn select(&mut self, everything: bool) {
        self.keyword("SELECT");
        if self.perhaps(6) {
            self.keyword("DISTINCT");
        }
        if self.perhaps(6) {
            self.keyword("TOP");
            let count = self.choices.one_of(&["1", "2", "1e1", "0", "@p", "1.5"]);
            self.word(count);
        }
        if everything {
            self.word("*");
        } else if self.choices.below(3) == 1 {
            self.list(3, Self::column);
        } else {
            self.keyword("VALUE");
            self.expr();
        }
    }

    fn from(&mut self) {
        self.keyword("FROM");
        self.source();
        while self.perhaps(4) {
            self.keyword("JOIN");
            self.source();
        }
    }

    fn column(&mut self) {
        self.expr();
        match self.choices.below(5) {
            0 => {}
            1 => self.word("n1"),
            2 => {
                self.keyword("AS");
                self.name();
            }
            3 => self.word("'x y'"),
            _ => {
                self.keyword("AS");
                self.word("\"value\"");
            }
        }
    }

    fn source(&mut self) {
        self.parts += 1;
        let alias = self.fresh();
        let form = self.choices.below(4);
        if form == 1 {
            self.word(alias);
            self.keyword("IN");
        }
        if self.depth < DEPTH_MAX && self.perhaps(4) {
            self.within("(", Self::query, ")");
        } else if form == 0 && self.scope.is_empty() {
            self.word(alias);
        } else {
            self.name();
            for _ in 0..self.choices.below(3) {
                let step = self
                    .choices
                    .one_of(&[".list", ".a", "[0]", "[\"a b\"]", ".b"]);
                self.word(step);
            }
        }
        match form {
            2 => self.word(alias),
            3 => {
                self.keyword("AS");
                self.word(alias);
            }
            _ => {}
        }
        self.scope.push(alias);
    }

    /// A name that is no alias yet, as a rule.
    fn fresh(&mut self) -> &'static str {
        let at = match self.choices.below(16) {
            15 => self.choices.below(NAMES.len()),
            _ => self.scope.len(),
        };
        NAMES.get(at).copied().unwrap_or("z")
    }

    fn order_by(&mut self) {
        self.keywords("ORDER BY");
        if self.choices.below(4) == 1 {
            self.keyword("RANK");
            let name = self
                .choices
                .one_of(&["RRF", "FullTextScore", "VectorDistance", "ABS"]);
            self.word(name);
            self.within("(", |grammar| grammar.list(3, Self::expr), ")");
            return;
        }
        self.list(2, |grammar| {
            grammar.expr();
            match grammar.choices.below(3) {
                1 => grammar.keyword("ASC"),
                2 => grammar.keyword("DESC"),
                _ => {}
            }
        });
    }

    fn expr(&mut self) {
        self.parts += 1;
        self.depth += 1;
        self.coalesced();
        if self.perhaps(12) {
            self.word("?");
            self.expr();
            self.word(":");
            self.expr();
        }
        self.depth -= 1;
    }

    fn coalesced(&mut self) {
        if self.perhaps(16) {
            self.climb(0);
            self.perhaps_not();
            self.keyword("BETWEEN");
            self.climb(0);
            self.keyword("AND");
            self.climb(0);
        } else {
            self.junction("OR", |grammar| grammar.junction("AND", Self::test));
        }
        while self.perhaps(16) {
            self.word("??");
            self.junction("OR", |grammar| grammar.junction("AND", Self::test));
        }
    }

    fn perhaps_not(&mut self) {
        if self.perhaps(4) {
            self.keyword("NOT");
        }
    }

    fn junction(&mut self, word: &str, term: fn(&mut Self)) {
        term(self);
        while self.perhaps(12) {
            self.keyword(word);
            term(self);
        }
    }

    fn test(&mut self) {
        self.climb(0);
        if self.perhaps(16) {
            self.perhaps_not();
            self.keyword("IN");
            self.word("(");
            self.list(3, Self::expr);
            self.word(")");
        } else if self.perhaps(16) {
            self.perhaps_not();
            self.keyword("LIKE");
            self.climb(0);
            if self.perhaps(3) {
                self.keyword("ESCAPE");
                let escape = self
                    .choices
                    .one_of(&["'!'", "\"\\\\\"", "'😀'", "''", "'ab'"]);
                self.word(escape);
            }
        }
    }

    /// Operators from that level on, from the loosest.
    fn climb(&mut self, level: usize) {
        let Some(symbols) = SYMBOLS.get(level) else {
            return self.prefix();
        };
        self.climb(level + 1);
        while self.perhaps(8) {
            self.parts += 1;
            let symbol = self.choices.one_of(symbols);
            self.word(symbol);
            self.climb(level + 1);
        }
    }

    fn prefix(&mut self) {
        while self.perhaps(12) {
            self.parts += 1;
            match self.choices.below(4) {
                0 => self.keyword("NOT"),
                1 => self.word("- "),
                2 => self.word("~"),
                _ => self.word("+"),
            }
        }
        self.primary();
        while self.perhaps(4) {
            let member = self.choices.one_of(&MEMBERS);
            self.word(member);
        }
    }

    fn primary(&mut self) {
        let deepest = self.depth >= DEPTH_MAX || self.parts >= PARTS_MAX;
        let chosen = match self.choices.below(if deepest { 3 } else { 16 }) {
            // Without a source there is no name to find.
            0 | 1 if self.scope.is_empty() && self.choices.below(8) != 7 => 2,
            chosen => chosen,
        };
        match chosen {
            0 => self.name(),
            1 => {
                self.name();
                let member = self.choices.one_of(&MEMBERS);
                self.word(member);
            }
            // A number would take a dot behind it for its own.
            2 => {
                let literal = self.choices.one_of(&LITERALS);
                self.word(&format!("({literal})"));
            }
            3 | 4 => self.within("(", Self::expr, ")"),
            5 => self.within("[", |grammar| grammar.list(3, Self::expr), "]"),
            6 => self.within("{", |grammar| grammar.list(3, Self::member), "}"),
            7 => self.within("(", Self::query, ")"),
            8 => {
                let word = self
                    .choices
                    .one_of(&["EXISTS", "ARRAY", "ALL", "FIRST", "LAST"]);
                self.keyword(word);
                self.within("(", Self::query, ")");
            }
            9 => self.within("(", Self::binding, ")"),
            10 => self.tower(),
            11 => {
                let aggregate = self
                    .choices
                    .one_of(&["COUNT", "SUM", "AVG", "min", "Max", "udf.f"]);
                self.word(aggregate);
                self.within("(", Self::expr, ")");
            }
            _ => self.call(),
        }
    }

    fn within(&mut self, open: &str, inner: fn(&mut Self), close: &str) {
        self.word(open);
        inner(self);
        self.word(close);
    }

    fn member(&mut self) {
        let key = self
            .choices
            .one_of(&["a", "b", "\"k l\"", "'x'", "\"\"", "_1", "é"]);
        self.word(key);
        self.word(":");
        self.expr();
    }

    fn call(&mut self) {
        let all = functions::all();
        let at = self.choices.below(256) * all.len() / 256;
        let Some(function) = all.get(at) else {
            return;
        };
        self.word(function.name);
        let wanted = usize::from(function.min) + self.choices.below(3);
        // Too many of them now and then.
        let arguments = match (function.max, self.choices.below(16)) {
            (None, _) | (_, 15) => wanted,
            (Some(max), _) => wanted.min(usize::from(max)),
        };
        self.word("(");
        for at in 0..arguments {
            if at > 0 {
                self.word(",");
            }
            self.expr();
        }
        self.word(")");
    }

    /// `LET a = b IN c`, whose body begins with a name: behind a parenthesis `IN` would look for a list.
    fn binding(&mut self) {
        let alias = self.fresh();
        self.word("LET");
        self.word(alias);
        self.word("=");
        self.expr();
        self.keyword("IN");
        self.scope.push(alias);
        self.name();
        if self.perhaps(2) {
            let symbol = self.choices.one_of(&["+", "=", "||", "??", "AND", "LIKE"]);
            self.word(symbol);
            self.climb(1);
        }
        self.scope.pop();
    }

    /// The same again and again, to a height that may be too much.
    fn tower(&mut self) {
        let height = HEIGHTS.get(self.choices.below(HEIGHTS.len()));
        let height = height.copied().unwrap_or_default();
        let (open, close) = match self.choices.below(12) {
            0 => ("(", ")"),
            1 => ("[", "]"),
            2 => ("{a:", "}"),
            3 => ("(NOT ", ")"),
            4 => ("ABS(", ")"),
            5 => ("(SELECT VALUE ", ")"),
            6 => ("(1 + ", ")"),
            7 => ("(1 ?? ", ")"),
            8 => ("(true ? ", ": 2)"),
            9 => ("(LET x = 1 IN x + ", ")"),
            10 => ("", " + 1"),
            _ => ("", ".a"),
        };
        self.text.push_str(&open.repeat(height));
        self.text.push('c');
        let close = close.repeat(height);
        self.word(&close);
    }
}
