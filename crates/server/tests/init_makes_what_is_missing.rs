//! `--init` makes databases, containers and items that are not there, and leaves alone what is.

use crate::common::{Server, run};

const FIRST: &str = r#"{"databases":[{"id":"d","containers":[{"id":"c","defaultTtl":60,
    "partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
    "items":[{"id":"a","pk":"p","n":1},{"id":"b","pk":"q"}]}]}]}"#;
const SECOND: &str = r#"{"databases":[{"id":"d","containers":[{"id":"c","defaultTtl":5,
    "partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
    "items":[{"id":"a","pk":"p","n":2},{"id":"c","pk":"p"}]}]}]}"#;

/// What the admin API says of the container.
fn report(server: &Server) -> String {
    let answer = server.admin("GET", "/_lapsedb/dbs/d/colls/c/ttl", "");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

#[test]
fn once_and_again_from_a_file_and_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let folder = dir.path().join("init");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("1.json"), FIRST).unwrap();
    std::fs::write(folder.join("notes.txt"), "not JSON").unwrap();
    let start = |init: &std::path::Path| {
        Server::start(&[
            "--data-path",
            data.to_str().unwrap(),
            "--init",
            init.to_str().unwrap(),
        ])
    };
    let server = start(&folder);
    let first = report(&server);
    assert!(
        first.contains("\"defaultTtl\":60") && first.contains("\"items\":2"),
        "{first}"
    );
    server.signal("TERM");
    assert!(server.wait().0.success());
    let file = dir.path().join("second.json");
    std::fs::write(&file, SECOND).unwrap();
    let server = start(&file);
    let second = report(&server);
    // The definition stayed, the item that was there too, and the one that was missing has come.
    assert!(
        second.contains("\"defaultTtl\":60") && second.contains("\"items\":3"),
        "{second}"
    );
    server.signal("TERM");
    assert!(server.wait().0.success());
}

#[test]
fn what_cannot_be_applied_ends_the_start_with_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.json");
    for (text, says) in [
        ("{", "line 1"),
        ("{}", "'databases' must be an array"),
        (r#"{"databases":[{}]}"#, "lacks the string 'id'"),
        (r#"{"databases":[{"id":"a/b"}]}"#, "a/b"),
        (
            r#"{"databases":[{"id":"d","containers":[{"id":"c","partitionKey":{"paths":["/pk"]},"defaultTtl":0}]}]}"#,
            "d/c: The input defaultTtl '0'",
        ),
        (
            r#"{"databases":[{"id":"d","containers":[{"id":"c","partitionKey":{"paths":["/pk"]},"items":[{"pk":1}]}]}]}"#,
            "'id; '",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = run(&["--memory", "--port", "0", "--init", file.to_str().unwrap()]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{text}");
        assert!(
            error.contains(says) && error.contains("x.json"),
            "{text}: {error}"
        );
    }
}
