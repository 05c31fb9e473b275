//! Rows come as documents are pushed, stop when enough came, and go on in another execution.

use std::sync::Arc;

use lapsedb_sql::{Bound, Env, Executor, Flow, Params, Progress, bind, error, parse};
use lapsedb_value::Budget;
use lapsedb_value::budget::Stop;
use lapsedb_value::{Value, json};

fn doc(n: i32) -> Value {
    json::parse(
        format!("{{\"id\":\"{n}\",\"n\":{n},\"tags\":[1,2]}}").as_bytes(),
        &json::Limits::DEFAULT,
    )
    .unwrap()
}

fn bound(text: &str) -> Bound {
    bind(&parse(text).unwrap(), &Params::new()).unwrap()
}

fn text(rows: Vec<Value>) -> String {
    json::to_string(&Value::Array(rows))
}

#[test]
fn rows_of_a_streaming_query_are_ready_after_each_push() {
    let bound = bound("SELECT VALUE c.n + t FROM c JOIN t IN c.tags WHERE c.n != 2");
    let mut executor = Executor::new(&bound, Env::new(0));
    assert!(bound.is_streaming());
    for (n, expected) in [(1, "[2,3]"), (2, "[]"), (3, "[4,5]")] {
        assert_eq!(executor.push(doc(n)).unwrap(), Flow::More);
        assert_eq!(text(executor.take_rows()), expected);
    }
    assert_eq!(text(executor.finish().unwrap()), "[]");
}

#[test]
fn enough_rows_end_the_scan() {
    let bound = bound("SELECT TOP 3 VALUE c.n + t FROM c JOIN t IN c.tags");
    let mut executor = Executor::new(&bound, Env::new(0));
    assert_eq!(executor.push(doc(1)).unwrap(), Flow::More);
    assert_eq!(executor.push(doc(2)).unwrap(), Flow::Done);
    assert_eq!(executor.push(doc(3)).unwrap(), Flow::Done);
    assert_eq!(text(executor.finish().unwrap()), "[2,3,3]");
}

#[test]
fn a_page_goes_on_where_the_last_one_stopped() {
    for query in [
        "SELECT VALUE c.n FROM c OFFSET 3 LIMIT 4",
        "SELECT TOP 7 VALUE c.n FROM c",
    ] {
        let bound = bound(query);
        let mut whole = Executor::new(&bound, Env::new(0));
        let mut pages = Vec::new();
        let mut progress = Progress::default();
        for n in 0..20 {
            whole.push(doc(n)).unwrap();
            let mut page = Executor::resume(&bound, Env::new(0), progress);
            page.push(doc(n)).unwrap();
            pages.append(&mut page.take_rows());
            progress = page.progress();
        }
        assert_eq!(text(pages), text(whole.finish().unwrap()), "{query}");
    }
}

#[test]
fn queries_are_told_apart() {
    let streaming = [
        "SELECT * FROM c",
        "SELECT TOP 1 VALUE c.n FROM c",
        "SELECT 1",
        "SELECT s FROM (SELECT c.n FROM c) s",
    ];
    for query in streaming {
        assert!(bound(query).is_streaming(), "{query}");
    }
    let blocking = [
        "SELECT DISTINCT c.n FROM c",
        "SELECT COUNT(1) FROM c",
        "SELECT c.n FROM c GROUP BY c.n",
        "SELECT * FROM c ORDER BY c.n",
        "SELECT s FROM (SELECT DISTINCT c.n FROM c) s",
    ];
    for query in blocking {
        assert!(!bound(query).is_streaming(), "{query}");
    }
    for query in [
        "SELECT VALUE COUNT(1) FROM c",
        "select value count(c) from root c",
        "SELECT VALUE COUNT('x') FROM c",
    ] {
        assert!(bound(query).counts_everything(), "{query}");
    }
    let partly = [
        "SELECT COUNT(1) FROM c",
        "SELECT VALUE COUNT(c.n) FROM c",
        "SELECT VALUE COUNT(1) FROM c WHERE c.n = 1",
        "SELECT VALUE COUNT(1) FROM c GROUP BY c.n",
        "SELECT VALUE COUNT(1) FROM t IN c.tags",
        "SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags",
        "SELECT VALUE COUNT(1) + 1 FROM c",
        "SELECT VALUE COUNT(undefined) FROM c",
        "SELECT VALUE SUM(1) FROM c",
        "SELECT TOP 0 VALUE COUNT(1) FROM c",
        "SELECT VALUE COUNT(1)",
    ];
    for query in partly {
        assert!(!bound(query).counts_everything(), "{query}");
    }
    for (query, whole) in [
        ("SELECT * FROM c WHERE c.n = 1", true),
        ("SELECT VALUE c FROM c ORDER BY c.n", true),
        ("SELECT c FROM c", false),
        ("SELECT * FROM c.x", false),
        ("SELECT VALUE c FROM c JOIN t IN c.tags", false),
    ] {
        assert_eq!(bound(query).returns_documents(), whole, "{query}");
    }
    assert!(!bound("SELECT 1").reads_documents());
}

#[test]
fn the_filter_can_be_asked_alone() {
    let bound = bound("SELECT * FROM c WHERE c.n > 1");
    let executor = Executor::new(&bound, Env::new(0));
    assert!(!executor.keeps(&doc(1)).unwrap());
    assert!(executor.keeps(&doc(2)).unwrap());
}

#[test]
fn the_top_of_an_order_needs_no_room_for_the_rest() {
    let bound = bound("SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n DESC");
    let mut executor = Executor::new(&bound, Env::new(0));
    let mut numbers: Vec<i32> = (0..10_000).map(|n| n * 7_919 % 10_007).collect();
    for n in &numbers {
        executor.push(doc(*n)).unwrap();
    }
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(
        text(executor.finish().unwrap()),
        format!("[{},{}]", numbers[0], numbers[1])
    );
}

#[test]
fn an_interrupt_stops_the_query() {
    let bound =
        bound("SELECT VALUE COUNT(1) FROM c JOIN a IN c.tags JOIN b IN c.tags JOIN d IN c.tags");
    let budget = Arc::new(Budget::default());
    budget.set_probe(Arc::new(|| Some(Stop::Time)));
    let mut executor = Executor::new(&bound, Env::new(0).within(&budget));
    let ones = vec![Value::Int32(1); 100];
    let mut document = doc(1);
    document.as_object_mut().unwrap().insert("tags", ones);
    assert_eq!(
        executor.push(document).unwrap_err().code,
        error::INTERRUPTED
    );
}

#[test]
fn an_execution_can_move_between_threads() {
    fn assert_send<T: Send>(_: &T) {}
    let bound = bound("SELECT * FROM c");
    assert_send(&bound);
    assert_send(&Executor::new(&bound, Env::new(0)));
}
