//! Nobody else on the machine reads the store. A store that others can read is refused, unless that is accepted.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{self, Server};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn open_to_all(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// All files and folders below one.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn what_is_made_is_its_owners_alone_and_what_is_not_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    // As a volume that somebody else has made.
    std::fs::create_dir(&data).unwrap();
    open_to_all(&data, 0o755);
    let server = Server::on(&data, &[]);
    assert_eq!(
        server.cosmos("POST", "/dbs", &[], r#"{"id":"d"}"#).status,
        201
    );
    server.signal("TERM");
    assert_eq!(server.wait().0.code(), Some(0));
    let made = all(&data);
    assert!(made.len() > 10, "{made:?}");
    for path in &made {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(path), expected, "{}", path.display());
    }

    let table = made.iter().find(|path| path.ends_with("CURRENT")).unwrap();
    for (path, loose, tight) in [(&data, 0o755, 0o700), (table, 0o640, 0o600)] {
        open_to_all(path, loose);
        let output = common::run(&[
            "--data-path",
            data.to_str().unwrap(),
            "--port",
            "0",
            "--mongo-port",
            "off",
        ]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        let fix = format!("chmod -R go= '{}'", data.display());
        assert!(error.contains(&fix), "{error}");
        open_to_all(path, tight);
    }
    let server = Server::on(&data, &[]);
    assert_eq!(server.cosmos("GET", "/dbs/d", &[], "").status, 200);
}

#[test]
fn a_folder_that_is_not_ours_alone_is_refused_unless_that_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("shared");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("notes"), "").unwrap();
    open_to_all(&data, 0o775);
    let path = data.to_str().unwrap();
    let output = common::run(&["--data-path", path, "--port", "0", "--mongo-port", "off"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    for fix in [
        format!("chmod -R go= '{path}'"),
        format!("'{path}/lapsedb'"),
        "--insecure-data-mode".to_owned(),
    ] {
        assert!(error.contains(&fix), "{error}");
    }

    let log = dir.path().join("log");
    let mut command = common::program();
    command.stderr(std::fs::File::create(&log).unwrap());
    let server = Server::start_by(command, &["--data-path", path, "--insecure-data-mode"]);
    assert_eq!(
        server.cosmos("POST", "/dbs", &[], r#"{"id":"d"}"#).status,
        201
    );
    server.signal("TERM");
    assert_eq!(server.wait().0.code(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("--insecure-data-mode"), "{log}");
    assert_eq!(mode(&data), 0o775);
    // What the server makes is its own alone in any case.
    for made in all(&data) {
        if made != data && made != data.join("notes") {
            let expected = if made.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(&made), expected, "{}", made.display());
        }
    }
}
