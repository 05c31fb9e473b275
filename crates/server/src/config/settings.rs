//! Every setting in one table, and the three places it may come from: command line, environment, file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use clap::{Arg, ArgAction, Command};

/// One setting. Its flag is `--name`, its variable `LAPSEDB_NAME`, its key in the file `name`.
#[derive(Debug)]
pub struct Setting {
    /// The name, in kebab case.
    pub name: &'static str,
    /// What the help calls its value; a switch has none.
    pub value: Option<&'static str>,
    /// What it does, in one line.
    pub help: &'static str,
    /// Whether its flag may be given several times. Elsewhere its values stand in one text, with commas between them.
    pub many: bool,
}

const fn setting(name: &'static str, value: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        value: Some(value),
        help,
        many: false,
    }
}

const fn list(name: &'static str, value: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        value: Some(value),
        help,
        many: true,
    }
}

const fn switch(name: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        value: None,
        help,
        many: false,
    }
}

/// All settings, sorted by name.
pub const SETTINGS: &[Setting] = &[
    switch(
        "accept-clock",
        "Start although the clock is far from the store's last time",
    ),
    setting("bind", "ADDR", "Address to listen on [default: 127.0.0.1]"),
    switch(
        "change-streams-from-start",
        "Keep what change streams need for every Mongo collection, not only from the first stream on",
    ),
    setting(
        "change-streams-retention",
        "SECONDS",
        "How long what change streams need is kept [default: 604800]",
    ),
    setting("config", "FILE", "TOML file with settings by these names"),
    list(
        "cors-origin",
        "ORIGIN",
        "Web pages that may use this server, such as https://app.example; needs a key of your own; may be repeated",
    ),
    setting(
        "data-path",
        "DIR",
        "Folder of the durable store [default: ./lapsedb-data]",
    ),
    switch(
        "drop-damaged-log",
        "With verify: drop the damaged part of the write-ahead log and what follows it; copies are kept",
    ),
    setting(
        "durability",
        "sync|relaxed",
        "sync: on disk before it is acknowledged [default: sync]",
    ),
    switch("enable-test-commands", "Mongo fail points; for tests only"),
    setting(
        "init",
        "PATH",
        "JSON file or folder applied before the server is ready",
    ),
    switch(
        "insecure-data-mode",
        "Use a data folder that other users of the machine can reach, for volumes whose modes cannot be changed",
    ),
    switch(
        "insecure-plaintext",
        "Speak plain text too where other machines can reach the server: keys and data can be read on the way",
    ),
    setting(
        "key",
        "BASE64",
        "Master key [default: the published emulator key, on a loopback bind only]",
    ),
    setting("key-file", "FILE", "File that holds the master key"),
    setting(
        "log-format",
        "text|json",
        "Form of the log on standard error [default: text]",
    ),
    setting(
        "log-level",
        "LEVEL",
        "off, error, warn, info, debug or trace [default: info]",
    ),
    switch("memory", "Keep everything in memory; nothing on disk"),
    setting(
        "mongo-advertise",
        "HOST:PORT",
        "Address the Mongo door names to its clients",
    ),
    setting(
        "mongo-auth",
        "on|off",
        "Whether Mongo clients must log in; off on a loopback bind only [default: off there, unless a key is given]",
    ),
    setting(
        "mongo-port",
        "N|off",
        "Port of the Mongo door; 0 = any free port [default: 27017]",
    ),
    setting(
        "port",
        "N",
        "Port of the NoSQL door; 0 = any free port [default: 8081]",
    ),
    setting(
        "protocol",
        "http|https|both",
        "both: one port, the first byte decides [default: both; https on a bind beyond loopback]",
    ),
    setting(
        "purge",
        "on|off",
        "off leaves the dead on disk; they stay invisible [default: on]",
    ),
    setting(
        "purge-grace",
        "SECONDS",
        "How long the dead stay on disk before they are removed [default: 300]",
    ),
    setting(
        "rate-limiting",
        "on|off",
        "on: throttle containers for which no throughput was asked too, at 400 request units a second [default: off]",
    ),
    setting("read-only-key", "BASE64", "A second key that may only read"),
    setting(
        "request-memory-max-mib",
        "MIB",
        "Memory that all requests together may hold, in MiB; over it the largest fails [default: a quarter of the machine's, or of the \
         control group's limit]",
    ),
    setting(
        "request-time-max-seconds",
        "SECONDS",
        "How long a request may take that sets no limit itself; 0 is no limit [default: 60]",
    ),
    switch(
        "virtual-clock",
        "Time stands still until it is moved; only for a store created so, or --memory",
    ),
];

/// Where a value came from, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag,
    /// An environment variable.
    Variable,
    /// The file of this name.
    File(String),
}

/// A value as it was given, unchecked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The setting.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// Where it came from.
    pub origin: Origin,
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A key is never shown, not even a bad one.
        let text = if self.name.contains("key") && self.name != "key-file" {
            "…"
        } else {
            &self.text
        };
        match &self.origin {
            Origin::Flag => write!(f, "--{} {text}", self.name),
            Origin::Variable => write!(f, "{}={text}", variable(self.name)),
            Origin::File(file) => write!(f, "{} = {text} in {file}", self.name),
        }
    }
}

/// The settings of one place, or of several laid over each other.
pub type Layer = BTreeMap<&'static str, Given>;

/// What the command line asks for.
pub enum Asked {
    /// To run, with these settings.
    Run(Layer),
    /// To read the whole store and compare checksums, with these settings.
    Verify(Layer),
    /// To print this text and end.
    Print(String),
}

/// The environment variable of a setting.
pub fn variable(name: &str) -> String {
    format!("LAPSEDB_{}", name.to_uppercase().replace('-', "_"))
}

fn command() -> Command {
    let flags = SETTINGS.iter().map(|setting| {
        let arg = Arg::new(setting.name).long(setting.name).help(format!(
            "{} [env: {}]",
            setting.help,
            variable(setting.name)
        ));
        match setting.value {
            Some(value) => arg.value_name(value).allow_negative_numbers(true),
            // `--memory` and `--memory=true` mean the same, so that a switch can be turned off again.
            None => arg
                .value_name("true|false")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true"),
        }
        .action(if setting.many {
            ArgAction::Append
        } else {
            ArgAction::Set
        })
    });
    Command::new("lapsedb")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A document database whose centre is time to live.")
        .arg(Arg::new("command").help("serve: run the server [default]; verify: read the whole store and compare checksums"))
        .args(flags)
        .after_help("A flag goes before its variable, a variable before the file, the file before the default.")
}

/// Reads the command line.
pub fn from_flags(args: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let matches = match command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(Asked::Print(error.to_string())),
        Err(error) => return Err(one_line(&error)),
    };
    let layer = SETTINGS.iter().filter_map(|setting| {
        let values: Vec<&str> = matches
            .get_many::<String>(setting.name)?
            .map(String::as_str)
            .collect();
        let text = values.join(",");
        Some((
            setting.name,
            Given {
                name: setting.name,
                text,
                origin: Origin::Flag,
            },
        ))
    });
    let layer = layer.collect();
    match matches.get_one::<String>("command").map(String::as_str) {
        None | Some("serve") => Ok(Asked::Run(layer)),
        Some("verify") => Ok(Asked::Verify(layer)),
        Some(word) => Err(format!("unknown command '{word}'; allowed: serve, verify")),
    }
}

/// Says in one line what was wrong and what is allowed.
fn one_line(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    if error.kind() == ErrorKind::UnknownArgument {
        let flags: Vec<String> = SETTINGS
            .iter()
            .map(|setting| format!("--{}", setting.name))
            .collect();
        let unknown = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(unknown)) => unknown.clone(),
            Some(_) | None => "?".to_owned(),
        };
        return format!(
            "unknown argument '{unknown}'; allowed: {}, --version, --help",
            flags.join(", ")
        );
    }
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    format!("{}; see --help", line.trim_start_matches("error: "))
}

/// Reads the environment; an empty variable is an absent one.
pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Layer {
    let layer = SETTINGS.iter().filter_map(|setting| {
        let text = get(&variable(setting.name)).filter(|text| !text.is_empty())?;
        Some((
            setting.name,
            Given {
                name: setting.name,
                text,
                origin: Origin::Variable,
            },
        ))
    });
    layer.collect()
}

/// Reads a file's text.
pub fn from_file(file: &str, text: &str) -> Result<Layer, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let message = error.message().replace('\n', " ");
        let before = error
            .span()
            .and_then(|span| text.get(..span.start))
            .unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        format!("{file} is not TOML: line {line}: {message}")
    })?;
    let mut layer = Layer::new();
    for (key, value) in table {
        let name = key.replace('_', "-");
        let setting = SETTINGS
            .iter()
            .find(|setting| setting.name == name && name != "config");
        let Some(setting) = setting else {
            let names: Vec<&str> = SETTINGS
                .iter()
                .map(|setting| setting.name)
                .filter(|name| *name != "config")
                .collect();
            return Err(format!(
                "unknown setting '{key}' in {file}; allowed: {}",
                names.join(", ")
            ));
        };
        let text = match value {
            toml::Value::Array(values) if setting.many => {
                let texts: Option<Vec<&str>> = values.iter().map(toml::Value::as_str).collect();
                let texts =
                    texts.ok_or_else(|| format!("{key} in {file} must be strings in a list"))?;
                texts.join(",")
            }
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(truth) => truth.to_string(),
            toml::Value::Float(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_) => {
                return Err(format!(
                    "{key} in {file} must be a string, a whole number, true or false"
                ));
            }
        };
        layer.insert(
            setting.name,
            Given {
                name: setting.name,
                text,
                origin: Origin::File(file.to_owned()),
            },
        );
    }
    Ok(layer)
}
