//! Where the library is kept, under which name, and who may write it.
//!
//! A folder is named after everything the library depends on, so that another version, flag or compiler is another folder and a change is never
//! hidden. It appears by a rename when it is whole. One process builds at a time; others wait and say for whom.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Result;
use crate::batches::Batch;
use crate::compile::LIBRARY;
use crate::compiler::Compiler;
use crate::sources::Sources;

/// Lies beside the library and says what it was made from.
const MANIFEST: &str = "made-from.txt";

/// Everything the library depends on.
pub struct Key {
    version: String,
    text: String,
}

impl Key {
    /// Reads every source and header once: a patched one gives another key too.
    pub fn of(sources: &Sources, compiler: &Compiler, batches: &[Batch]) -> Result<Self> {
        let mut hash = Hash::new();
        for folder in sources.include_folders.iter() {
            hash_headers(folder, &mut hash)?;
        }
        for file in batches.iter().flat_map(|batch| &batch.files) {
            hash_file(&file.path, &mut hash)?;
        }
        let units: Vec<String> = batches
            .iter()
            .map(|batch| batch.files.len().to_string())
            .collect();
        let text = format!(
            "librocksdb-sys {}\ncompiler {}\nflags {}\nfiles by batch {}\ncontent {:016x}\n",
            sources.version,
            compiler.identity,
            compiler.flags().join(" "),
            units.join(" "),
            hash.0
        );
        Ok(Self {
            version: sources.version.clone(),
            text,
        })
    }

    /// The name of the folder: the version for people, the hash for the rest.
    fn folder_name(&self) -> String {
        let mut hash = Hash::new();
        hash.add(self.text.as_bytes());
        format!("{}-{:016x}", self.version, hash.0)
    }

    fn manifest(&self, library_bytes: u64) -> String {
        format!("{}library {library_bytes} bytes\n", self.text)
    }
}

/// The folder with the library for `key`; `build` makes it, in a folder that is moved there when it is whole.
pub fn folder(
    cache: &Path,
    key: &Key,
    clone: &Path,
    build: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let home = cache.join("rocksdb");
    let name = key.folder_name();
    let folder = home.join(&name);
    if is_whole(&folder, key) {
        return Ok(folder);
    }
    std::fs::create_dir_all(&home)
        .map_err(|error| format!("cannot make {}: {error}", home.display()))?;
    let _lock = lock(&home.join(format!("{name}.lock")), clone)?;
    // Another process may have made it meanwhile.
    if is_whole(&folder, key) {
        return Ok(folder);
    }
    remove_parts(&home, &name)?;
    // With the process in its name: compilers that outlive a killed one write elsewhere.
    let scratch = home.join(format!("{name}.part{}", std::process::id()));
    std::fs::create_dir_all(&scratch)
        .map_err(|error| format!("cannot make {}: {error}", scratch.display()))?;
    build(&scratch)?;
    remove(&scratch.join("objects"))?;
    seal(&scratch, key).map_err(|error| format!("cannot write {}: {error}", scratch.display()))?;
    remove(&folder)?;
    std::fs::rename(&scratch, &folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder)
}

/// The manifest comes last and has the library's size: without it, or with another, the folder counts for nothing.
fn is_whole(folder: &Path, key: &Key) -> bool {
    let Ok(library) = std::fs::metadata(folder.join(LIBRARY)) else {
        return false;
    };
    std::fs::read_to_string(folder.join(MANIFEST))
        .is_ok_and(|text| text == key.manifest(library.len()))
}

fn seal(folder: &Path, key: &Key) -> std::io::Result<()> {
    // On the disk before the rename is: a power cut must not leave a whole name on half a library.
    let library = File::open(folder.join(LIBRARY))?;
    library.sync_all()?;
    let mut manifest = File::create(folder.join(MANIFEST))?;
    manifest.write_all(key.manifest(library.metadata()?.len()).as_bytes())?;
    manifest.sync_all()
}

/// Held until the file is dropped, also when the process is killed.
fn lock(path: &Path, clone: &Path) -> Result<File> {
    let failed = |error: std::io::Error| format!("cannot lock {}: {error}", path.display());
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            file.read_to_string(&mut holder).map_err(failed)?;
            let holder = match holder.trim() {
                "" => "another process",
                holder => holder,
            };
            eprintln!("rocksdb: waiting for {holder}, which is compiling the same library");
            file.lock().map_err(failed)?;
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    file.set_len(0).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    writeln!(
        file,
        "process {} in {}",
        std::process::id(),
        clone.display()
    )
    .map_err(failed)?;
    Ok(file)
}

/// What earlier processes left of the same library when they were cut short.
fn remove_parts(home: &Path, name: &str) -> Result<()> {
    let entries = std::fs::read_dir(home)
        .map_err(|error| format!("cannot read {}: {error}", home.display()))?;
    let prefix = format!("{name}.part");
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", folder.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// FNV-1a, 64 bits: names a folder and notices a change; the manifest is compared whole.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn hash_file(path: &Path, hash: &mut Hash) -> Result<()> {
    let bytes =
        std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    // Between the name, the length and the content nothing can move unnoticed.
    hash.add(path.file_name().unwrap_or_default().as_encoded_bytes());
    hash.add(&bytes.len().to_le_bytes());
    hash.add(&bytes);
    Ok(())
}

/// Every header below `folder`, in the order of names.
fn hash_headers(folder: &Path, hash: &mut Hash) -> Result<()> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut entries = std::fs::read_dir(folder)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            hash_headers(&path, hash)?;
        } else if path.extension().is_some_and(|ending| ending == "h") {
            hash_file(&path, hash)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn key(text: &str) -> Key {
        Key {
            version: "1.0".to_owned(),
            text: format!("{text}\n"),
        }
    }

    /// Stands for the compiler: writes a library and counts how often it is asked to.
    fn build<'a>(
        times: &'a AtomicUsize,
        content: &'a str,
    ) -> impl FnOnce(&Path) -> Result<()> + 'a {
        move |scratch| {
            times.fetch_add(1, Ordering::SeqCst);
            std::fs::create_dir(scratch.join("objects")).unwrap();
            std::fs::write(scratch.join(LIBRARY), content).unwrap();
            Ok(())
        }
    }

    #[test]
    fn a_library_is_built_once_and_objects_are_not_kept() {
        let cache = tempfile::tempdir().unwrap();
        let times = AtomicUsize::new(0);
        let clone = Path::new("clone");
        let first = folder(cache.path(), &key("a"), clone, build(&times, "library")).unwrap();
        let second = folder(cache.path(), &key("a"), clone, build(&times, "other")).unwrap();
        assert_eq!(first, second);
        assert_eq!(times.load(Ordering::SeqCst), 1);
        assert!(!first.join("objects").exists());
        let manifest = std::fs::read_to_string(first.join(MANIFEST)).unwrap();
        assert_eq!(manifest, "a\nlibrary 7 bytes\n");
    }

    #[test]
    fn whatever_the_library_depends_on_gives_another_folder() {
        let cache = tempfile::tempdir().unwrap();
        let times = AtomicUsize::new(0);
        let of = |text: &str| {
            folder(
                cache.path(),
                &key(text),
                Path::new("clone"),
                build(&times, text),
            )
            .unwrap()
        };
        assert_ne!(of("flags -O2"), of("flags -O3"));
        assert_eq!(times.load(Ordering::SeqCst), 2);
        // The first is still there.
        assert_eq!(
            std::fs::read_to_string(of("flags -O2").join(LIBRARY)).unwrap(),
            "flags -O2"
        );
        assert_eq!(times.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn half_a_library_is_never_used() {
        let cache = tempfile::tempdir().unwrap();
        let clone = Path::new("clone");
        let failed = folder(cache.path(), &key("a"), clone, |scratch| {
            std::fs::write(scratch.join(LIBRARY), "lib").unwrap();
            Err("no space".to_owned())
        });
        assert_eq!(failed, Err("no space".to_owned()));
        let parts = || {
            let entries = std::fs::read_dir(cache.path().join("rocksdb")).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.contains(".part")).count()
        };
        assert_eq!(parts(), 1);
        let times = AtomicUsize::new(0);
        let whole = folder(cache.path(), &key("a"), clone, build(&times, "library")).unwrap();
        assert_eq!((times.load(Ordering::SeqCst), parts()), (1, 0));
        // Cut short, lost, or made from something else: each is built again.
        let damages: [&dyn Fn(); 3] = [
            &|| std::fs::write(whole.join(LIBRARY), "libr").unwrap(),
            &|| std::fs::remove_file(whole.join(MANIFEST)).unwrap(),
            &|| std::fs::write(whole.join(MANIFEST), "b\nlibrary 7 bytes\n").unwrap(),
        ];
        for (index, damage) in damages.iter().enumerate() {
            damage();
            folder(cache.path(), &key("a"), clone, build(&times, "library")).unwrap();
            assert_eq!(times.load(Ordering::SeqCst), index + 2);
            assert_eq!(
                std::fs::read_to_string(whole.join(LIBRARY)).unwrap(),
                "library"
            );
        }
    }

    #[test]
    fn two_builds_at_once_make_one_library() {
        let cache = tempfile::tempdir().unwrap();
        let times = AtomicUsize::new(0);
        let folders = std::thread::scope(|scope| {
            let make = || {
                folder(
                    cache.path(),
                    &key("a"),
                    Path::new("clone"),
                    build(&times, "library"),
                )
            };
            let threads = [scope.spawn(make), scope.spawn(make), scope.spawn(make)];
            threads.map(|thread| thread.join().unwrap().unwrap())
        });
        assert_eq!(times.load(Ordering::SeqCst), 1);
        assert!(folders.iter().all(|folder| folder == &folders[0]));
        let lock = format!("{}.lock", folders[0].display());
        let holder = std::fs::read_to_string(lock).unwrap();
        assert_eq!(holder, format!("process {} in clone\n", std::process::id()));
    }

    #[test]
    fn content_is_hashed_with_its_name_and_length() {
        let folder = tempfile::tempdir().unwrap();
        let hash = |files: &[(&str, &str)]| {
            let place = tempfile::tempdir_in(folder.path()).unwrap();
            for (name, content) in files {
                std::fs::write(place.path().join(name), content).unwrap();
            }
            let mut hash = Hash::new();
            hash_headers(place.path(), &mut hash).unwrap();
            hash.0
        };
        let one = hash(&[("a.h", "xy"), ("b.h", "")]);
        assert_eq!(
            one,
            hash(&[("b.h", ""), ("a.h", "xy"), ("c.txt", "no header")])
        );
        assert_ne!(one, hash(&[("a.h", "x"), ("b.h", "y")]));
        assert_ne!(one, hash(&[("a.h", "xz"), ("b.h", "")]));
        assert_ne!(one, hash(&[("a.h", "xy"), ("c.h", "")]));
    }
}
