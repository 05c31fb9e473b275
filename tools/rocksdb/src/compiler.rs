//! The C++ compiler of this machine, and how it is called.

use std::path::Path;
use std::process::{Command, Output};

use crate::Result;
use crate::sources::Sources;

/// What `librocksdb-sys` defines on Linux for the features the workspace asks of it, so that library and bindings agree.
const DEFINES: &[&str] = &[
    "-DHAVE_ALIGNED_NEW",
    "-DHAVE_UINT128_EXTENSION",
    "-DLZ4=1",
    "-DNDEBUG=1",
    "-DOS_LINUX",
    "-DROCKSDB_AUXV_GETAUXVAL_PRESENT",
    "-DROCKSDB_FALLOCATE_PRESENT",
    "-DROCKSDB_LIB_IO_POSIX",
    "-DROCKSDB_PLATFORM_POSIX",
    "-DROCKSDB_RANGESYNC_PRESENT",
    "-DROCKSDB_SCHED_GETCPU_PRESENT",
    "-DZSTD=1",
];

/// Sections per function let the linker drop what the server never calls. Warnings are RocksDB's own affair.
const FLAGS: &[&str] = &[
    "-std=c++20",
    "-O2",
    "-fPIC",
    "-ffunction-sections",
    "-fdata-sections",
    "-w",
    "-include",
    "cstdint",
];

/// ARM has its checksum instructions behind a flag; RocksDB asks the processor for them at run time.
const AARCH64_FLAGS: &[&str] = &["-march=armv8-a+crc+aes+crypto"];

/// A compiler that answers.
pub struct Compiler {
    program: String,
    /// What comes first on its command line, where `CXX` is something like `ccache g++`.
    first_arguments: Vec<String>,
    /// What it says about itself: name, version and target.
    pub identity: String,
    /// From the environment variable `CXXFLAGS`.
    user_flags: Vec<String>,
}

impl Compiler {
    /// `$CXX`, else `c++`.
    pub fn find() -> Result<Self> {
        let named = std::env::var("CXX").unwrap_or_default();
        let mut words = named.split_whitespace().map(str::to_owned);
        let program = words.next().unwrap_or_else(|| "c++".to_owned());
        let first_arguments = words.collect();
        let user_flags = std::env::var("CXXFLAGS").unwrap_or_default();
        let user_flags = user_flags.split_whitespace().map(str::to_owned).collect();
        let mut compiler = Self {
            program,
            first_arguments,
            identity: String::new(),
            user_flags,
        };
        let version = compiler.ask("--version")?;
        let target = compiler.ask("-dumpmachine")?;
        compiler.identity = format!(
            "{} for {target}",
            version.lines().next().unwrap_or_default()
        );
        Ok(compiler)
    }

    /// Every flag but the folders and files, as the cache's key has them.
    pub fn flags(&self) -> Vec<String> {
        let arch: &[&str] = if cfg!(target_arch = "aarch64") {
            AARCH64_FLAGS
        } else {
            &[]
        };
        let ours = [FLAGS, arch, DEFINES].concat();
        ours.into_iter()
            .map(str::to_owned)
            .chain(self.user_flags.iter().cloned())
            .collect()
    }

    /// Compiles one translation unit.
    pub fn compile(&self, sources: &Sources, unit: &Path, object: &Path) -> Result<Output> {
        let mut command = self.command();
        command.args(self.flags());
        for folder in &sources.include_folders {
            command.arg("-I").arg(folder);
        }
        command.arg("-c").arg(unit).arg("-o").arg(object);
        self.run(&mut command)
    }

    /// Links a program of one translation unit with the library; what nothing calls is dropped, and with it what that would need.
    pub fn link(&self, object: &Path, library: &Path, program: &Path) -> Result<Output> {
        let mut command = self.command();
        command
            .arg(object)
            .arg(library)
            .args(["-Wl,--gc-sections", "-pthread", "-o"])
            .arg(program);
        self.run(&mut command)
    }

    fn ask(&self, question: &str) -> Result<String> {
        let output = self.run(self.command().arg(question))?;
        if !output.status.success() {
            return Err(format!(
                "`{} {question}` fails: is it a C++ compiler?",
                self.program
            ));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.first_arguments);
        command
    }

    fn run(&self, command: &mut Command) -> Result<Output> {
        command.output().map_err(|error| {
            let program = &self.program;
            format!("cannot start the C++ compiler `{program}` ({error}): install one that knows C++20, such as Debian's g++, or name it in CXX")
        })
    }
}
