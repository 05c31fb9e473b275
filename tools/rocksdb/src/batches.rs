//! Which files are compiled together.
//!
//! Most of the time of a C++ file goes into the headers it includes and the templates it instantiates. Files compiled as one translation unit
//! pay that once: measured on two cores, 342 files one by one took 34 minutes of CPU, the same in batches 6.

use std::path::PathBuf;

use crate::Result;
use crate::sources::Sources;

/// Bytes of source in one batch. Larger ones save little more, need more memory (this size: 1.2 GB), and leave processors idle at the end.
const BATCH_BYTES_MAX: u64 = 600 << 10;

/// Files that are compiled as one translation unit.
pub struct Batch {
    /// The name of its object file, without the ending.
    pub name: String,
    pub files: Vec<SourceFile>,
}

/// One file of RocksDB, or of ours.
pub struct SourceFile {
    pub path: PathBuf,
    pub bytes: u64,
}

impl Batch {
    /// How much there is to compile.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// The files in the order of RocksDB's list, which groups them by folder, cut into batches; then each of ours by itself.
pub fn plan(sources: &Sources) -> Result<Vec<Batch>> {
    let theirs = sources
        .files
        .iter()
        .map(|file| sources.crate_folder.join(file));
    let mut groups = cut(measured(theirs)?);
    let ours = measured(sources.own_files.iter().cloned())?;
    groups.extend(ours.into_iter().map(|file| vec![file]));
    let named = groups.into_iter().enumerate();
    Ok(named
        .map(|(index, files)| Batch {
            name: format!("batch{index:02}"),
            files,
        })
        .collect())
}

fn measured(paths: impl Iterator<Item = PathBuf>) -> Result<Vec<SourceFile>> {
    paths
        .map(|path| match std::fs::metadata(&path) {
            Ok(metadata) => Ok(SourceFile {
                bytes: metadata.len(),
                path,
            }),
            Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        })
        .collect()
}

fn cut(files: Vec<SourceFile>) -> Vec<Vec<SourceFile>> {
    let mut groups: Vec<Vec<SourceFile>> = Vec::new();
    let mut bytes = 0;
    for file in files {
        match groups.last_mut() {
            Some(group) if bytes + file.bytes <= BATCH_BYTES_MAX => {
                bytes += file.bytes;
                group.push(file);
            }
            Some(_) | None => {
                bytes = file.bytes;
                groups.push(vec![file]);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_every_file_once_in_order_and_no_more_than_the_limit() {
        let sizes = [
            1,
            BATCH_BYTES_MAX,
            BATCH_BYTES_MAX - 1,
            1,
            1,
            BATCH_BYTES_MAX + 1,
            2,
        ];
        let files = sizes.map(|bytes| SourceFile {
            path: PathBuf::from("a.cc"),
            bytes,
        });
        let groups: Vec<Vec<u64>> = cut(files.into())
            .iter()
            .map(|group| group.iter().map(|file| file.bytes).collect())
            .collect();
        let max = BATCH_BYTES_MAX;
        assert_eq!(
            groups,
            [
                vec![1],
                vec![max],
                vec![max - 1, 1],
                vec![1],
                vec![max + 1],
                vec![2]
            ]
        );
    }
}
