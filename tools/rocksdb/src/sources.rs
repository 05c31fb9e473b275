//! Where the sources lie, and which of them are compiled.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// The crate that ships RocksDB's sources and links the library.
const ROCKSDB_CRATE: &str = "librocksdb-sys";

/// Sources of features that nothing here calls, by prefix. `cpp/left_out.cc` defines the few functions of them that
/// RocksDB's C interface refers to. Backup and checkpoint are not among them: they are needed.
const LEFT_OUT: &[&str] = &[
    "test_util/",
    "tools/",
    "utilities/agg_merge/",
    "utilities/blob_db/",
    "utilities/cache_dump_load",
    "utilities/cassandra/",
    "utilities/convenience/",
    "utilities/env_mirror.cc",
    "utilities/fault_injection",
    "utilities/leveldb_options/",
    "utilities/option_change_migration/",
    "utilities/persistent_cache/",
    "utilities/secondary_index/",
    "utilities/simulator_cache/",
    "utilities/sorted_run_builder/",
    "utilities/transactions/",
    "utilities/ttl/",
    // The crate has a ready one beside its Cargo.toml.
    "util/build_version.cc",
    // The files of these names in `cpp/` include them.
    "db/error_handler.cc",
    "env/io_posix.cc",
    // `cpp/crc32c.cc` includes it, twice.
    "util/crc32c.cc",
];

/// Below a prefix of `LEFT_OUT`, and needed all the same: compaction asks it about snapshots.
const KEPT: &[&str] = &["utilities/transactions/snapshot_checker.cc"];

/// RocksDB's sources as `librocksdb-sys` ships them, and the headers of the compression libraries.
pub struct Sources {
    /// Such as `0.19.0+11.8.1`: the crate's version and RocksDB's.
    pub version: String,
    /// The folder of the crate.
    pub crate_folder: PathBuf,
    /// Folders with headers, in the order in which the compiler looks.
    pub include_folders: Vec<PathBuf>,
    /// What is compiled, from the crate's folder, in the order of the crate's own list.
    pub files: Vec<String>,
    /// Our own files beside them.
    pub own_files: Vec<PathBuf>,
}

impl Sources {
    /// Asks cargo where the packages of the workspace's lock file lie; it downloads what is missing.
    pub fn of_workspace(root: &Path) -> Result<Self> {
        let metadata = metadata(root)?;
        let (version, crate_folder) = package(&metadata, ROCKSDB_CRATE)?;
        let (_, lz4) = package(&metadata, "lz4-sys")?;
        let (_, zstd) = package(&metadata, "zstd-sys")?;
        let include_folders = vec![
            crate_folder.join("rocksdb/include"),
            crate_folder.join("rocksdb"),
            crate_folder.clone(),
            lz4.join("liblz4/lib"),
            zstd.join("zstd/lib"),
        ];
        let list = crate_folder.join("rocksdb_lib_sources.txt");
        let text = std::fs::read_to_string(&list)
            .map_err(|error| format!("cannot read {}: {error}", list.display()))?;
        let mut files = compiled(&text);
        files.push("build_version.cc".to_owned());
        let own_files = [
            "crc32c.cc",
            "error_handler.cc",
            "io_posix.cc",
            "left_out.cc",
        ]
        .map(|name| root.join("tools/rocksdb/cpp").join(name))
        .to_vec();
        Ok(Self {
            version,
            crate_folder,
            include_folders,
            files,
            own_files,
        })
    }
}

/// The sources of RocksDB's list that are compiled, from the crate's folder.
fn compiled(list: &str) -> Vec<String> {
    let is_left_out = |file: &str| {
        LEFT_OUT.iter().any(|prefix| file.starts_with(prefix)) && !KEPT.contains(&file)
    };
    list.lines()
        .map(str::trim)
        .filter(|file| !file.is_empty() && !is_left_out(file))
        .map(|file| format!("rocksdb/{file}"))
        .collect()
}

fn metadata(root: &Path) -> Result<serde_json::Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    // Only what this machine compiles: the lock file names crates of other systems too.
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--quiet"])
        .args(["--filter-platform", &host()?])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = said
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("no reason given");
        return Err(format!(
            "cargo cannot get the packages of Cargo.lock: {}",
            reason.trim()
        ));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cannot read what cargo metadata prints: {error}"))
}

/// The system that rustc compiles for, such as `x86_64-unknown-linux-gnu`.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let output = Command::new(rustc)
        .arg("-vV")
        .output()
        .map_err(|error| format!("cannot start rustc: {error}"))?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// Version and folder of the package `name`.
fn package(metadata: &serde_json::Value, name: &str) -> Result<(String, PathBuf)> {
    let found = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == name)
        .ok_or_else(|| format!("Cargo.lock has no package {name}"))?;
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    let manifest = PathBuf::from(text("manifest_path"));
    let folder = manifest
        .parent()
        .ok_or_else(|| format!("cargo metadata names no folder for {name}"))?;
    Ok((text("version"), folder.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_left_out_by_prefix_and_the_needed_one_among_them_is_kept() {
        let list = "db/c.cc\nutil/crc32c.cc\nutil/crc32c_arm64.cc\nutilities/ttl/db_ttl_impl.cc\n\
                    utilities/transactions/snapshot_checker.cc\nutilities/transactions/transaction_base.cc\n\
                    utilities/checkpoint/checkpoint_impl.cc\n\n";
        assert_eq!(
            compiled(list),
            [
                "rocksdb/db/c.cc",
                "rocksdb/util/crc32c_arm64.cc",
                "rocksdb/utilities/transactions/snapshot_checker.cc",
                "rocksdb/utilities/checkpoint/checkpoint_impl.cc",
            ]
        );
    }

    #[test]
    fn a_package_is_found_by_its_name() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "version": "1.0.0", "manifest_path": "/packages/a/Cargo.toml"},
        ]});
        assert_eq!(
            package(&metadata, "a"),
            Ok(("1.0.0".to_owned(), PathBuf::from("/packages/a")))
        );
        assert_eq!(
            package(&metadata, "b"),
            Err("Cargo.lock has no package b".to_owned())
        );
    }
}
