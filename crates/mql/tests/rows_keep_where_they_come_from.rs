//! Where a document comes from is known to the end, also where stages hand on a part of what they make because it is much.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use crate::common::{object, value};
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_mql::stages::{Foreign, Pipeline, Provenance, Runner, Wait};
use lapsedb_value::budget::{Held, object_bytes};
use lapsedb_value::{Object, Value};

/// Documents that a pipeline takes at once, each of which becomes so large that only a few are handed on together.
const DOCUMENTS: i32 = 23;
const TEXT_BYTES: usize = 1024 * 1024;
/// When the document of the other collection expires: before all others.
const OTHER_EXPIRES: u64 = 500;
/// When the first document expires; the others follow one by one.
const FIRST_EXPIRES: u64 = 1000;

/// One large document.
#[derive(Default)]
struct Others {
    read: AtomicBool,
}

impl Foreign for Others {
    fn documents<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a Filter>,
        held: &'a Held,
    ) -> Wait<'a, Vec<Object>> {
        let mut document = object(r#"{"_id":"other","k":1}"#);
        document.push("text", "x".repeat(TEXT_BYTES));
        self.read.store(true, Ordering::Relaxed);
        let counted = held.add(object_bytes(&document));
        let read = counted.map(|()| vec![document]);
        Box::pin(std::future::ready(read.map_err(Into::into)))
    }

    fn first_expiry(&self) -> Option<u64> {
        let read = self.read.swap(false, Ordering::Relaxed);
        read.then_some(OTHER_EXPIRES)
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("the future waits"),
    }
}

fn expiry(n: i32) -> u64 {
    FIRST_EXPIRES + u64::try_from(n).unwrap()
}

/// What a pipeline makes of all documents.
fn run(stages: &str) -> Vec<(Object, Provenance)> {
    let stages = value(stages);
    let pipeline = Pipeline::parse(stages.as_array().unwrap(), &Options::default()).unwrap();
    let mut runner = Runner::new(&pipeline);
    let documents = (0..DOCUMENTS)
        .map(|n| object(&format!(r#"{{"_id":{n},"k":1,"place":[0,{n}]}}"#)))
        .collect();
    let provenance = (0..DOCUMENTS)
        .map(|n| Provenance::of(u64::try_from(n).unwrap(), expiry(n)))
        .collect();
    let others = Others::default();
    now(runner.push_from(documents, provenance, 0, &others)).unwrap();
    now(runner.finish(&others)).unwrap();
    let made = std::iter::from_fn(|| runner.take_from()).collect();
    // What was held for it is forgotten with it.
    let budget = Arc::clone(runner.budget());
    drop((runner, pipeline));
    assert_eq!(budget.bytes(), budget.kept() + budget.scratch());
    made
}

/// Stages that make a document larger by a text, and whether they read the other collection for it.
fn growing() -> Vec<(String, bool)> {
    let text = "x".repeat(TEXT_BYTES);
    vec![
        (format!(r#"{{"$set":{{"t":{{"$concat":["{text}",{{"$toString":"$_id"}}]}}}}}}"#), false),
        (r#"{"$lookup":{"from":"o","localField":"k","foreignField":"k","as":"o"}}"#.to_owned(), true),
        (r#"{"$lookup":{"from":"o","pipeline":[],"as":"o"}}"#.to_owned(), true),
        (r#"{"$lookup":{"from":"o","let":{"k":"$k"},"pipeline":[{"$match":{"$expr":{"$eq":["$k","$$k"]}}}],"as":"o"}}"#.to_owned(), true),
        (r#"{"$graphLookup":{"from":"o","startWith":"$k","connectFromField":"n","connectToField":"k","as":"o"}}"#.to_owned(), true),
    ]
}

#[test]
fn what_is_handed_on_in_parts_keeps_its_document() {
    let around = [
        ("", ""),
        (r#"{"$sort":{"_id":-1}},"#, ""),
        ("", r#",{"$sort":{"_id":-1}},{"$unset":"t"}"#),
        (
            r#"{"$geoNear":{"near":[0,0],"key":"place","distanceField":"d"}},"#,
            "",
        ),
    ];
    for (stage, reads) in growing() {
        for (before, behind) in around {
            let made = run(&format!("[{before}{stage}{behind}]"));
            let name: String = stage.chars().take(40).collect();
            assert_eq!(made.len(), usize::try_from(DOCUMENTS).unwrap(), "{name}");
            for (document, provenance) in made {
                let Some(Value::Int32(id)) = document.get("_id") else {
                    panic!("{name}: no id");
                };
                let own = Provenance::of(u64::try_from(*id).unwrap(), expiry(*id));
                assert_eq!(
                    provenance.stored(),
                    own.stored(),
                    "{before} {name} {behind}"
                );
                let others = reads.then_some(OTHER_EXPIRES);
                assert_eq!(provenance.others(), others, "{before} {name} {behind}");
            }
        }
    }
}

#[test]
fn what_is_made_of_all_ends_with_the_first() {
    for (stage, reads) in growing() {
        let first = if reads { OTHER_EXPIRES } else { FIRST_EXPIRES };
        for whole in [
            r#"{"$group":{"_id":null,"n":{"$sum":1}}}"#,
            r#"{"$count":"n"}"#,
            r#"{"$facet":{"a":[{"$count":"n"}]}}"#,
        ] {
            let made = run(&format!("[{stage},{whole}]"));
            let [(_, provenance)] = made.as_slice() else {
                panic!("{whole}: {} documents", made.len());
            };
            assert_eq!(*provenance, Provenance::of_others(first), "{whole}");
        }
    }
}
