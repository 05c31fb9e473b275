//! Which crate may use which. The picture is in CONTRIBUTING.md; an arrow not drawn there is refused.

use super::Complaint;

/// Every crate that may be named here starts with this.
const PREFIX: &str = "lapsedb-";

/// Open to all, because it knows nothing.
const OPEN: &str = "value";

/// A crate, and the crates it may use besides `value`.
const ARROWS: &[(&str, &[&str])] = &[
    ("door-cosmos", &["service"]),
    ("door-mongo", &["service"]),
    ("explorer", &[]),
    ("kv", &[]),
    ("mql", &["query"]),
    // Both hand out what `record` revealed, so they may name those types.
    ("query", &["record", "store"]),
    ("record", &[]),
    ("service", &["mql", "query", "record", "sql", "store"]),
    ("sql", &["query"]),
    ("store", &["kv", "record"]),
    ("value", &[]),
];

/// They see everything: one puts the house together, the other looks into every room.
const UNBOUND: &[&str] = &["server", "testkit"];

/// Checks one `Cargo.toml`. Dev-dependencies are exempt: a test may look anywhere.
pub fn check(path: &str, text: &str, complaints: &mut Vec<Complaint>) {
    let Some(name) = path
        .strip_prefix("crates/")
        .and_then(|rest| rest.strip_suffix("/Cargo.toml"))
    else {
        return;
    };
    if UNBOUND.contains(&name) {
        return;
    }
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        complaints.push(Complaint::new(
            path,
            0,
            format!("crate `{name}` is not in the picture of arrows"),
        ));
        return;
    };
    for (line, used) in used_crates(text) {
        if used != OPEN && !allowed.contains(&used.as_str()) {
            complaints.push(Complaint::new(
                path,
                line,
                format!("`{name}` may not use `{used}`"),
            ));
        }
    }
}

/// Our own crates named in the sections that count, with their lines.
fn used_crates(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_counted = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(section) = line.strip_prefix('[') {
            is_counted = section.contains("dependencies") && !section.contains("dev-dependencies");
        }
        if is_counted {
            found.extend(names_in(line).map(|name| (index + 1, name)));
        }
    }
    found
}

/// The key of a line, the name in a section head, or a `package =` behind another key: wherever the prefix stands.
fn names_in(line: &str) -> impl Iterator<Item = String> + '_ {
    line.match_indices(PREFIX).map(|(at, _)| {
        let rest = &line[at + PREFIX.len()..];
        rest.chars()
            .take_while(|&sign| sign == '-' || sign.is_ascii_alphanumeric())
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        check(path, text, &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn drawn_arrows_are_allowed() {
        let text = "[dependencies]\nlapsedb-kv.workspace = true\nlapsedb-record.workspace = true\nlapsedb-value.workspace = true\n";
        assert!(complaints("crates/store/Cargo.toml", text).is_empty());
        assert!(complaints("crates/server/Cargo.toml", text).is_empty());
        assert!(complaints("bench/Cargo.toml", text).is_empty());
    }

    #[test]
    fn no_door_reaches_past_service() {
        let text =
            "[dependencies]\nlapsedb-service.workspace = true\nlapsedb-store.workspace = true\n";
        assert_eq!(
            complaints("crates/door-cosmos/Cargo.toml", text),
            ["crates/door-cosmos/Cargo.toml:3: `door-cosmos` may not use `store`"]
        );
    }

    #[test]
    fn every_way_of_writing_an_arrow_is_seen() {
        for text in [
            "[dependencies]\nlapsedb-kv = { path = \"../kv\" }",
            "[dependencies]\nbytes_kept = { package = \"lapsedb-kv\", path = \"../kv\" }",
            "[dependencies.lapsedb-kv]\npath = \"../kv\"",
            "[build-dependencies]\nlapsedb-kv.workspace = true",
            "[target.'cfg(unix)'.dependencies]\nlapsedb-kv.workspace = true",
        ] {
            assert_eq!(
                complaints("crates/service/Cargo.toml", text).len(),
                1,
                "{text}"
            );
        }
    }

    #[test]
    fn tests_may_look_anywhere() {
        let text = "[dev-dependencies]\nlapsedb-testkit.workspace = true\n# lapsedb-kv\n";
        assert!(complaints("crates/value/Cargo.toml", text).is_empty());
    }

    #[test]
    fn a_crate_outside_the_picture_is_refused() {
        assert_eq!(complaints("crates/attic/Cargo.toml", "").len(), 1);
    }
}
