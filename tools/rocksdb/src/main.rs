//! Compiles RocksDB's C++ into a static library, once per machine, version, set of flags and compiler.
//!
//! `make` runs it before every build. It takes the sources that the crate `librocksdb-sys` ships, compiles them in a few large translation
//! units instead of one per file (docs/decisions/0001), keeps the library in the user's cache, and writes `.cargo/config.toml`, by which
//! every later `cargo` in this clone links that library. It never changes a source file of RocksDB.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod batches;
mod cache;
mod cargo_config;
mod compile;
mod compiler;
mod sources;

/// Everything that can go wrong ends as one line for the person at the terminal.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    match ensure_archive() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rocksdb: {message}");
            ExitCode::FAILURE
        }
    }
}

fn ensure_archive() -> Result<()> {
    let root = workspace_root()?;
    if brings_own_library(&root) {
        return Ok(());
    }
    let sources = sources::Sources::of_workspace(&root)?;
    let compiler = compiler::Compiler::find()?;
    let batches = batches::plan(&sources)?;
    let key = cache::Key::of(&sources, &compiler, &batches)?;
    let folder = cache::folder(&cache_home()?, &key, &root, |scratch| {
        compile::archive(&sources, &compiler, &batches, scratch)
    })?;
    cargo_config::write(&root, &folder)
}

/// Whether the environment names a RocksDB library that is not this program's: then none is compiled.
fn brings_own_library(root: &Path) -> bool {
    std::env::var("ROCKSDB_LIB_DIR").is_ok_and(|folder| !cargo_config::names(root, &folder))
}

/// Cargo names this package's folder, two below the root; without cargo, the program is started in the root.
fn workspace_root() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = package
        .as_deref()
        .and_then(|package| package.ancestors().nth(2))
        .unwrap_or(Path::new("."));
    root.canonicalize()
        .map_err(|error| format!("cannot find the root of the clone: {error}"))
}

/// `$LAPSEDB_CACHE`, else `$XDG_CACHE_HOME/lapsedb`, else `~/.cache/lapsedb`: as in the Makefile.
fn cache_home() -> Result<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("LAPSEDB_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|home| home.join("lapsedb")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/lapsedb")))
        .ok_or_else(|| {
            "neither LAPSEDB_CACHE nor HOME is set: where may the library be kept?".to_owned()
        })
}
