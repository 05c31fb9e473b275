//! Two servers on one folder would destroy it.

use crate::common::{self, Server};

#[test]
fn the_second_names_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let first = Server::on(folder.path(), &[]);
    let second = common::run(&[
        "--data-path",
        path,
        "--port",
        "0",
        "--mongo-port",
        "off",
        "--log-level",
        "off",
    ]);
    let error = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(3), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains(&first.pid().to_string()), "{error}");
    assert!(second.stdout.is_empty());
    assert_eq!(
        first.call("GET", "/ready", &[], "").status,
        200,
        "the first goes on"
    );
}

#[test]
fn after_a_kill_the_folder_is_free() {
    let folder = tempfile::tempdir().unwrap();
    Server::on(folder.path(), &[]).kill();
    Server::on(folder.path(), &[]);
}
