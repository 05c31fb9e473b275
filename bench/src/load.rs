//! One turn: so many connections, each sending its next request when the last was answered.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::args::Load;
use crate::client::Client;
use crate::item::{Item, Random};
use crate::process::cpu_time;
use crate::target::Target;

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

/// Loads a server for `length` and counts. `turn_id` makes the ids of created items new.
pub async fn turn(
    target: &Target,
    load: Load,
    connections: usize,
    length: Duration,
    turn_id: usize,
) -> Result<Turn> {
    let shared = Rc::new(Shared::default());
    let mut workers = Vec::new();
    for number in 0..connections {
        let worker = Worker {
            client: Client::connect(&target.address).await?,
            items: Rc::clone(&target.items),
            read_from: Rc::clone(&target.read_from),
            write_to: Rc::clone(&target.write_to),
            fixed: target.fixed.clone(),
            shared: Rc::clone(&shared),
            name: format!("t{turn_id}-{number}"),
            random: Random(0x9E37_79B9_7F4A_7C15 ^ ((turn_id as u64) << 32) ^ (number as u64 + 1)),
        };
        workers.push(tokio::task::spawn_local(worker.run(load)));
    }
    let mut turn = measure(target, &shared, length).await?;
    shared.is_over.set(true);
    for worker in workers {
        worker.await??;
    }
    turn.micros = shared.micros.take();
    Ok(turn)
}

async fn measure(target: &Target, shared: &Shared, length: Duration) -> Result<Turn> {
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

struct Worker {
    client: Client,
    items: Rc<Vec<Item>>,
    read_from: Rc<str>,
    write_to: Rc<str>,
    fixed: Option<Rc<Item>>,
    shared: Rc<Shared>,
    /// Part of the ids this worker creates.
    name: String,
    random: Random,
}

impl Worker {
    async fn run(mut self, load: Load) -> Result<()> {
        let mut began = now();
        let mut count = 0;
        while !self.shared.is_over.get() {
            count += 1;
            match load {
                Load::Reads => self.read().await?,
                Load::Creates => self.create(count).await?,
            }
            let ended = now();
            self.shared.answered.set(self.shared.answered.get() + 1);
            if self.shared.is_counted.get() {
                let micros = ended.duration_since(began).as_micros();
                self.shared
                    .micros
                    .borrow_mut()
                    .push(u32::try_from(micros).unwrap_or(u32::MAX));
            }
            // The next request begins where this one ended: nothing the generator does is left out.
            began = ended;
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<()> {
        let item = &self.items[self.random.below(self.items.len())];
        let expected = self.fixed.as_deref().unwrap_or(item);
        self.client.read(&self.read_from, item, expected).await
    }

    async fn create(&mut self, count: u64) -> Result<()> {
        let item = Item::new(format!("{}-{count}", self.name), self.random.next());
        let expected = self.fixed.as_deref().unwrap_or(&item);
        self.client.create(&self.write_to, &item, expected).await
    }
}
