//! How long a test may take. A test that hangs ends by itself, whatever runs it: `cargo test` has no time limit of its own.
//!
//! One thread per process looks after all limits, so that starting and dropping one costs less than a microsecond.

use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// A test that takes longer hangs. The slowest one kills a server many times, and takes a minute on a busy machine.
const TEST_SECONDS_MAX: u64 = 600;
/// The environment variable that sets another number of seconds: with `make soak`, tests run for hours on purpose.
const TEST_SECONDS_MAX_VARIABLE: &str = "LAPSEDB_TEST_SECONDS_MAX";

/// Ends the process, with one line that names the test, unless this is dropped in time.
#[must_use = "the limit ends when this is dropped"]
pub struct TimeLimit {
    number: u64,
}

/// A limit that has not been dropped.
struct Running {
    number: u64,
    deadline: Instant,
    /// Named after the test by libtest.
    thread: Thread,
    child: Option<u32>,
}

/// All limits of this process, in the order in which they were started.
struct Limits {
    last_number: u64,
    running: Vec<Running>,
}

static LIMITS: Mutex<Limits> = Mutex::new(Limits {
    last_number: 0,
    running: Vec::new(),
});
static WATCHDOG: Once = Once::new();

impl TimeLimit {
    /// Starts the limit of the test that runs on this thread.
    pub fn start() -> TimeLimit {
        WATCHDOG.call_once(|| {
            std::thread::Builder::new()
                .name("time limit".to_owned())
                .spawn(watch)
                .expect("a thread for the time limit");
        });
        let thread = std::thread::current();
        let mut limits = limits();
        limits.last_number += 1;
        let number = limits.last_number;
        limits.running.push(Running {
            number,
            deadline: now() + limit(),
            thread,
            child: None,
        });
        TimeLimit { number }
    }

    /// The child process that is ended too when the time is over: it would outlive this process otherwise.
    pub fn set_child(&self, child: Option<u32>) {
        let mut limits = limits();
        let running = &mut limits.running;
        if let Some(running) = running.iter_mut().find(|each| each.number == self.number) {
            running.child = child;
        }
    }
}

impl Drop for TimeLimit {
    fn drop(&mut self) {
        limits().running.retain(|each| each.number != self.number);
    }
}

/// Runs the future of a test on this thread, with a time limit.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    run_in(tokio::runtime::Builder::new_current_thread(), future)
}

/// The same, in a runtime with so many worker threads.
pub fn run_on_threads<T>(workers: usize, future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(workers);
    run_in(builder, future)
}

fn run_in<T>(mut builder: tokio::runtime::Builder, future: impl Future<Output = T>) -> T {
    let _limit = TimeLimit::start();
    let runtime = builder.enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

/// A test that panics while it holds the lock leaves the list as good as it was.
fn limits() -> MutexGuard<'static, Limits> {
    LIMITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same for all tests of a process.
fn limit() -> Duration {
    static LIMIT: OnceLock<Duration> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let seconds = match std::env::var(TEST_SECONDS_MAX_VARIABLE) {
            Ok(text) => match text.parse() {
                Ok(seconds) if seconds > 0 => seconds,
                _ => panic!("{TEST_SECONDS_MAX_VARIABLE} is a number of seconds, not {text:?}"),
            },
            Err(_) => TEST_SECONDS_MAX,
        };
        Duration::from_secs(seconds)
    })
}

#[allow(
    clippy::disallowed_methods,
    reason = "how long a test takes is no matter of TTL"
)]
fn now() -> Instant {
    Instant::now()
}

/// Sleeps until a limit can be over. All limits are equally long, so none that starts meanwhile ends sooner.
fn watch() {
    loop {
        let now = now();
        let next = {
            let limits = limits();
            match limits.running.first() {
                Some(first) if first.deadline <= now => end(&limits, first),
                Some(first) => first.deadline,
                None => now + limit(),
            }
        };
        std::thread::sleep(next - now);
    }
}

/// Ends this process and the children of its tests. Without destructors: one of them may be what hangs.
fn end(limits: &Limits, late: &Running) -> ! {
    for child in limits.running.iter().filter_map(|each| each.child) {
        let _ended = Command::new("kill")
            .args(["-KILL", &child.to_string()])
            .status();
    }
    let line = format!(
        "test {} took longer than {} s: {TEST_SECONDS_MAX_VARIABLE} sets another limit\n",
        late.thread.name().unwrap_or("(a thread without a name)"),
        limit().as_secs(),
    );
    // libtest captures what is printed by macros, and would lose it here.
    let _written = std::io::stderr().write_all(line.as_bytes());
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use std::process::Output;

    use super::*;

    /// Names the test that runs as a child process of another one.
    const CHILD: &str = "LAPSEDB_TESTKIT_CHILD";

    fn is_child(name: &str) -> bool {
        std::env::var(CHILD).is_ok_and(|child| child == name)
    }

    /// Runs one test of this program in a process of its own, with a limit of a second.
    fn child(name: &str) -> Output {
        let _limit = TimeLimit::start();
        // With one thread, libtest would run the test on the main thread, which does not have its name.
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("limit::tests::{name}")])
            .args(["--nocapture", "--test-threads=2"])
            .env(CHILD, name)
            .env(TEST_SECONDS_MAX_VARIABLE, "1")
            .output()
            .unwrap()
    }

    fn assert_ended(name: &str) {
        let output = child(name);
        let error = String::from_utf8_lossy(&output.stderr);
        let line = format!("test limit::tests::{name} took longer than 1 s");
        assert!(!output.status.success(), "{error}");
        assert!(error.lines().any(|each| each.starts_with(&line)), "{error}");
    }

    #[test]
    fn child_that_hangs() {
        if is_child("child_that_hangs") {
            run(std::future::pending::<()>());
        }
    }

    #[test]
    fn a_test_that_takes_too_long_is_named_and_ends_the_process() {
        assert_ended("child_that_hangs");
    }

    #[test]
    fn child_that_hangs_with_a_process() {
        if is_child("child_that_hangs_with_a_process") {
            let limit = TimeLimit::start();
            let mut process = Command::new("sleep").arg("86400").spawn().unwrap();
            limit.set_child(Some(process.id()));
            process.wait().unwrap();
        }
    }

    /// The grandchild has the pipe of the child's output too: while it runs, the output does not end.
    #[test]
    fn the_child_of_a_test_that_takes_too_long_is_ended_too() {
        assert_ended("child_that_hangs_with_a_process");
    }

    #[test]
    fn child_that_drops_its_limits() {
        if is_child("child_that_drops_its_limits") {
            drop((TimeLimit::start(), TimeLimit::start()));
            run(async {});
            run_on_threads(2, async {});
            std::thread::sleep(2 * limit());
        }
    }

    #[test]
    fn a_limit_that_is_dropped_ends_nothing() {
        let output = child("child_that_drops_its_limits");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}
