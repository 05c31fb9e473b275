//! What the system tells of the machine and of this process. Where it tells nothing, nothing is said.

use std::fs;

/// The size of a page where the system counts in pages.
const PAGE_BYTES: u64 = 4096;

/// Bytes of memory that the machine has.
pub(crate) fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024))
}

/// Bytes of memory that this process has in use, and that it may address.
pub(crate) fn own_memory() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_whitespace().map(str::parse::<u64>);
    let all = pages.next()?.ok()?;
    let resident = pages.next()?.ok()?;
    Some((
        resident.saturating_mul(PAGE_BYTES),
        all.saturating_mul(PAGE_BYTES),
    ))
}

/// What the system calls itself.
pub(crate) fn system_name() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// The release of its kernel.
pub(crate) fn kernel() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(format!("Kernel {}", text.trim()))
}
