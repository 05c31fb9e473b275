//! A disk that fails when it is told to: a library, loaded before the C library, answers in place of some system calls.

use std::path::PathBuf;
use std::process::Command;

use super::{Server, program};

/// What may fail. The library looks for these words in a file before every call.
#[derive(Clone, Copy, Debug)]
pub enum DiskFault {
    /// Syncs fail with EIO.
    Sync,
    /// Writes and reservations fail with ENOSPC, and from the first one on nothing is free.
    Space,
    /// The file system says that nothing is free; what is written all the same succeeds.
    Room,
    /// Writes and reservations fail with EDQUOT.
    Quota,
    /// No file can be opened: EMFILE.
    Files,
}

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int told(const char *word) {
    const char *path = getenv("FAULTY_DISK");
    char text[64];
    int saved = errno, fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY) : -1;
    if (fd < 0) { errno = saved; return 0; }
    ssize_t n = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    errno = saved;
    text[n > 0 ? n : 0] = 0;
    return strstr(text, word) != 0;
}
static int within(const char *path) {
    return strstr(path, "/store/rocksdb") != 0;
}
static int stored(int fd) {
    char link[64], path[512];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = saved;
    path[n > 0 ? n : 0] = 0;
    return within(path);
}
/* As when others fill the disk: whoever asks finds out only when a write has failed. */
static volatile int met;
#define FAIL(number) do { errno = number; return -1; } while (0)

int fsync(int fd) { if (told("sync") && stored(fd)) FAIL(EIO); return syscall(SYS_fsync, fd); }
int fdatasync(int fd) { if (told("sync") && stored(fd)) FAIL(EIO); return syscall(SYS_fdatasync, fd); }
#define FAIL_WRITE(fd) do { \
    if (told("space") && stored(fd)) { met = 1; FAIL(ENOSPC); } \
    if (told("quota") && stored(fd)) FAIL(EDQUOT); \
} while (0)
ssize_t write(int fd, const void *data, size_t n) {
    FAIL_WRITE(fd);
    return syscall(SYS_write, fd, data, n);
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    FAIL_WRITE(fd);
    return syscall(SYS_pwrite64, fd, data, n, at);
}
ssize_t pwrite64(int fd, const void *data, size_t n, off_t at) { return pwrite(fd, data, n, at); }
int fallocate(int fd, int mode, off_t at, off_t n) {
    FAIL_WRITE(fd);
    return syscall(SYS_fallocate, fd, mode, at, n);
}
#define OPEN(name) int name(const char *path, int flags, ...) { \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    if (told("files") && within(path)) FAIL(EMFILE); \
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode); \
}
OPEN(open)
OPEN(open64)
static int room(const char *name, const char *path, struct statvfs *out) {
    int (*real)(const char *, struct statvfs *) = dlsym(RTLD_NEXT, name);
    int answer = real(path, out);
    int none = told("room") || (told("space") && met);
    if (answer == 0 && none && within(path)) out->f_bavail = out->f_bfree = 0;
    return answer;
}
int statvfs(const char *path, struct statvfs *out) { return room("statvfs", path, out); }
int statvfs64(const char *path, struct statvfs64 *out) { return room("statvfs64", path, (struct statvfs *)out); }
"#;

/// The library and the file that tells it what to do.
pub struct FaultyDisk {
    folder: tempfile::TempDir,
}

impl FaultyDisk {
    pub fn new() -> FaultyDisk {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("faulty_disk.c");
        std::fs::write(&source, SOURCE).unwrap();
        let made = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(folder.path().join("faulty_disk.so"))
            .arg(source)
            .arg("-ldl")
            .status()
            .unwrap();
        assert!(made.success());
        FaultyDisk { folder }
    }

    fn control(&self) -> PathBuf {
        self.folder.path().join("faults")
    }

    /// From now on this fails.
    pub fn fail(&self, fault: DiskFault) {
        let word = match fault {
            DiskFault::Sync => "sync",
            DiskFault::Space => "space",
            DiskFault::Room => "room",
            DiskFault::Quota => "quota",
            DiskFault::Files => "files",
        };
        // Renamed into place, so that it is never read half written.
        let new = self.folder.path().join("new");
        std::fs::write(&new, word).unwrap();
        std::fs::rename(new, self.control()).unwrap();
    }

    /// From now on nothing fails.
    pub fn heal(&self) {
        std::fs::remove_file(self.control()).unwrap();
    }

    /// Starts a server on this disk.
    pub fn start(&self, args: &[&str]) -> Server {
        let mut command = program();
        command
            .env("LD_PRELOAD", self.folder.path().join("faulty_disk.so"))
            .env("FAULTY_DISK", self.control())
            .args(["--log-level", "off"]);
        Server::start_by(command, args)
    }
}
