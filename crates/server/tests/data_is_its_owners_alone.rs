//! Nobody else on the machine reads the store, and a store that others could read is not opened.

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
