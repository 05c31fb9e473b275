//! The whole configuration: raw text from flag, variable or file, then checked, then passed on as plain structs.

mod beyond;
mod keys;
pub mod settings;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapsedb_service::REQUEST_TIME_MAX;

use self::keys::Keys;
use self::settings::{Asked, Given, Layer};
use crate::origin::{self, Origins};
use crate::{memory, tls};

/// The longest limit on the time of requests, in seconds: a day.
const REQUEST_TIME_SECONDS_MAX: u64 = 86_400;
/// The least memory of all requests, in MiB: one of them may bring 48 MB.
const REQUEST_MEMORY_MIB_MIN: u64 = 64;
/// The most memory of all requests, in MiB: a pebibyte.
const REQUEST_MEMORY_MIB_MAX: u64 = 1 << 30;
/// The shortest time for which changes are kept.
const CHANGE_RETENTION_SECONDS_MIN: u64 = 60;
/// How long they are kept if nothing is said: a week.
const CHANGE_RETENTION_SECONDS: u64 = 7 * 86_400;
/// The longest grace period and retention: the longest time to live.
const PURGE_GRACE_SECONDS_MAX: u64 = 2_147_483_647;

/// What to do, as told by command line, environment and file.
#[derive(Debug)]
pub enum Command {
    /// Run the server.
    Serve(Box<Config>),
    /// Read the whole store and compare checksums.
    Verify(Verify),
    /// Print this and end.
    Print(String),
}

/// What `verify` reads, and what it may do.
#[derive(Clone, Debug)]
pub struct Verify {
    /// The data path.
    pub data_path: PathBuf,
    /// Drop the damaged part of the write-ahead log.
    pub drop_damaged_log: bool,
}

/// A configuration that can be run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The folder of the store; none = in memory.
    pub data_path: Option<PathBuf>,
    /// Take a data folder that other users can reach.
    pub insecure_data_mode: bool,
    /// Where to listen.
    pub bind: IpAddr,
    /// The NoSQL door's port; 0 = any.
    pub port: u16,
    /// What the NoSQL door speaks.
    pub protocol: Protocol,
    /// The Mongo door, if it is wanted.
    pub mongo: Option<Mongo>,
    /// The master key, decoded.
    pub master_key: Vec<u8>,
    /// The key that may only read, decoded.
    pub read_only_key: Option<Vec<u8>>,
    /// Which web pages are let in.
    pub origins: Origins,
    /// Time stands still until moved.
    pub virtual_clock: bool,
    /// Start with a clock far from the store's.
    pub accept_clock: bool,
    /// Acknowledge before the disk has it.
    pub relaxed: bool,
    /// Remove the dead from disk.
    pub purge: bool,
    /// How long they stay there at least.
    pub purge_grace_seconds: u64,
    /// Whether containers are throttled for which no throughput was asked.
    pub rate_limiting: bool,
    /// How long a request may take that says nothing itself, in seconds; 0 is any time.
    pub request_time_max_seconds: u64,
    /// Memory that all requests together may hold, in MiB.
    pub request_memory_max_mib: u64,
    /// How long what change streams need is kept.
    pub change_retention_seconds: u64,
    /// Whether it is kept for all collections from their beginning.
    pub keep_changes: bool,
    /// What to apply before the server is ready.
    pub init: Option<PathBuf>,
    /// The form of the log.
    pub log_json: bool,
    /// How much is logged.
    pub log_level: tracing::level_filters::LevelFilter,
    /// What is allowed, but not wise.
    pub warnings: Vec<String>,
}

/// The settings of the Mongo door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mongo {
    /// Its port; 0 = any.
    pub port: u16,
    /// Whether clients must log in.
    pub auth: bool,
    /// The address named to clients.
    pub advertise: Option<String>,
    /// Whether fail points may be set.
    pub test_commands: bool,
}

/// What a port speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Plain only.
    Http,
    /// TLS only.
    Https,
    /// The first byte of a connection decides.
    Both,
}

impl Config {
    /// How long a request may take that says nothing itself; none is any time.
    pub fn request_time_max(&self) -> Option<Duration> {
        (self.request_time_max_seconds > 0)
            .then(|| Duration::from_secs(self.request_time_max_seconds))
    }

    /// Bytes of memory that all requests together may hold.
    pub fn request_memory_max(&self) -> usize {
        let bytes = self.request_memory_max_mib.saturating_mul(1 << 20);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// The names of this server that the operator has given: the address to listen on, and the host named to Mongo clients.
    pub fn given_names(&self) -> Vec<String> {
        let bind = Some(self.bind).filter(|bind| !bind.is_unspecified());
        let advertise = self
            .mongo
            .as_ref()
            .and_then(|mongo| mongo.advertise.as_deref());
        let host = advertise.and_then(|address| address.rsplit_once(':'));
        let host = host.map(|(host, _)| host.trim_start_matches('[').trim_end_matches(']'));
        let host = host
            .map(str::to_ascii_lowercase)
            .filter(|host| tls::is_name(host));
        bind.map(|bind| bind.to_string())
            .into_iter()
            .chain(host)
            .collect()
    }

    /// Reads and checks everything. An error is one line.
    pub fn load(
        args: impl IntoIterator<Item = OsString>,
        variables: impl Fn(&str) -> Option<String>,
    ) -> Result<Command, String> {
        let (flags, verifies) = match settings::from_flags(args)? {
            Asked::Run(flags) => (flags, false),
            Asked::Verify(flags) => (flags, true),
            Asked::Print(text) => return Ok(Command::Print(text)),
        };
        let variables = settings::from_variables(variables);
        let file = match flags.get("config").or_else(|| variables.get("config")) {
            None => Layer::new(),
            Some(given) => {
                let text = std::fs::read_to_string(&given.text)
                    .map_err(|error| bad(given, &format!("a file that can be read ({error})")))?;
                settings::from_file(&given.text, &text)?
            }
        };
        let raw = Raw(lay([flags, variables, file]));
        if verifies {
            return raw.verify().map(Command::Verify);
        }
        raw.check().map(|config| Command::Serve(Box::new(config)))
    }
}

/// Pairs of which only one can hold; the layer above decides for both.
const RIVALS: [(&str, &str); 2] = [("key", "key-file"), ("memory", "data-path")];

/// Lays the layers over each other, the first on top.
fn lay(layers: [Layer; 3]) -> Layer {
    let mut sum = Layer::new();
    for mut layer in layers {
        for (one, other) in RIVALS {
            if sum.contains_key(one) {
                layer.remove(other);
            }
            if sum.contains_key(other) {
                layer.remove(one);
            }
        }
        for (name, given) in layer {
            sum.entry(name).or_insert(given);
        }
    }
    sum
}

fn bad(given: &Given, allowed: &str) -> String {
    format!("{given} is not allowed; allowed: {allowed}")
}

/// Settings as text, all layers in one.
struct Raw(Layer);

impl Raw {
    fn check(&self) -> Result<Config, String> {
        if let Some(given) = self.0.get("drop-damaged-log") {
            return Err(bad(given, "only with the command verify"));
        }
        let bind = self.bind()?;
        let keys = self.keys()?;
        let mongo = self.mongo(bind, keys.own)?;
        beyond::check(bind, &keys, mongo.as_ref())?;
        Ok(Config {
            data_path: self.data_path()?,
            insecure_data_mode: self.switch("insecure-data-mode")?,
            bind,
            port: self.port("port", 8081)?,
            protocol: self.protocol(bind)?,
            mongo,
            origins: self.origins(&keys)?,
            master_key: keys.master,
            read_only_key: keys.read_only,
            virtual_clock: self.switch("virtual-clock")?,
            accept_clock: self.switch("accept-clock")?,
            relaxed: self.choice("durability", &[("sync", false), ("relaxed", true)], false)?,
            purge: self.choice("purge", &ON_OFF, true)?,
            rate_limiting: self.choice("rate-limiting", &ON_OFF, false)?,
            purge_grace_seconds: self.number("purge-grace", 300, 0..=PURGE_GRACE_SECONDS_MAX)?,
            request_time_max_seconds: self.number(
                "request-time-max-seconds",
                REQUEST_TIME_MAX.as_secs(),
                0..=REQUEST_TIME_SECONDS_MAX,
            )?,
            request_memory_max_mib: self.number(
                "request-memory-max-mib",
                memory::default_mib(),
                REQUEST_MEMORY_MIB_MIN..=REQUEST_MEMORY_MIB_MAX,
            )?,
            change_retention_seconds: self.number(
                "change-streams-retention",
                CHANGE_RETENTION_SECONDS,
                CHANGE_RETENTION_SECONDS_MIN..=PURGE_GRACE_SECONDS_MAX,
            )?,
            keep_changes: self.switch("change-streams-from-start")?,
            init: self.init()?,
            log_json: self.choice("log-format", &[("text", false), ("json", true)], false)?,
            log_level: self.log_level()?,
            warnings: self.warn_of_keys(),
        })
    }

    fn verify(&self) -> Result<Verify, String> {
        Ok(Verify {
            data_path: self
                .data_path()?
                .ok_or("verify reads a store on disk; allowed: --data-path DIR without --memory")?,
            drop_damaged_log: self.switch("drop-damaged-log")?,
        })
    }

    fn init(&self) -> Result<Option<PathBuf>, String> {
        match self.0.get("init") {
            Some(given) if !Path::new(&given.text).exists() => {
                Err(bad(given, "a JSON file or a folder of such"))
            }
            Some(given) => Ok(Some(PathBuf::from(&given.text))),
            None => Ok(None),
        }
    }

    fn bind(&self) -> Result<IpAddr, String> {
        let Some(given) = self.0.get("bind") else {
            return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
        };
        if given.text == "localhost" {
            return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        let text = given.text.trim_start_matches('[').trim_end_matches(']');
        text.parse().map_err(|_| {
            bad(
                given,
                "an IP address, such as 127.0.0.1, 0.0.0.0 or ::1, or localhost",
            )
        })
    }

    fn origins(&self, keys: &Keys) -> Result<Origins, String> {
        let loopback_only = keys.any_published();
        let mut named = Vec::new();
        if let Some(given) = self.0.get("cors-origin") {
            if loopback_only {
                return Err(format!(
                    "{given} would let a web page use the published emulator key; give a key of your own with --key-file or \
                     LAPSEDB_KEY"
                ));
            }
            for text in given.text.split(',') {
                let origin = origin::normal(text).ok_or_else(|| {
                    bad(
                        given,
                        "origins such as https://app.example, without a path or a star",
                    )
                })?;
                named.push(origin);
            }
        }
        Ok(Origins {
            loopback_only,
            named,
        })
    }

    fn data_path(&self) -> Result<Option<PathBuf>, String> {
        let memory = self.switch("memory")?;
        match self.0.get("data-path") {
            Some(_) if memory => Err(
                "--memory and --data-path cannot both be given; allowed: one of them".to_owned(),
            ),
            None if memory => Ok(None),
            Some(given) if given.text.is_empty() => Err(bad(given, "a folder")),
            Some(given) => Ok(Some(PathBuf::from(&given.text))),
            None => Ok(Some(PathBuf::from("./lapsedb-data"))),
        }
    }

    fn mongo(&self, bind: IpAddr, own_key: bool) -> Result<Option<Mongo>, String> {
        // As a fresh mongod: open to this machine only while nobody has asked for protection.
        let auth = self.choice("mongo-auth", &ON_OFF, own_key || !bind.is_loopback())?;
        let advertise = match self.0.get("mongo-advertise") {
            None => None,
            Some(given) => {
                let parts = given.text.rsplit_once(':');
                let good = parts.is_some_and(|(host, port)| {
                    !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
                });
                if !good {
                    return Err(bad(given, "HOST:PORT"));
                }
                Some(given.text.clone())
            }
        };
        let test_commands = self.switch("enable-test-commands")?;
        if self
            .0
            .get("mongo-port")
            .is_some_and(|given| given.text == "off")
        {
            return Ok(None);
        }
        let port = self.port("mongo-port", 27017)?;
        Ok(Some(Mongo {
            port,
            auth,
            advertise,
            test_commands,
        }))
    }

    fn log_level(&self) -> Result<tracing::level_filters::LevelFilter, String> {
        use tracing::level_filters::LevelFilter;
        let levels = [
            ("off", LevelFilter::OFF),
            ("error", LevelFilter::ERROR),
            ("warn", LevelFilter::WARN),
            ("info", LevelFilter::INFO),
            ("debug", LevelFilter::DEBUG),
            ("trace", LevelFilter::TRACE),
        ];
        self.choice("log-level", &levels, LevelFilter::INFO)
    }

    fn switch(&self, name: &str) -> Result<bool, String> {
        self.choice(
            name,
            &[
                ("true", true),
                ("false", false),
                ("1", true),
                ("0", false),
                ("on", true),
                ("off", false),
            ],
            false,
        )
    }

    fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)], default: T) -> Result<T, String> {
        let Some(given) = self.0.get(name) else {
            return Ok(default);
        };
        let chosen = choices
            .iter()
            .find(|(word, _)| given.text.eq_ignore_ascii_case(word));
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            bad(given, &words.join(", "))
        })
    }

    fn number(&self, name: &str, default: u64, allowed: Allowed) -> Result<u64, String> {
        let Some(given) = self.0.get(name) else {
            return Ok(default);
        };
        let number = given.text.parse().ok();
        let (min, max) = (allowed.start(), allowed.end());
        number
            .filter(|number| allowed.contains(number))
            .ok_or_else(|| bad(given, &format!("a whole number from {min} to {max}")))
    }

    fn port(&self, name: &str, default: u16) -> Result<u16, String> {
        let port = self
            .number(name, u64::from(default), 0..=u64::from(u16::MAX))
            .map_err(|error| {
                if name == "mongo-port" {
                    format!("{error}, or off")
                } else {
                    error
                }
            })?;
        Ok(u16::try_from(port).unwrap_or(default))
    }
}

/// The numbers that a setting may be.
type Allowed = std::ops::RangeInclusive<u64>;

const ON_OFF: [(&str, bool); 2] = [("on", true), ("off", false)];
