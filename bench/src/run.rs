//! A whole run: start the servers, let them take turns, print.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

use crate::args::{Load, Options};
use crate::disk;
use crate::item::Item;
use crate::load::{Subject, turn};
use crate::mongo;
use crate::report::{Row, table};
use crate::target::Target;

/// Runs to the end or to a signal; either way the servers started here are ended.
pub fn run(options: &Options) -> Result<()> {
    // One thread: on a small machine the rest is the server's.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut terminated = signal(SignalKind::terminate())?;
        tokio::select! {
            result = measure(options) => result,
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
            _ = terminated.recv() => bail!("terminated"),
        }
    })
}

async fn measure(options: &Options) -> Result<()> {
    let dir = Scratch::new(&options.dir)?;
    let syncs = disk::syncs_per_second(&dir.0)?;
    if options.nosql {
        println!("{}", measure_nosql(options, &dir.0).await?);
    }
    if let (true, Some(program)) = (options.mongo, &options.server) {
        println!("{}", measure_mongo(options, program, &dir.0).await?);
    }
    println!(
        "{} rounds of {:.1} s each, in turn; {} processors; one synced append of 1 KiB at a time: {syncs:.0}/s on this disk.",
        options.rounds,
        options.turn.as_secs_f64(),
        std::thread::available_parallelism().map_or(0, usize::from),
    );
    Ok(())
}

async fn measure_nosql(options: &Options, dir: &Path) -> Result<String> {
    let items =
        (0..options.items).map(|number| Item::new(format!("item-{number}"), number as u64 + 1));
    let items = Rc::new(items.collect::<Vec<_>>());
    let mut targets = vec![Target::bare(dir, &items)?];
    if let Some(program) = &options.server {
        targets.push(Target::lapsedb(program, dir, &items)?);
    }
    for (name, address) in &options.peers {
        targets.push(Target::peer(name, address, &items));
    }
    for target in &targets {
        target
            .prepare()
            .await
            .with_context(|| format!("preparing {}", target.name()))?;
    }
    let cells: Vec<Cell<Load>> = options
        .loads
        .iter()
        .flat_map(|&load| {
            let connections = options.connections.iter();
            connections.map(move |&n| (load, load.name(), n))
        })
        .collect();
    let rows = take_turns(options, &cells, &targets).await?;
    for target in &targets {
        target.clear().await?;
    }
    Ok(table(&rows, "bare"))
}

async fn measure_mongo(options: &Options, program: &Path, dir: &Path) -> Result<String> {
    let documents = (0..options.items).map(|number| mongo::Document::new(0, 0, number as u64));
    let documents = Rc::new(documents.collect::<Vec<_>>());
    let mut targets = Vec::new();
    if let Some(mongod) = &options.mongod {
        targets.push(mongo::Target::mongod(mongod, dir, &documents).await?);
    }
    targets.push(mongo::Target::lapsedb(program, dir, &documents)?);
    for target in &targets {
        target
            .prepare()
            .await
            .with_context(|| format!("preparing {}", target.name()))?;
    }
    let mut cells: Vec<Cell<mongo::Load>> = Vec::new();
    for &load in &options.mongo_loads {
        let connections = if load.is_heavy() {
            &[1][..]
        } else {
            &options.connections
        };
        cells.extend(connections.iter().map(|&n| (load, load.name(), n)));
    }
    let rows = take_turns(options, &cells, &targets).await?;
    let mut text = table(&rows, "mongod");
    if options.mongod.is_none() {
        text.push_str(
            "\nNo mongod to compare with: LAPSEDB_MONGOD names none, and there is none in the cache.\n",
        );
    }
    Ok(text)
}

/// A load, as the table calls it, and a number of connections.
type Cell<L> = (L, &'static str, usize);

async fn take_turns<S: Subject>(
    options: &Options,
    cells: &[Cell<S::Load>],
    targets: &[S],
) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for &(_, load, connections) in cells {
        rows.extend(targets.iter().map(|target| Row {
            load,
            connections,
            server: target.name().to_owned(),
            turns: Vec::new(),
        }));
    }
    let mut turn_id = 0;
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        for (cell, &(load, name, connections)) in cells.iter().enumerate() {
            for place in 0..targets.len() {
                // Who begins changes with the round, so that nobody always follows the same neighbour.
                let index = (place + round) % targets.len();
                let target = &targets[index];
                turn_id += 1;
                let result = turn(target, load, connections, options.turn, turn_id).await;
                let result = result.with_context(|| {
                    let server = target.name();
                    format!("{name} with {connections} connections at {server}")
                });
                rows[cell * targets.len() + index].turns.push(result?);
            }
        }
    }
    Ok(rows)
}

/// A folder of this run's own, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: &Path) -> Result<Self> {
        let path = parent.join(format!("lapsedb-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.0);
    }
}
