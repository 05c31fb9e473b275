//! Queries put together from the grammar, over documents put together from the same bytes: every function and construct meets
//! every kind of value. An error with a place in the text, or rows; never a panic, never without end.
#![no_main]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lapsedb_fuzz::input::Input;
use lapsedb_sql::{Env, Executor, Flow, Params, bind, functions, parse};
use lapsedb_value::Budget;
use lapsedb_value::budget::Stop;
use lapsedb_value::{Object, Value};

/// Looks at the interrupt before a query is stopped: enough for every honest one.
const LOOKS_MAX: u32 = 2_000;

/// What a query and its documents are made of.
struct Choices<'b>(Input<'b>);

impl Choices<'_> {
    fn value(&mut self, depth: usize) -> Value {
        match self.0.below(if depth == 0 { 8 } else { 10 }) {
            0 => Value::Null,
            1 => Value::Bool(self.0.byte() % 2 == 0),
            2 => Value::number(f64::from(self.0.byte()) - 100.0),
            3 => Value::number(f64::from(self.0.byte()) * 1e300),
            4 => Value::number(f64::from(self.0.byte()) / 7.0),
            5 => Value::from("2026-11-15T12:00:00.0000000Z"),
            6 => Value::from(self.0.one_of(&[
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
                f64::from(self.0.byte()) - 120.0,
                f64::from(self.0.byte()) - 120.0,
            ),
            8 => Value::Array(
                (0..self.0.below(5))
                    .map(|_| self.value(depth - 1))
                    .collect(),
            ),
            _ => Value::Object(self.object(depth - 1)),
        }
    }

    fn object(&mut self, depth: usize) -> Object {
        let mut object = Object::new();
        for name in ["a", "b", "c", "list"] {
            if self.0.byte() % 4 != 0 {
                object.push(name, self.value(depth));
            }
        }
        object
    }

    fn path(&mut self) -> String {
        let mut path = self.0.one_of(&["c", "c", "c", "x"]).to_owned();
        for _ in 0..self.0.below(4) {
            path.push_str(self.0.one_of(&[
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
        match self.0.below(6) {
            0 => self
                .0
                .one_of(&[
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
        match self.0.below(14) {
            0 => self.leaf(),
            1 => format!(
                "({} {} {})",
                self.expr(depth),
                self.0
                    .one_of(&["+", "-", "*", "/", "%", "&", "|", "^", "||", "??"]),
                self.expr(depth)
            ),
            2 => format!(
                "({} {} {})",
                self.expr(depth),
                self.0
                    .one_of(&["=", "!=", "<", "<=", ">", ">=", "AND", "OR"]),
                self.expr(depth)
            ),
            3 => format!(
                "({} {})",
                self.0.one_of(&["NOT", "-", "~", "+"]),
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
                self.0.one_of(&["IN", "NOT IN"]),
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
                self.0
                    .one_of(&["EXISTS", "ARRAY", "ALL", "FIRST", "LAST", ""]),
                self.query(depth, true)
            ),
            _ => {
                let all = functions::all();
                let function = &all[self.0.below(256) * all.len() / 256];
                let count = usize::from(function.min) + self.0.below(3);
                let args: Vec<String> = (0..count).map(|_| self.expr(depth)).collect();
                format!("{}({})", function.name, args.join(", "))
            }
        }
    }

    fn query(&mut self, depth: usize, inner: bool) -> String {
        let aggregate = [
            "COUNT", "SUM", "AVG", "MIN", "MAX", "MAKELIST", "MAKESET", "COUNTIF",
        ];
        let select = match self.0.below(6) {
            0 if !inner => "*".to_owned(),
            1 => format!("VALUE {}({})", self.0.one_of(&aggregate), self.expr(depth)),
            2 => format!("{} AS p, {} AS q", self.expr(depth), self.expr(depth)),
            _ => format!("VALUE {}", self.expr(depth)),
        };
        let from = match (inner, self.0.below(4)) {
            (true, 0) => String::new(),
            (true, 1) => "FROM x IN c.a".to_owned(),
            (true, _) => "FROM x IN c.list".to_owned(),
            (false, 0) => "FROM c JOIN x IN c.list".to_owned(),
            (false, 1) => "FROM c JOIN (SELECT VALUE y FROM y IN c.list) x".to_owned(),
            (false, _) => "FROM c".to_owned(),
        };
        let filter = match self.0.byte() % 2 {
            0 => String::new(),
            _ => format!("WHERE {}", self.expr(depth)),
        };
        let tail = match (inner, self.0.below(6)) {
            (true, _) | (false, 0) => String::new(),
            (false, 1) => format!("GROUP BY {}", self.expr(1)),
            (false, 2) => format!(
                "ORDER BY {} {}",
                self.path(),
                self.0.one_of(&["", "ASC", "DESC"])
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
            self.0.one_of(&["", "TOP 2 ", "DISTINCT ", ""])
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
    let mut choices = Choices(Input(bytes));
    let documents: Vec<Value> = (0..choices.0.below(4))
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
