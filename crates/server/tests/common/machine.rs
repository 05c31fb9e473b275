//! A machine whose wall clock a test sets: libfaketime around the real server. The monotonic clock stays the true one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;

use super::{Reply, Server, output, program};

/// Where Debian's package `faketime` and others put the library.
const FAKETIME: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// Says of the kernel's clock what a test wants, because some machines are synchronised and some are not.
const ADJTIMEX: &str = "#include <sys/timex.h>\n\
    int adjtimex(struct timex *t) { t->status = STATUS; return ANSWER; }\n";

/// How often a test looks whether what it waits for has happened.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How often it looks before it gives up: for a minute at least.
const LOOKS_MAX: usize = 1200;

/// A machine with one disk and, most of the time, one server.
pub struct Machine {
    /// Before the folder, so that it is ended before its files are deleted.
    server: Option<Server>,
    folder: TempDir,
    kernel: PathBuf,
    wall: i64,
    zone: String,
}

impl Machine {
    /// A machine whose wall shows the true time and whose kernel does not call it synchronised.
    pub fn new() -> Machine {
        Machine::with_kernel("-DSTATUS=STA_UNSYNC -DANSWER=TIME_ERROR")
    }

    /// A machine whose kernel says that its clock is synchronised.
    pub fn synchronised() -> Machine {
        Machine::with_kernel("-DSTATUS=0 -DANSWER=TIME_OK")
    }

    fn with_kernel(defines: &str) -> Machine {
        let folder = TempDir::new().unwrap();
        let (source, kernel) = (folder.path().join("k.c"), folder.path().join("k.so"));
        fs::write(&source, ADJTIMEX).unwrap();
        let made = Command::new("cc")
            .args(defines.split(' '))
            .args(["-shared", "-fPIC", "-o"])
            .args([&kernel, &source])
            .status();
        assert!(
            made.is_ok_and(|status| status.success()),
            "this test needs a C compiler: install the Debian package build-essential"
        );
        let mut machine = Machine {
            server: None,
            folder,
            kernel,
            wall: 0,
            zone: "UTC".to_owned(),
        };
        machine.set_wall(0);
        machine
    }

    /// Sets the wall clock so many seconds ahead of the true time, or behind it.
    pub fn set_wall(&mut self, seconds: i64) {
        let (new, file) = (self.folder.path().join("new"), self.file());
        fs::write(&new, format!("{seconds:+}\n")).unwrap();
        // Renamed, so that no reader finds half of it.
        fs::rename(new, file).unwrap();
        self.wall = seconds;
    }

    /// Sets the time zone of servers started from now on.
    pub fn set_zone(&mut self, zone: &str) {
        zone.clone_into(&mut self.zone);
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("wall")
    }

    /// The program on this machine.
    fn command(&self) -> Command {
        let faketime = FAKETIME.into_iter().find(|path| Path::new(path).exists());
        let faketime =
            faketime.expect("this test needs libfaketime: install the Debian package faketime");
        let mut command = program();
        command
            .env(
                "LD_PRELOAD",
                format!("{faketime}:{}", self.kernel.display()),
            )
            .env("FAKETIME_TIMESTAMP_FILE", self.file())
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env_remove("FAKETIME")
            .env("TZ", &self.zone)
            .arg("--data-path")
            .arg(self.folder.path().join("data"))
            .args(["--purge-grace", "0", "--log-level", "info"]);
        command
    }

    /// Starts the server; what it logs can be asked for.
    pub fn start(&mut self, args: &[&str]) {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"));
        let mut command = self.command();
        command.stderr(log.unwrap());
        self.server = Some(Server::start_by(command, args));
    }

    /// Starts a server that is expected to refuse.
    pub fn refused(&self, args: &[&str]) -> Output {
        let mut command = self.command();
        command.args(["--port", "0", "--mongo-port", "off"]);
        command.args(args);
        output(command)
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("the server is started")
    }

    /// Ends the server as an operator would.
    pub fn stop(&mut self) {
        let server = self.server.take().expect("the server is started");
        server.signal("TERM");
        assert!(server.wait().0.success());
    }

    /// Ends the server as a power cut would.
    pub fn kill(&mut self) {
        self.server.take().expect("the server is started").kill();
    }

    /// How many lines of the log say this.
    pub fn logged(&self, text: &str) -> usize {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        log.lines().filter(|line| line.contains(text)).count()
    }

    /// Calls the NoSQL door with a date of this machine's wall.
    pub fn cosmos(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        let server = self.server();
        server.cosmos_after(self.wall, method, path, headers, body)
    }
}

/// Waits until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..LOOKS_MAX {
        if is_so() {
            return;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    panic!("not within a minute: {what}");
}
