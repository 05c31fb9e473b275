//! Several clients in flight while the clock moves and the setting changes: for what they were answered there must be an
//! order of the operations, each between its call and its answer, in which the simplest of all containers answers the same.

use std::collections::{BTreeMap, HashSet};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use lapsedb_testkit::{Container, Engine, Options, Random, Reply, Server};
use serde_json::{Value, json};

/// Clients that read and write; one more moves the clock and changes the setting.
const CLIENTS: usize = 4;
/// Operations of each client between two moments at which nothing is in flight.
const STEPS: usize = 3;
const IDS: usize = 3;
/// Rounds on each engine, unless `LAPSEDB_RACE_ROUNDS` says otherwise.
const ROUNDS: u64 = 60;
/// The process is killed and started again after so many rounds.
const ROUNDS_BETWEEN_KILLS: u64 = 20;

#[derive(Clone, Debug)]
enum Op {
    Create(usize, Option<i64>, u64),
    Upsert(usize, Option<i64>, u64),
    Replace(usize, Option<i64>, u64),
    Delete(usize),
    Read(usize),
    Count,
    Default(Option<i64>),
    Advance(u64),
}

/// What came back: the status; number and `_ts` of an item; a count; a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Status(u16),
    Item(u16, u64, u64),
    Count(u64),
    Time(u64),
}

#[derive(Clone, Debug)]
struct Event {
    begun: u64,
    ended: u64,
    op: Op,
    said: Said,
}

impl Event {
    /// The second a write was given. It is fixed a moment before the write can be seen: while its bytes go to disk, the clock may move.
    fn second(&self) -> Option<u64> {
        match (&self.op, self.said) {
            (Op::Read(_), _) => None,
            (_, Said::Item(_, _, second)) => Some(second),
            (_, Said::Status(_) | Said::Count(_) | Said::Time(_)) => None,
        }
    }
}

/// The simplest of all containers: the dead are taken out whenever time or the setting moves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Simple {
    now: u64,
    default: Option<i64>,
    items: BTreeMap<usize, (u64, u64, Option<i64>)>,
}

impl Simple {
    fn bury(&mut self) {
        let (now, default) = (self.now / 1000, self.default);
        self.items.retain(|_, (_, written, ttl)| {
            let life = default.map_or(-1, |default| ttl.unwrap_or(default));
            u64::try_from(life).is_err() || *written + life.unsigned_abs() > now
        });
    }

    fn write(&mut self, id: usize, ttl: Option<i64>, number: u64, second: u64) {
        self.items.insert(id, (number, second, ttl));
        self.bury();
    }

    fn answer(&mut self, op: &Op, second: u64) -> Said {
        match op {
            Op::Create(id, ..) if self.items.contains_key(id) => Said::Status(409),
            Op::Replace(id, ..) if !self.items.contains_key(id) => Said::Status(404),
            Op::Create(id, ttl, number)
            | Op::Upsert(id, ttl, number)
            | Op::Replace(id, ttl, number) => {
                let status = if self.items.contains_key(id) {
                    200
                } else {
                    201
                };
                self.write(*id, *ttl, *number, second);
                Said::Item(status, *number, second)
            }
            Op::Delete(id) => Said::Status(if self.items.remove(id).is_some() {
                204
            } else {
                404
            }),
            Op::Read(id) => match self.items.get(id) {
                Some((number, written, _)) => Said::Item(200, *number, *written),
                None => Said::Status(404),
            },
            Op::Count => Said::Count(self.items.len() as u64),
            Op::Default(default) => {
                self.default = *default;
                self.bury();
                Said::Status(200)
            }
            Op::Advance(ms) => {
                self.now += ms;
                self.bury();
                Said::Time(self.now)
            }
        }
    }
}

/// The latest second that somebody was told before an event began.
fn told_before(events: &[Event], event: &Event) -> u64 {
    let before = events.iter().filter(|other| other.ended < event.begun);
    let told = before.filter_map(|other| match other.said {
        Said::Item(_, _, second) => Some(second),
        Said::Time(ms) => Some(ms / 1000),
        Said::Status(_) | Said::Count(_) => None,
    });
    told.max().unwrap_or(0)
}

/// Every container that some order of the events ends with.
fn ends(begin: &HashSet<Simple>, events: &[Event]) -> HashSet<Simple> {
    let mut seen: HashSet<(u64, Simple)> = HashSet::new();
    let mut open: Vec<(u64, Simple)> = begin.iter().map(|simple| (0, simple.clone())).collect();
    let all = (1_u64 << events.len()) - 1;
    let mut ends = HashSet::new();
    while let Some((done, simple)) = open.pop() {
        if done == all {
            ends.insert(simple);
            continue;
        }
        if !seen.insert((done, simple.clone())) {
            continue;
        }
        let left = || {
            events
                .iter()
                .enumerate()
                .filter(|(at, _)| done & (1 << at) == 0)
        };
        // What was called after another one's answer cannot come before that one.
        let first_end = left().map(|(_, event)| event.ended).min().unwrap();
        for (at, event) in left().filter(|(_, event)| event.begun < first_end) {
            let mut next = simple.clone();
            let now = next.now / 1000;
            let second = event.second().unwrap_or(now);
            if (told_before(events, event)..=now).contains(&second)
                && next.answer(&event.op, second) == event.said
            {
                open.push((done | (1 << at), next));
            }
        }
    }
    ends
}

fn any_op(random: &mut Random, number: u64) -> Op {
    let id = random.below(IDS);
    let ttl = *random.pick(&[None, None, Some(-1), Some(1), Some(2), Some(5)]);
    match random.below(8) {
        0 | 1 => Op::Create(id, ttl, number),
        2 => Op::Upsert(id, ttl, number),
        3 => Op::Replace(id, ttl, number),
        4 => Op::Delete(id),
        5 | 6 => Op::Read(id),
        _ => Op::Count,
    }
}

fn any_move(random: &mut Random) -> Op {
    if random.percent(40) {
        Op::Default(*random.pick(&[None, Some(-1), Some(1), Some(2), Some(4)]))
    } else {
        Op::Advance(*random.pick(&[1, 400, 999, 1000, 1001, 2500]))
    }
}

fn document(id: usize, ttl: Option<i64>, number: u64) -> Value {
    let mut document = json!({ "id": id.to_string(), "n": number });
    if let Some(ttl) = ttl {
        document["ttl"] = json!(ttl);
    }
    document
}

fn item(reply: &Reply) -> Said {
    if !matches!(reply.status, 200 | 201) {
        return Said::Status(reply.status);
    }
    let body = reply.json();
    let number = |name: &str| body[name].as_u64().unwrap();
    Said::Item(reply.status, number("n"), number("_ts"))
}

fn count(container: &mut Container) -> Said {
    let request = container
        .on_items("POST")
        .header("x-ms-documentdb-isquery", "true")
        .header("content-type", "application/query+json")
        .json(&json!({ "query": "SELECT VALUE COUNT(1) FROM c" }));
    let reply = container.send(request);
    Said::Count(reply.json()["Documents"][0].as_u64().unwrap())
}

fn run(server: &Server, container: &mut Container, op: &Op) -> Said {
    match op {
        Op::Create(id, ttl, number) => item(&container.create(&document(*id, *ttl, *number))),
        Op::Upsert(id, ttl, number) => item(&container.upsert(&document(*id, *ttl, *number))),
        Op::Replace(id, ttl, number) => item(&container.replace(&document(*id, *ttl, *number))),
        Op::Delete(id) => Said::Status(container.delete(&id.to_string()).status),
        Op::Read(id) => item(&container.read(&id.to_string())),
        Op::Count => count(container),
        Op::Default(default) => {
            Said::Status(container.alter(&json!({ "defaultTtl": default })).status)
        }
        Op::Advance(ms) => Said::Time(server.advance_ms(*ms)),
    }
}

/// All clients at once; every operation with the moments of its call and its answer.
fn round(server: &Server, seed: u64) -> Vec<Event> {
    let (barrier, ticks) = (Barrier::new(CLIENTS + 1), AtomicU64::new(0));
    let tick = || ticks.fetch_add(1, Ordering::SeqCst);
    let client = |at: usize| {
        let mut random = Random::new(seed.wrapping_mul(31).wrapping_add(at as u64));
        let mut container = server.existing("d", "c", "/id");
        barrier.wait();
        let mut events = Vec::new();
        for step in 0..STEPS {
            let number = seed * 1000 + (at * STEPS + step) as u64;
            let op = if at < CLIENTS {
                any_op(&mut random, number)
            } else {
                any_move(&mut random)
            };
            let begun = tick();
            let said = run(server, &mut container, &op);
            events.push(Event {
                begun,
                ended: tick(),
                op,
                said,
            });
        }
        events
    };
    std::thread::scope(|scope| {
        let client = &client;
        let threads: Vec<_> = (0..=CLIENTS)
            .map(|at| scope.spawn(move || client(at)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

fn told(events: &[Event]) -> String {
    let line = |event: &Event| {
        let Event {
            begun,
            ended,
            op,
            said,
        } = event;
        format!("{begun:3} to {ended:3}: {op:?} -> {said:?}")
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn race(engine: Engine) {
    let rounds = std::env::var("LAPSEDB_RACE_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let options = Options::new(engine).flag("--purge-grace=0");
    let mut server = Server::start(&options);
    server.set_ms(server.now_ms().next_multiple_of(1000));
    server.database("d");
    drop(server.container("d", "c", "/id", &json!({ "defaultTtl": 2 })));
    let begin = Simple {
        now: server.now_ms(),
        default: Some(2),
        items: BTreeMap::new(),
    };
    let mut possible = HashSet::from([begin]);
    for number in 1..=rounds.unwrap_or(ROUNDS) {
        let events = round(&server, number);
        let ends = ends(&possible, &events);
        assert!(
            !ends.is_empty(),
            "{engine:?}, round {number}: no order explains\n{}\nfrom {possible:?}",
            told(&events)
        );
        possible = ends;
        if engine == Engine::Disk && number.is_multiple_of(ROUNDS_BETWEEN_KILLS) {
            server.kill();
            server.restart();
        }
    }
    server.existing("d", "c", "/id").check_counts();
}

#[test]
fn in_memory() {
    race(Engine::Memory);
}

#[test]
fn on_disk_with_kills() {
    race(Engine::Disk);
}

#[test]
fn the_judge_sees_a_contradiction() {
    let begin = HashSet::from([Simple {
        now: 5000,
        default: Some(2),
        items: BTreeMap::new(),
    }]);
    let event = |begun, ended, op, said| Event {
        begun,
        ended,
        op,
        said,
    };
    let made = event(0, 1, Op::Create(0, None, 7), Said::Item(201, 7, 5));
    let moved = event(2, 5, Op::Advance(2000), Said::Time(7000));
    // While the clock moves, a reader may see it or not.
    for said in [Said::Item(200, 7, 5), Said::Status(404)] {
        let read = event(3, 4, Op::Read(0), said);
        assert_eq!(ends(&begin, &[made.clone(), moved.clone(), read]).len(), 1);
    }
    // But once it was seen gone, it is gone.
    let gone = event(3, 4, Op::Read(0), Said::Status(404));
    let back = event(6, 7, Op::Read(0), Said::Item(200, 7, 5));
    assert!(ends(&begin, &[made.clone(), moved.clone(), gone, back.clone()]).is_empty());
    assert!(ends(&begin, &[made, moved, back]).is_empty());
}
