//! Compiles the batches, a few at a time, and makes the library of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::Result;
use crate::batches::{Batch, SourceFile};
use crate::compiler::Compiler;
use crate::sources::Sources;

/// The name by which `librocksdb-sys` has the library linked.
pub const LIBRARY: &str = "librocksdb.a";

/// How much of what a compiler complains of is shown.
const COMPLAINT_LINES_MAX: usize = 12;

/// Makes `scratch/librocksdb.a`; objects and units stay in `scratch/objects`, for the caller to remove.
pub fn archive(
    sources: &Sources,
    compiler: &Compiler,
    batches: &[Batch],
    scratch: &Path,
) -> Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "only a duration is measured, for the person who waits"
    )]
    let began = Instant::now();
    let files: usize = batches.iter().map(|batch| batch.files.len()).sum();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    eprintln!(
        "rocksdb: compiling {} once for this machine: {files} files in {} batches, {processors} at a time; about 3 minutes on two cores",
        sources.version,
        batches.len()
    );
    let work = Work {
        sources,
        compiler,
        folder: scratch.join("objects"),
        queue: largest_first(batches),
        next: AtomicUsize::new(0),
        done: Mutex::new(Done::default()),
    };
    make_folder(&work.folder)?;
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| work.run(|| began.elapsed().as_secs()));
        }
    });
    let done = work
        .done
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(failure) = done.failure {
        return Err(failure);
    }
    let library = scratch.join(LIBRARY);
    collect(&done.objects, &library)?;
    check_symbols(&library)?;
    check_checksums(sources, compiler, &work.folder, &library)?;
    eprintln!("rocksdb: done after {} seconds", began.elapsed().as_secs());
    Ok(())
}

/// What the threads share.
struct Work<'a> {
    sources: &'a Sources,
    compiler: &'a Compiler,
    folder: PathBuf,
    queue: Vec<&'a Batch>,
    next: AtomicUsize,
    done: Mutex<Done>,
}

#[derive(Default)]
struct Done {
    batches: usize,
    objects: BTreeSet<PathBuf>,
    failure: Option<String>,
}

impl Work<'_> {
    /// Takes batches from the queue until it is empty or one has failed.
    fn run(&self, seconds: impl Fn() -> u64) {
        while let Some(batch) = self.queue.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let result = self.batch(batch);
            let mut done = self
                .done
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            match result {
                Ok(objects) => {
                    done.objects.extend(objects);
                    done.batches += 1;
                    eprintln!(
                        "rocksdb: batch {} of {} ({} s)",
                        done.batches,
                        self.queue.len(),
                        seconds()
                    );
                }
                Err(failure) => {
                    done.failure.get_or_insert(failure);
                }
            }
            if done.failure.is_some() {
                return;
            }
        }
    }

    /// The batch as one unit. Where its files do not go together (another compiler, another version), each by itself.
    fn batch(&self, batch: &Batch) -> Result<Vec<PathBuf>> {
        let (object, output) = self.unit(&batch.name, &batch.files)?;
        if output.status.success() {
            return Ok(vec![object]);
        }
        if batch.files.len() > 1 {
            eprintln!(
                "rocksdb: {} does not compile as one unit; compiling its {} files one by one",
                batch.name,
                batch.files.len()
            );
        }
        let mut objects = Vec::new();
        for (index, file) in batch.files.iter().enumerate() {
            let name = format!("{}_{index:03}", batch.name);
            let (object, output) = self.unit(&name, std::slice::from_ref(file))?;
            if !output.status.success() {
                return Err(format!(
                    "cannot compile {}:\n{}",
                    file.path.display(),
                    complaint(&output)
                ));
            }
            objects.push(object);
        }
        Ok(objects)
    }

    fn unit(&self, name: &str, files: &[SourceFile]) -> Result<(PathBuf, Output)> {
        let unit = self.folder.join(format!("{name}.cc"));
        let object = self.folder.join(format!("{name}.o"));
        let text: String = files
            .iter()
            .map(|file| format!("#include \"{}\"\n", file.path.display()))
            .collect();
        std::fs::write(&unit, text)
            .map_err(|error| format!("cannot write {}: {error}", unit.display()))?;
        let output = self.compiler.compile(self.sources, &unit, &object)?;
        Ok((object, output))
    }
}

/// So that no long one is started last, when the other processors have nothing left.
fn largest_first(batches: &[Batch]) -> Vec<&Batch> {
    let mut queue: Vec<&Batch> = batches.iter().collect();
    queue.sort_by_key(|batch| std::cmp::Reverse(batch.bytes()));
    queue
}

fn collect(objects: &BTreeSet<PathBuf>, library: &Path) -> Result<()> {
    let ar = std::env::var_os("AR").unwrap_or("ar".into());
    // `D`: neither times nor owners, so that the same objects give the same library.
    run(
        "ar",
        Command::new(ar).arg("crsD").arg(library).args(objects),
    )
    .map(drop)
}

/// Every function of RocksDB that something in the library refers to must be in it: else `LEFT_OUT` has too much.
fn check_symbols(library: &Path) -> Result<()> {
    let output = run("nm", Command::new("nm").arg("-P").arg(library))?;
    let listing = String::from_utf8_lossy(&output.stdout);
    let missing = missing_symbols(&listing);
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the library lacks what it refers to; src/sources.rs leaves out too much: {}",
        missing.join(" ")
    ))
}

/// Symbols of RocksDB that are used and nowhere defined, in what `nm -P` prints: a name and a kind per line. Weak ones may be missing.
fn missing_symbols(listing: &str) -> Vec<&str> {
    let mut defined = BTreeSet::new();
    let mut used = BTreeSet::new();
    for line in listing.lines() {
        let mut parts = line.split(' ');
        let (Some(symbol), Some(kind)) = (parts.next(), parts.next()) else {
            continue;
        };
        match kind {
            "U" if symbol.contains("7rocksdb") => used.insert(symbol),
            "U" | "w" | "v" => false,
            _ => defined.insert(symbol),
        };
    }
    used.difference(&defined).copied().collect()
}

fn check_checksums(
    sources: &Sources,
    compiler: &Compiler,
    folder: &Path,
    library: &Path,
) -> Result<()> {
    let Some(source) = sources
        .own_files
        .first()
        .map(|file| file.with_file_name("check.cc"))
    else {
        return Ok(());
    };
    let object = folder.join("check.o");
    let program = folder.join("check");
    let failed = |output: &Output| {
        format!(
            "the check of the library does not build:\n{}",
            complaint(output)
        )
    };
    let compiled = compiler.compile(sources, &source, &object)?;
    if !compiled.status.success() {
        return Err(failed(&compiled));
    }
    let linked = compiler.link(&object, library, &program)?;
    if !linked.status.success() {
        return Err(failed(&linked));
    }
    run("check", &mut Command::new(&program)).map(drop)
}

fn run(name: &str, command: &mut Command) -> Result<Output> {
    let output = command
        .output()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{name} failed: {}", complaint(&output)))
}

/// The first lines of what a program printed.
fn complaint(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines()
        .take(COMPLAINT_LINES_MAX)
        .collect::<Vec<_>>()
        .join("\n")
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_symbol_that_no_object_defines_is_missing() {
        let listing = "library.a[one.o]:\n_ZN7rocksdb2DB4OpenEv U\n_ZN7rocksdb3Env3GetEv U\n_ZTHN7rocksdb5levelE w\nmalloc U\n\n\
                       library.a[two.o]:\n_ZN7rocksdb2DB4OpenEv T 0 10\n_ZN7rocksdb3Env3GetEv U\n";
        assert_eq!(missing_symbols(listing), ["_ZN7rocksdb3Env3GetEv"]);
    }
}
