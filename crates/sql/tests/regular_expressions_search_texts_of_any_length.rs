//! Regular expressions and `LIKE` work on a text of any length; one that would run for ever stops by the budget.

use std::sync::Arc;

use lapsedb_sql::{Env, Executor, Params, SqlError, bind, error, parse};
use lapsedb_value::{Budget, Object, Value};

/// Bytes of the texts: below and above every limit that there was.
const LENGTHS: [usize; 4] = [1 << 10, 300 << 10, 1 << 20, 16 << 20];

/// Conditions on a text that ends with `needle 42`, and whether they hold.
const ORDINARY: &[(&str, bool)] = &[
    ("REGEXMATCH(c.text, 'needle')", true),
    ("REGEXMATCH(c.text, 'needles')", false),
    ("REGEXMATCH(c.text, 'NEEDLE', 'i')", true),
    (r"REGEXMATCH(c.text, '\\bneedle\\s\\d+$')", true),
    ("REGEXMATCH(c.text, '(xy|z){9000}')", false),
    ("RegexExtract(c.text, '[0-9]+') = '42'", true),
    ("c.text LIKE '%needle 42'", true),
    ("c.text LIKE '%needle_43'", false),
];

fn run(query: &str, bytes: usize, budget: Budget) -> Result<Vec<Value>, SqlError> {
    let end = "needle 42";
    let mut document = Object::new();
    let text = format!("{}{end}", "lorem ipsum ".repeat((bytes - end.len()) / 12));
    document.push("text", text);
    let budget = Arc::new(budget);
    let bound = bind(&parse(query)?, &Params::new())?;
    let mut executor = Executor::new(&bound, Env::new(0).within(&budget));
    executor.push(Value::Object(document))?;
    Ok(executor.take_rows())
}

#[test]
fn ordinary_patterns_work_at_all_lengths() {
    for bytes in LENGTHS {
        for (condition, wanted) in ORDINARY {
            let query = format!("SELECT VALUE {condition} FROM c");
            let rows = run(&query, bytes, Budget::default());
            let answers = rows.map(|rows| rows.iter().map(Value::as_bool).collect());
            let wanted: Vec<Option<bool>> = vec![Some(*wanted)];
            assert_eq!(answers, Ok(wanted), "{condition} in {bytes} bytes");
        }
    }
}

#[test]
fn hostile_patterns_stop_by_the_budget() {
    for condition in [
        "REGEXMATCH(c.text, '[a-z ]*m[a-z ]{500}!')",
        "c.text LIKE '%m%o%r%e%m%!%_______________________'",
    ] {
        let query = format!("SELECT VALUE {condition} FROM c");
        let stopped = run(&query, 16 << 20, Budget::default().with_steps_max(20_000));
        assert_eq!(
            stopped.unwrap_err().code,
            error::TOO_MUCH_WORK,
            "{condition}"
        );
    }
}
