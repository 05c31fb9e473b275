//! What the disk itself can do: without it a figure for durable creates says nothing.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::item::ITEM_BYTES;

/// Long enough for a mean, short enough not to be waited for.
const PROBE: Duration = Duration::from_millis(500);

/// Appends of one item, each synced, per second: the most a server without group commit could reach.
pub fn syncs_per_second(dir: &Path) -> Result<f64> {
    let path = dir.join("probe");
    let mut file =
        File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let block = [b'x'; ITEM_BYTES];
    let mut count = 0u32;
    #[expect(
        clippy::disallowed_methods,
        reason = "durations are what a bench is for"
    )]
    let began = Instant::now();
    while began.elapsed() < PROBE {
        file.write_all(&block)?;
        file.sync_data()?;
        count += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    Ok(f64::from(count) / seconds)
}
