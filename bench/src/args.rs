//! The command line, read once.

use std::path::PathBuf;
use std::time::Duration;

use crate::mongo;

/// What `--help` prints.
pub const USAGE: &str = "\
usage: lapsedb-bench [run] [flags]   measures and prints a Markdown table for each door
       lapsedb-bench bare            the bare server alone, until its standard input ends

  --server PATH        the lapsedb binary (or LAPSEDB_BIN)
  --dir DIR            where stores are put; must be a disk for creates to mean anything (default: the temporary folder)
  --rounds N           how often every server is asked, in turn (default 5)
  --seconds S          how long each turn is counted (default 1.5)
  --connections LIST   default 1,32
  --items N            items or documents to read from (default 2000)
  --doors LIST         nosql,mongo (default both)
  --loads LIST         of the NoSQL door: reads,creates (default both)
  --mongo-loads LIST   of the Mongo door: finds,plain-finds,inserts,retryable-inserts,updates,aggregates,bulks,scans,counts,sorts
                       (default all but plain-finds and retryable-inserts); the last four on one connection only
  --mongod PATH        a mongod to measure beside the Mongo door, or none (default: LAPSEDB_MONGOD, or the one in the cache)
  --peer NAME=URL      another server that speaks the same protocol with the emulator's key (http only); repeatable";

/// Rounds, connections and items beyond these are typing errors.
const COUNT_MAX: usize = 1_000_000;
/// Nobody waits longer for one turn.
const SECONDS_MAX: f64 = 600.0;

/// What to do.
#[derive(Debug)]
pub enum Command {
    /// Serve one fixed answer.
    Bare,
    /// Measure.
    Run(Box<Options>),
    /// Explain.
    Help,
}

/// How to measure.
#[derive(Debug)]
pub struct Options {
    /// The lapsedb binary; none means only peers are measured.
    pub server: Option<PathBuf>,
    /// Parent folder of the stores.
    pub dir: PathBuf,
    /// How often every server gets its turn.
    pub rounds: usize,
    /// Length of a turn.
    pub turn: Duration,
    /// Numbers of connections to try.
    pub connections: Vec<usize>,
    /// Items to read from.
    pub items: usize,
    /// Whether the NoSQL door is measured.
    pub nosql: bool,
    /// Whether the Mongo door is measured.
    pub mongo: bool,
    /// What to send to the NoSQL door.
    pub loads: Vec<Load>,
    /// What to send to the Mongo door.
    pub mongo_loads: Vec<mongo::Load>,
    /// The mongod to measure beside it.
    pub mongod: Option<PathBuf>,
    /// Other servers, by name and `host:port`.
    pub peers: Vec<(String, String)>,
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Read an item by its id.
    Reads,
    /// Create an item with a new id.
    Creates,
}

impl Load {
    /// As the table calls it.
    pub fn name(self) -> &'static str {
        match self {
            Load::Reads => "point read",
            Load::Creates => "durable create",
        }
    }
}

/// Reads the words after the program's name.
pub fn parse(words: &[String]) -> Result<Command, String> {
    let words = match words.split_first() {
        Some((first, [])) if first == "bare" => return Ok(Command::Bare),
        Some((first, rest)) if first == "run" => rest,
        _ => words,
    };
    let mut options = Options {
        server: std::env::var_os("LAPSEDB_BIN").map(PathBuf::from),
        dir: std::env::temp_dir(),
        rounds: 5,
        turn: Duration::from_millis(1500),
        connections: vec![1, 32],
        items: 2000,
        nosql: true,
        mongo: true,
        loads: vec![Load::Reads, Load::Creates],
        mongo_loads: mongo::Load::DEFAULT.to_vec(),
        mongod: mongo::find_mongod(),
        peers: Vec::new(),
    };
    let mut words = words.iter();
    while let Some(flag) = words.next() {
        if flag == "--help" || flag == "-h" {
            return Ok(Command::Help);
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{flag} wants a value"))?;
        set(&mut options, flag, value)?;
    }
    if options.server.is_none() && options.peers.is_empty() {
        return Err("nothing to measure: give --server or --peer".to_owned());
    }
    Ok(Command::Run(Box::new(options)))
}

fn set(options: &mut Options, flag: &str, value: &str) -> Result<(), String> {
    match flag {
        "--server" => options.server = Some(PathBuf::from(value)),
        "--dir" => options.dir = PathBuf::from(value),
        "--rounds" => options.rounds = count(flag, value)?,
        "--items" => options.items = count(flag, value)?,
        "--seconds" => {
            let seconds = value
                .parse::<f64>()
                .ok()
                .filter(|&s| s > 0.0 && s <= SECONDS_MAX);
            let seconds = seconds.ok_or_else(|| format!("{flag} {value}: up to {SECONDS_MAX}"))?;
            options.turn = Duration::from_secs_f64(seconds);
        }
        "--connections" => {
            options.connections = value
                .split(',')
                .map(|n| count(flag, n))
                .collect::<Result<_, _>>()?;
        }
        "--doors" => {
            (options.nosql, options.mongo) = (false, false);
            for door in value.split(',') {
                match door {
                    "nosql" => options.nosql = true,
                    "mongo" => options.mongo = true,
                    _ => return Err(format!("{flag} {door}: nosql or mongo")),
                }
            }
        }
        "--mongo-loads" => {
            options.mongo_loads = value.split(',').map(mongo_load).collect::<Result<_, _>>()?;
        }
        "--mongod" => options.mongod = (value != "none").then(|| PathBuf::from(value)),
        "--loads" => options.loads = value.split(',').map(load).collect::<Result<_, _>>()?,
        "--peer" => options.peers.push(peer(value)?),
        _ => return Err(format!("unknown flag {flag}")),
    }
    Ok(())
}

fn count(flag: &str, value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(number @ 1..=COUNT_MAX) => Ok(number),
        _ => Err(format!(
            "{flag} {value}: a whole number from 1 to {COUNT_MAX}"
        )),
    }
}

fn load(name: &str) -> Result<Load, String> {
    match name {
        "reads" => Ok(Load::Reads),
        "creates" => Ok(Load::Creates),
        _ => Err(format!("--loads {name}: reads or creates")),
    }
}

fn mongo_load(name: &str) -> Result<mongo::Load, String> {
    let found = mongo::Load::ALL.iter().find(|(_, word, _)| *word == name);
    found
        .map(|(load, ..)| *load)
        .ok_or_else(|| format!("--mongo-loads {name}: there is no such load"))
}

fn peer(value: &str) -> Result<(String, String), String> {
    let parts = value.split_once('=').and_then(|(name, url)| {
        let address = url.strip_prefix("http://")?.trim_end_matches('/');
        Some((name.to_owned(), address.to_owned()))
    });
    parts.ok_or_else(|| format!("--peer {value}: NAME=http://host:port"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_full_command_line_is_understood() {
        let line = "run --server s --rounds 2 --seconds 0.5 --connections 1,8 --loads reads --peer a=http://h:1/";
        let Ok(Command::Run(options)) = parse(&words(line)) else {
            panic!("not understood")
        };
        assert_eq!(options.rounds, 2);
        assert_eq!(options.turn, Duration::from_millis(500));
        assert_eq!(options.connections, [1, 8]);
        assert_eq!(options.loads, [Load::Reads]);
        assert_eq!(options.peers, [("a".to_owned(), "h:1".to_owned())]);
        assert!(options.nosql && options.mongo);
        let line = "--server s --doors mongo --mongo-loads finds,bulks --mongod none";
        let Ok(Command::Run(options)) = parse(&words(line)) else {
            panic!("not understood")
        };
        assert!(!options.nosql && options.mongo && options.mongod.is_none());
        assert_eq!(
            options.mongo_loads,
            [mongo::Load::Finds, mongo::Load::Bulks]
        );
    }

    #[test]
    fn bad_values_are_refused_with_their_flag() {
        for line in [
            "--rounds 0",
            "--seconds -1",
            "--connections 1,x",
            "--loads all",
            "--doors sql",
            "--mongo-loads all",
            "--peer a",
            "--what 1",
            "--items",
        ] {
            let error = parse(&words(line)).unwrap_err();
            assert!(
                error.contains(line.split(' ').next().unwrap()),
                "{line}: {error}"
            );
        }
    }
}
