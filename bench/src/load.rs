//! One turn: so many connections, each sending its next request when the last was answered.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::process::cpu_time;

/// Connections get going, caches get warm; nothing of it is counted.
const WARM_UP: Duration = Duration::from_millis(200);

/// What one turn measured.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// Requests answered, all of them rightly.
    pub requests: u64,
    /// How long they took together.
    pub seconds: f64,
    /// The server's CPU time, if it is known.
    pub server_cpu: Option<f64>,
    /// Our own CPU time.
    pub own_cpu: f64,
    /// How long each request took, in microseconds.
    pub micros: Vec<u32>,
}

/// What the workers of a turn share; all on one thread.
#[derive(Default)]
struct Shared {
    is_over: Cell<bool>,
    is_counted: Cell<bool>,
    answered: Cell<u64>,
    micros: RefCell<Vec<u32>>,
}

/// A server under measurement, whatever it speaks.
pub trait Subject {
    /// What can be asked of it.
    type Load: Copy;
    /// A connection to it.
    type Sender: Sender + 'static;

    /// As the table calls it.
    fn name(&self) -> &str;

    /// CPU time used so far; none for a server somebody else started.
    fn cpu_time(&self) -> Result<Option<Duration>>;

    /// A connection that sends this load. `turn_id` and `number` make what it creates new.
    async fn sender(&self, load: Self::Load, turn_id: usize, number: usize)
    -> Result<Self::Sender>;
}

/// A connection as one worker holds it.
pub trait Sender {
    /// Sends the next request of its load, and checks the answer. `count` grows with every call.
    async fn send(&mut self, count: u64) -> Result<()>;
}

/// Loads a server for `length` and counts.
pub async fn turn<S: Subject>(
    subject: &S,
    load: S::Load,
    connections: usize,
    length: Duration,
    turn_id: usize,
) -> Result<Turn> {
    let shared = Rc::new(Shared::default());
    let mut workers = Vec::new();
    for number in 0..connections {
        let sender = subject.sender(load, turn_id, number).await?;
        workers.push(tokio::task::spawn_local(work(sender, Rc::clone(&shared))));
    }
    let mut turn = measure(subject, &shared, length).await?;
    shared.is_over.set(true);
    for worker in workers {
        worker.await??;
    }
    turn.micros = shared.micros.take();
    Ok(turn)
}

async fn measure(target: &impl Subject, shared: &Shared, length: Duration) -> Result<Turn> {
    tokio::time::sleep(WARM_UP).await;
    shared.is_counted.set(true);
    let (server, own, answered, began) =
        (target.cpu_time()?, own_cpu()?, shared.answered.get(), now());
    tokio::time::sleep(length).await;
    let seconds = now().duration_since(began).as_secs_f64();
    let requests = shared.answered.get() - answered;
    shared.is_counted.set(false);
    let used = |after: Duration, before: Duration| after.saturating_sub(before).as_secs_f64();
    let server_cpu = target
        .cpu_time()?
        .zip(server)
        .map(|(after, before)| used(after, before));
    let own_cpu = used(own_cpu()?, own);
    Ok(Turn {
        requests,
        seconds,
        server_cpu,
        own_cpu,
        micros: Vec::new(),
    })
}

fn own_cpu() -> Result<Duration> {
    cpu_time(std::process::id())
}

fn now() -> Instant {
    #[expect(
        clippy::disallowed_methods,
        reason = "durations are what a bench is for"
    )]
    Instant::now()
}

async fn work(mut sender: impl Sender, shared: Rc<Shared>) -> Result<()> {
    let mut began = now();
    let mut count = 0;
    while !shared.is_over.get() {
        count += 1;
        sender.send(count).await?;
        let ended = now();
        shared.answered.set(shared.answered.get() + 1);
        if shared.is_counted.get() {
            let micros = ended.duration_since(began).as_micros();
            let micros = u32::try_from(micros).unwrap_or(u32::MAX);
            shared.micros.borrow_mut().push(micros);
        }
        // The next request begins where this one ended: nothing the generator does is left out.
        began = ended;
    }
    Ok(())
}
