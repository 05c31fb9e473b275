//! How much memory there is: the machine's, or what the control group of this process may use, if that is less.

use std::path::{Path, PathBuf};

/// One in so many bytes of memory is for requests; the rest is the store's cache, the system's, and room for what is not counted.
const REQUESTS_SHARE: u64 = 4;
/// The memory of requests where nobody says how much there is, and at least, in MiB.
const UNKNOWN_MIB: u64 = 1024;
const LEAST_MIB: u64 = 64;

/// Memory that all requests together may hold unless something else is said, in MiB.
pub fn default_mib() -> u64 {
    let bytes = total(Path::new("/proc"), Path::new("/sys/fs/cgroup"));
    let mib = bytes.map(|bytes| bytes / REQUESTS_SHARE / (1 << 20));
    mib.unwrap_or(UNKNOWN_MIB).max(LEAST_MIB)
}

/// The least of what limits this process, in bytes.
fn total(proc: &Path, cgroup: &Path) -> Option<u64> {
    let machine = of_machine(&read(&proc.join("meminfo"))?);
    let groups = read(&proc.join("self/cgroup")).unwrap_or_default();
    groups
        .lines()
        .filter_map(|line| of_group(line, cgroup))
        .chain(machine)
        .min()
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// `MemTotal:       24683520 kB`.
fn of_machine(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The least limit of a group and those around it. The line is `hierarchy:controllers:/path`; version 2 has no controllers.
fn of_group(line: &str, cgroup: &Path) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (root, file) = match controllers {
        "" => (cgroup.to_path_buf(), "memory.max"),
        list if list.split(',').any(|name| name == "memory") => {
            (cgroup.join("memory"), "memory.limit_in_bytes")
        }
        _ => return None,
    };
    // Inside a container the path may be that of the machine outside, which is not there: the root then is the container's own group.
    let mut group: PathBuf = root.join(path.trim_start_matches('/'));
    let mut least = None;
    loop {
        // Version 2 says `max` where there is no limit; version 1 a number larger than any memory.
        let limit = read(&group.join(file)).and_then(|text| text.trim().parse::<u64>().ok());
        least = least.into_iter().chain(limit).min();
        if group == root || !group.pop() {
            return least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "MemTotal:       8388608 kB\nMemFree:        1 kB\n";

    /// What is found with these files, below `proc` and below `cgroup`.
    fn found(groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        let folder = tempfile::tempdir().unwrap();
        let (proc, cgroup) = (folder.path().join("proc"), folder.path().join("cgroup"));
        let write = |path: PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(proc.join("meminfo"), MACHINE);
        write(proc.join("self/cgroup"), groups);
        for (path, text) in files {
            write(cgroup.join(path), text);
        }
        total(&proc, &cgroup)
    }

    #[test]
    fn the_least_limit_counts() {
        const GIB: u64 = 1 << 30;
        let machine = Some(8 * GIB);
        let two = "2147483648\n";
        let four = "4294967296\n";
        for (groups, files, expected) in [
            ("", &[][..], machine),
            ("0::/\n", &[], machine),
            ("0::/a/b\n", &[("a/b/memory.max", "max\n")], machine),
            ("0::/a/b\n", &[("a/b/memory.max", two)], Some(2 * GIB)),
            (
                "0::/a/b\n",
                &[("a/b/memory.max", four), ("a/memory.max", two)],
                Some(2 * GIB),
            ),
            // In a container whose path is that of the machine outside.
            ("0::/docker/1\n", &[("memory.max", two)], Some(2 * GIB)),
            (
                "5:cpu,memory:/a\n4:pids:/a\n",
                &[("memory/a/memory.limit_in_bytes", two)],
                Some(2 * GIB),
            ),
            (
                "5:memory:/a\n",
                &[("memory/a/memory.limit_in_bytes", "9223372036854771712\n")],
                machine,
            ),
            ("0::/a\n", &[("a/memory.max", "nonsense")], machine),
        ] {
            assert_eq!(found(groups, files), expected, "{groups}{files:?}");
        }
        assert_eq!(total(Path::new("/nowhere"), Path::new("/nowhere")), None);
        assert!(default_mib() >= LEAST_MIB);
    }
}
