//! A Rust file that no `mod` names is not compiled and nobody notices. Except here.

use std::collections::HashMap;

use super::Complaint;
use super::source::Source;
use super::tree::TextFile;

/// Checks every file below a `src/` folder, and every one below a `tests/` folder that is one program (its root is `main.rs`).
pub fn check(files: &[TextFile], complaints: &mut Vec<Complaint>) {
    let sources: HashMap<&str, &str> = files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect();
    for &path in sources.keys() {
        let Some((folder, name)) = module_of(path) else {
            continue;
        };
        if is_among_programs(&sources, path) {
            continue;
        }
        let parents = parents_of(folder);
        let is_named = parents
            .iter()
            .filter_map(|parent| sources.get(parent.as_str()))
            .any(|text| names(text, name))
            || is_pathed(&sources, folder, name);
        if !is_named {
            complaints.push(Complaint::new(
                path,
                0,
                format!("no `mod {name}` in {}", parents.join(" or ")),
            ));
        }
    }
}

/// The folder in which a file is a module, and the module's name; none for roots and for files elsewhere.
fn module_of(path: &str) -> Option<(&str, &str)> {
    let stem = path.strip_suffix(".rs")?;
    let (_, inside) = stem
        .split_once("/src/")
        .or_else(|| stem.split_once("/tests/"))?;
    if matches!(inside, "lib" | "main") || inside.starts_with("bin/") {
        return None;
    }
    let module = stem.strip_suffix("/mod").unwrap_or(stem);
    module.rsplit_once('/')
}

/// Without a `main.rs` beside them, cargo makes a program of every file in a crate's `tests/`.
fn is_among_programs(sources: &HashMap<&str, &str>, path: &str) -> bool {
    !path.contains("/src/")
        && path.split_once("/tests/").is_some_and(|(place, _)| {
            !sources.contains_key(format!("{place}/tests/main.rs").as_str())
        })
}

/// The files that may declare the modules of a folder.
fn parents_of(folder: &str) -> Vec<String> {
    if folder.ends_with("/src") {
        return vec![format!("{folder}/lib.rs"), format!("{folder}/main.rs")];
    }
    if folder.ends_with("/tests") && !folder.contains("/src/") {
        return vec![format!("{folder}/main.rs")];
    }
    vec![format!("{folder}/mod.rs"), format!("{folder}.rs")]
}

/// A module may also be declared beside its file, with a `path` attribute.
fn is_pathed(sources: &HashMap<&str, &str>, folder: &str, name: &str) -> bool {
    let attribute = format!("#[path = \"{name}.rs\"]");
    let is_sibling = |path: &str| {
        path.rsplit_once('/')
            .is_some_and(|(place, _)| place == folder)
    };
    sources
        .iter()
        .any(|(path, text)| is_sibling(path) && text.contains(&attribute))
}

fn names(text: &str, module: &str) -> bool {
    let source = Source::read(text);
    source.find_word("mod").into_iter().any(|at| {
        let rest = source.code[at + 3..].trim_start();
        rest.strip_prefix(module)
            .is_some_and(|after| after.trim_start().starts_with([';', '{']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        let mut found = Vec::new();
        check(&files, &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn both_ways_of_naming_a_folder_pass() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\npub(crate) mod two;"),
            ("crates/a/src/one.rs", "mod leaf;"),
            ("crates/a/src/one/leaf.rs", ""),
            ("crates/a/src/two/mod.rs", "mod leaf;"),
            (
                "crates/a/src/two/leaf.rs",
                "#[path = \"leaf_tests.rs\"]\nmod tests;",
            ),
            ("crates/a/src/two/leaf_tests.rs", ""),
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/tests/anything.rs", ""),
        ];
        assert!(complaints(&files).is_empty(), "{:?}", complaints(&files));
    }

    #[test]
    fn a_test_that_its_program_does_not_name_never_runs() {
        let files = [
            ("crates/a/tests/main.rs", "mod common;\nmod it_works;"),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/a/tests/it_works.rs", "mod grammar;"),
            ("crates/a/tests/it_works/grammar.rs", ""),
            ("crates/a/tests/forgotten.rs", ""),
        ];
        assert_eq!(
            complaints(&files),
            ["crates/a/tests/forgotten.rs: no `mod forgotten` in crates/a/tests/main.rs"]
        );
    }

    #[test]
    fn a_file_nobody_names_is_dead() {
        let files = [
            ("crates/a/src/lib.rs", "// mod one;\nmod one_more {}"),
            ("crates/a/src/one.rs", ""),
        ];
        assert_eq!(
            complaints(&files),
            ["crates/a/src/one.rs: no `mod one` in crates/a/src/lib.rs or crates/a/src/main.rs"]
        );
    }
}
