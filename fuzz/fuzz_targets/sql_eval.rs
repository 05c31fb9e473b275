//! Queries put together from the grammar, over documents put together from the same bytes: every function and construct meets
//! every kind of value. An error with a place in the text, or rows; never a panic, never without end.
#![no_main]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lapsedb_sql::{Env, Executor, Flow, Params, bind, functions, parse};
use lapsedb_value::Budget;
use lapsedb_value::budget::Stop;
use lapsedb_value::{Object, Value};

/// Looks at the interrupt before a query is stopped: enough for every honest one.
const LOOKS_MAX: u32 = 2_000;

/// The bytes that decide; zeros when they are used up.
struct Choices<'b>(&'b [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 8 } else { 10 }) {
            0 => Value::Null,
            1 => Value::Bool(self.byte() % 2 == 0),
            2 => Value::number(f64::from(self.byte()) - 100.0),
            3 => Value::number(f64::from(self.byte()) * 1e300),
            4 => Value::number(f64::from(self.byte()) / 7.0),
            5 => Value::from("2026-11-15T12:00:00.0000000Z"),
            6 => Value::from(self.pick(&[
                "",
                "a",
                "Text",
                "x%y_[z]",
                "\u{e9}\u{1F600}",
                "[1,2]",
                "true",
                "P1D",
                "day",
            ])),
            7 => point(
                f64::from(self.byte()) - 120.0,
                f64::from(self.byte()) - 120.0,
            ),
            8 => Value::Array((0..self.below(5)).map(|_| self.value(depth - 1)).collect()),
            _ => Value::Object(self.object(depth - 1)),
        }
    }

    fn object(&mut self, depth: usize) -> Object {
        let mut object = Object::new();
        for name in ["a", "b", "c", "list"] {
            if self.byte() % 4 != 0 {
                object.push(name, self.value(depth));
            }
        }
        object
    }

    fn path(&mut self) -> String {
        let mut path = self.pick(&["c", "c", "c", "x"]).to_owned();
        for _ in 0..self.below(4) {
            path.push_str(self.pick(&[
                ".a",
                ".b",
                ".c",
                ".list",
                "[0]",
                "[\"a\"]",
                "['missing']",
                "[c.a]",
            ]));
        }
        path
    }

    /// An expression without others inside.
    fn leaf(&mut self) -> String {
        match self.below(6) {
            0 => self
                .pick(&[
                    "null",
                    "true",
                    "false",
                    "undefined",
                    "0",
                    "-1",
                    "1.5",
                    "1e308",
                    "'a'",
                    "\"b\"",
                    "''",
                    "[]",
                    "{}",
                    "@p",
                ])
                .to_owned(),
            _ => self.path(),
        }
    }

    fn expr(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let depth = depth - 1;
        match self.below(14) {
            0 => self.leaf(),
            1 => format!(
                "({} {} {})",
                self.expr(depth),
                self.pick(&["+", "-", "*", "/", "%", "&", "|", "^", "||", "??"]),
                self.expr(depth)
            ),
            2 => format!(
                "({} {} {})",
                self.expr(depth),
                self.pick(&["=", "!=", "<", "<=", ">", ">=", "AND", "OR"]),
                self.expr(depth)
            ),
            3 => format!(
                "({} {})",
                self.pick(&["NOT", "-", "~", "+"]),
                self.expr(depth)
            ),
            4 => format!(
                "({} ? {} : {})",
                self.expr(depth),
                self.expr(depth),
                self.expr(depth)
            ),
            5 => format!(
                "({} {} ({}, {}))",
                self.expr(depth),
                self.pick(&["IN", "NOT IN"]),
                self.expr(depth),
                self.expr(depth)
            ),
            6 => format!(
                "({} BETWEEN {} AND {})",
                self.expr(depth),
                self.expr(depth),
                self.expr(depth)
            ),
            7 => format!("({} LIKE {})", self.expr(depth), self.expr(depth)),
            8 => format!("[{}, {}]", self.expr(depth), self.expr(depth)),
            9 => format!("{{k: {}, \"l m\": {}}}", self.expr(depth), self.expr(depth)),
            10 => format!(
                "{}({})",
                self.pick(&["EXISTS", "ARRAY", "ALL", "FIRST", "LAST", ""]),
                self.query(depth, true)
            ),
            _ => {
                let all = functions::all();
                let function = &all[self.below(256) * all.len() / 256];
                let count = usize::from(function.min) + self.below(3);
                let args: Vec<String> = (0..count).map(|_| self.expr(depth)).collect();
                format!("{}({})", function.name, args.join(", "))
            }
        }
    }

    fn query(&mut self, depth: usize, inner: bool) -> String {
        let aggregate = [
            "COUNT", "SUM", "AVG", "MIN", "MAX", "MAKELIST", "MAKESET", "COUNTIF",
        ];
        let select = match self.below(6) {
            0 if !inner => "*".to_owned(),
            1 => format!("VALUE {}({})", self.pick(&aggregate), self.expr(depth)),
            2 => format!("{} AS p, {} AS q", self.expr(depth), self.expr(depth)),
            _ => format!("VALUE {}", self.expr(depth)),
        };
        let from = match (inner, self.below(4)) {
            (true, 0) => String::new(),
            (true, 1) => "FROM x IN c.a".to_owned(),
            (true, _) => "FROM x IN c.list".to_owned(),
            (false, 0) => "FROM c JOIN x IN c.list".to_owned(),
            (false, 1) => "FROM c JOIN (SELECT VALUE y FROM y IN c.list) x".to_owned(),
            (false, _) => "FROM c".to_owned(),
        };
        let filter = match self.byte() % 2 {
            0 => String::new(),
            _ => format!("WHERE {}", self.expr(depth)),
        };
        let tail = match (inner, self.below(6)) {
            (true, _) | (false, 0) => String::new(),
            (false, 1) => format!("GROUP BY {}", self.expr(1)),
            (false, 2) => format!(
                "ORDER BY {} {}",
                self.path(),
                self.pick(&["", "ASC", "DESC"])
            ),
            (false, 3) => "OFFSET 1 LIMIT 2".to_owned(),
            (false, 4) => "ORDER BY c.a DESC, c.b OFFSET 0 LIMIT 3".to_owned(),
            (false, _) => {
                "ORDER BY RANK RRF(FullTextScore(c.a, 'a'), VectorDistance(c.list, [1,2]))"
                    .to_owned()
            }
        };
        let top = if inner {
            ""
        } else {
            self.pick(&["", "TOP 2 ", "DISTINCT ", ""])
        };
        format!("SELECT {top}{select} {from} {filter} {tail}")
    }
}

fn point(x: f64, y: f64) -> Value {
    let mut point = Object::new();
    point.push("type", Value::from("Point"));
    point.push(
        "coordinates",
        Value::Array(vec![Value::number(x), Value::number(y)]),
    );
    Value::Object(point)
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices(bytes);
    let documents: Vec<Value> = (0..choices.below(4))
        .map(|at| {
            let mut object = choices.object(2);
            object.push("id", Value::from(format!("i{at}")));
            Value::Object(object)
        })
        .collect();
    let mut params = Params::new();
    params.set("@p", choices.value(2));
    let text = choices.query(3, false);
    let Ok(bound) = parse(&text).and_then(|query| bind(&query, &params)) else {
        return;
    };
    let looks = AtomicU32::new(0);
    let budget = Arc::new(Budget::default());
    budget.set_probe(Arc::new(move || {
        (looks.fetch_add(1, Ordering::Relaxed) > LOOKS_MAX).then_some(Stop::Time)
    }));
    let env = Env::new(1_794_700_000_000).within(&budget);
    let mut executor = Executor::new(&bound, env);
    let mut rows = Vec::new();
    if bound.reads_documents() {
        for document in documents {
            match executor.push(document) {
                Ok(Flow::Done) => break,
                Ok(_) => rows.append(&mut executor.take_rows()),
                Err(error) => {
                    assert!(error.start <= error.end, "{text}: {error:?}");
                    return;
                }
            }
        }
    }
    match executor.finish() {
        Ok(mut last) => rows.append(&mut last),
        Err(error) => assert!(error.start <= error.end, "{text}: {error:?}"),
    }
    assert!(rows.iter().all(|row| !row.is_undefined()), "{text}");
});
