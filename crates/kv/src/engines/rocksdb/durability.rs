//! What the run that wrote the logs had promised, kept beside the data: after a loss of power it says which writes had to survive.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::engine::EngineError;

/// Holds the word of a durability, in the folder of the store.
const FILE: &str = "DURABILITY";
/// The same while it is written.
const NEW_FILE: &str = "DURABILITY.new";

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Durability {
    /// Once the disk has it.
    Sync,
    /// Once the operating system has it.
    Relaxed,
}

impl Durability {
    pub fn new(relaxed: bool) -> Durability {
        if relaxed {
            Durability::Relaxed
        } else {
            Durability::Sync
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Durability::Sync => "sync\n",
            Durability::Relaxed => "relaxed\n",
        }
    }

    /// What the last run had promised; none in a store that is new. A word that cannot be understood promises the most, so that
    /// nothing is dropped because of it.
    pub fn stored(store: &Path) -> Result<Option<Durability>, EngineError> {
        let path = store.join(FILE);
        match std::fs::read(&path) {
            Ok(word) => Ok(Some(Durability::new(
                word == Durability::Relaxed.word().as_bytes(),
            ))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(EngineError::Io(format!("{}: {error}", path.display()))),
        }
    }

    /// Keeps what this run promises, durably. To be called when the logs of earlier runs are no longer needed, and before the
    /// first write.
    pub fn store(self, store: &Path) -> Result<(), EngineError> {
        let write = || {
            let new = store.join(NEW_FILE);
            let mut file = File::create(&new)?;
            file.write_all(self.word().as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&new, store.join(FILE))?;
            File::open(store)?.sync_all()
        };
        write().map_err(|error: std::io::Error| match error.kind() {
            ErrorKind::StorageFull => {
                EngineError::NoSpace(format!("{}: {error}", store.join(FILE).display()))
            }
            _ => EngineError::Io(format!("{}: {error}", store.join(FILE).display())),
        })
    }
}
