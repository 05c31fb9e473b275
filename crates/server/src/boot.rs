//! From a configuration to a running server, and back to nothing.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use lapsedb_door_cosmos::Door;
use lapsedb_door_cosmos::auth::{KeyRole, Keys};
use lapsedb_record::clock::{ClockEvent, Reason};
use lapsedb_service::{OpenError, Place, Service};
use tokio_rustls::TlsAcceptor;

use crate::config::{Config, Protocol};
use crate::http::Http;
use crate::listen::{Listeners, Serving, Speech};
use crate::metrics::Metrics;
use crate::mongo::Mongo;
use crate::origin::Origins;
use crate::shutdown::Signals;
use crate::slots::Limits;
use crate::tls::Identity;
use crate::{descriptors, folder, init, tls};

/// How often the clock is judged and the service maintained.
const TICK_SECONDS: u64 = 1;
/// How long sweeping waits after a failure.
/// Rest between two steps of building an index, in milliseconds.
const INDEX_PAUSE_MS: u64 = 10;
/// The store's folder in the data path; the certificate lies beside it.
pub const STORE_FOLDER: &str = "store";

/// What all requests share.
pub struct App {
    /// The verbs.
    pub service: Arc<Service>,
    /// The NoSQL door.
    pub door: Door,
    /// Which web pages are let in.
    pub origins: Origins,
    /// What is counted.
    pub metrics: Metrics,
    /// The certificate as PEM text, if this server speaks TLS.
    pub certificate: Option<Bytes>,
    stopping: AtomicBool,
}

impl App {
    /// What requests share from the start.
    pub fn new(service: Arc<Service>, door: Door, origins: Origins) -> App {
        App {
            service,
            door,
            origins,
            metrics: Metrics::default(),
            certificate: None,
            stopping: AtomicBool::new(false),
        }
    }

    /// Whether the server is on its way down.
    pub fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

/// Why there is no server; one line.
#[derive(Debug)]
pub enum Failure {
    /// Another process has the store.
    InUse(String),
    /// Anything else.
    Other(String),
}

impl From<String> for Failure {
    fn from(line: String) -> Failure {
        Failure::Other(line)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        match error {
            OpenError::InUse(line) => Failure::InUse(line),
            OpenError::Clock(_) | OpenError::Format(_) | OpenError::Failed(_) => {
                Failure::Other(error.to_string())
            }
        }
    }
}

/// Runs the server until a signal ends it.
pub async fn run(config: Config) -> Result<(), Failure> {
    let mut signals =
        Signals::new().map_err(|error| format!("cannot wait for signals: {error}"))?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let limits = Limits::of(descriptors::connections_per_port());
    let service = open(&config).await?;
    if let Some(path) = &config.init {
        init::apply(&service, path).await?;
    }
    let identity = identity(&config)?;
    let tls = match &identity {
        Some(identity) => Some(TlsAcceptor::from(identity.server_config()?)),
        None => None,
    };
    let listeners = Listeners::bind(config.bind, config.port).await?;
    let address = listeners.address;
    let door = Door::new(Arc::clone(&service), keys(&config)?);
    let app = Arc::new(App {
        certificate: identity.map(|identity| Bytes::from(identity.certificate)),
        ..App::new(Arc::clone(&service), door, config.origins.clone())
    });
    let speech = || Speech {
        protocol: config.protocol,
        tls: tls.clone(),
        limits,
    };
    let mongo = open_mongo(&config, &app, speech()).await?;
    let http = Http::new(Arc::clone(&app), &limits);
    let serving = Serving::start(listeners, speech(), http);
    let background = [
        tokio::spawn(watch_clock(Arc::clone(&service))),
        tokio::spawn(maintain(Arc::clone(&service))),
        tokio::spawn(sweep(Arc::clone(&service))),
        tokio::spawn(build_indexes(Arc::clone(&service))),
    ];
    // A door that is not there is not named.
    let mongo_address = mongo
        .as_ref()
        .map_or_else(String::new, |(_, address)| format!(" mongo={address}"));
    say_ready(&format!("ready nosql={address}{mongo_address}"));

    let signal = signals.next().await;
    tracing::info!(signal, "stopping");
    app.stopping.store(true, Ordering::Release);
    service.stop_evaluation();
    let mongo = async {
        if let Some((mongo, _)) = mongo {
            mongo.stop().await;
        }
    };
    tokio::join!(serving.stop(), mongo);
    for task in background {
        task.abort();
        // It ends where it next waits; the store is closed behind it.
        let _ = task.await;
    }
    service
        .close()
        .await
        .map_err(|error| format!("the store did not close well: {}", error.message))?;
    Ok(())
}

/// Opens the Mongo door, if it is wanted.
async fn open_mongo(
    config: &Config,
    app: &Arc<App>,
    mut speech: Speech,
) -> Result<Option<(Serving, SocketAddr)>, Failure> {
    let Some(mongo) = &config.mongo else {
        return Ok(None);
    };
    let listeners = Listeners::bind(config.bind, mongo.port)
        .await
        .map_err(|error| format!("{error}; choose another port with --mongo-port, or off"))?;
    let address = listeners.address;
    let settings = lapsedb_door_mongo::Settings {
        auth: mongo.auth,
        advertise: mongo.advertise.clone(),
        test_commands: mongo.test_commands,
        master_key: STANDARD.encode(&config.master_key),
        read_only_key: config
            .read_only_key
            .as_ref()
            .map(|key| STANDARD.encode(key)),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let counting = Arc::clone(app);
    let door = lapsedb_door_mongo::Door::new(Arc::clone(&app.service), settings, move |counted| {
        counting.metrics.count_mongo(counted);
    });
    if !mongo.auth {
        // Nobody logs in, so nobody is a stranger: the first message alone is waited for.
        speech.limits.strangers = speech.limits.connections;
    }
    let serving = Serving::start(listeners, speech, Mongo::new(Arc::new(door)));
    Ok(Some((serving, address)))
}

async fn open(config: &Config) -> Result<Arc<Service>, Failure> {
    let place = match &config.data_path {
        None => Place::Memory,
        Some(path) => {
            let own = [STORE_FOLDER, tls::FOLDER];
            if let Some(line) = folder::prepare(path, &own, config.insecure_data_mode)? {
                tracing::warn!("{line}");
            }
            Place::Disk(path.join(STORE_FOLDER))
        }
    };
    let opened = Service::open(lapsedb_service::Config {
        place,
        relaxed: config.relaxed,
        virtual_clock: config.virtual_clock,
        accept_clock: config.accept_clock,
        purge: config.purge,
        purge_grace: config.purge_grace_seconds,
        request_time_max: config.request_time_max(),
        request_memory_max: config.request_memory_max(),
        change_retention: lapsedb_record::Secs(config.change_retention_seconds),
        keep_changes: config.keep_changes,
        rate_limiting: config.rate_limiting,
        master_key: config.master_key.clone(),
    });
    opened.await.map_err(Failure::from)
}

/// The certificate, after the store is ours: two servers starting at once must not both make one.
fn identity(config: &Config) -> Result<Option<Identity>, String> {
    let given = config.given_names();
    let identity = match (config.protocol, &config.data_path) {
        (Protocol::Http, _) => return Ok(None),
        (Protocol::Https | Protocol::Both, None) => Identity::make(&given)?,
        (Protocol::Https | Protocol::Both, Some(path)) => Identity::load_or_make(path, &given)?,
    };
    tracing::info!(sha256 = identity.fingerprint(), "certificate");
    Ok(Some(identity))
}

/// The one line on standard output that other programs wait for.
fn say_ready(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever does not read it does not need it.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    tracing::info!("{line}");
}

/// Judges the clock every second by itself, so that no work of any length delays the alarm.
async fn watch_clock(service: Arc<Service>) {
    let mut seconds = seconds();
    loop {
        seconds.tick().await;
        service.clock().sample().into_iter().for_each(tell);
    }
}

/// Has the service do every second what it does between requests.
async fn maintain(service: Arc<Service>) {
    let mut seconds = seconds();
    loop {
        seconds.tick().await;
        service.tick().await.into_iter().for_each(tell);
    }
}

/// Has the service build indexes whose policy has changed, a little at a time, so that requests get their turn.
async fn build_indexes(service: Arc<Service>) {
    let mut seconds = seconds();
    loop {
        if service.build_indexes().await {
            tokio::time::sleep(Duration::from_millis(INDEX_PAUSE_MS)).await;
        } else {
            seconds.tick().await;
        }
    }
}

/// Gives disk space back, by itself: a stretch takes longer than a tick may.
async fn sweep(service: Arc<Service>) {
    loop {
        let rest = service.sweep_some().await;
        tokio::time::sleep(rest).await;
    }
}

fn seconds() -> tokio::time::Interval {
    let mut seconds = tokio::time::interval(Duration::from_secs(TICK_SECONDS));
    seconds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    seconds
}

/// The keys as the door wants them.
fn keys(config: &Config) -> Result<Keys, String> {
    let mut keys = Keys::new();
    let read_only = config
        .read_only_key
        .iter()
        .map(|key| (key, KeyRole::ReadOnly));
    for (key, role) in [(&config.master_key, KeyRole::ReadWrite)]
        .into_iter()
        .chain(read_only)
    {
        keys.add(&STANDARD.encode(key), role)
            .map_err(|error| error.to_string())?;
    }
    Ok(keys)
}

fn tell(event: ClockEvent) {
    match event {
        ClockEvent::Suspect { ahead_ms } => tracing::warn!(
            ahead_ms,
            "the clock has jumped ahead and is not believed: nothing expires by it, nothing is purged, until it is \
             synchronised, trusted or steady for 15 minutes"
        ),
        ClockEvent::Returned => tracing::info!("the clock has come back; nothing has happened"),
        ClockEvent::Taken { ahead_ms, reason } => {
            let reason = match reason {
                Reason::Synchronised => "it is synchronised",
                Reason::Trusted => "an operator trusts it",
                Reason::Steady => "it has been steady",
            };
            tracing::warn!(
                ahead_ms,
                reason,
                "the clock has jumped ahead and is believed"
            );
        }
        ClockEvent::Behind { behind_ms } => {
            tracing::warn!(
                behind_ms,
                "the clock was set back; time goes on by the monotonic clock"
            );
        }
    }
}
