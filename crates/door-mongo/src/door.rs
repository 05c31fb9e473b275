//! The door itself: what all connections share.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lapsedb_service::{Clock, Service};

use crate::auth::{Throttle, Users};
use crate::compression::Compression;
use crate::connection::Patience;
use crate::fail_points::FailPoints;

/// How the door was told to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether clients must log in.
    pub auth: bool,
    /// The address named to clients; else the one they came to.
    pub advertise: Option<String>,
    /// Whether fail points may be set.
    pub test_commands: bool,
    /// The master key, as text: the password of `lapsedb`.
    pub master_key: String,
    /// The read-only key, as text: the password of `lapsedb-reader`.
    pub read_only_key: Option<String>,
    /// The version of this program.
    pub version: String,
}

/// One answered command, to be counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Its name, as the registry knows it.
    pub command: &'static str,
    /// The code of its failure; none if it succeeded.
    pub code: Option<i32>,
    /// How long it took.
    pub took: Duration,
}

/// The Mongo door.
pub struct Door {
    pub(crate) service: Arc<Service>,
    pub(crate) settings: Settings,
    pub(crate) users: Users,
    pub(crate) throttle: Throttle,
    pub(crate) started: Instant,
    /// Says that this process leads the set of one, and which process it is.
    pub(crate) election: [u8; 12],
    pub(crate) count: Box<dyn Fn(Counted) + Send + Sync>,
    pub(crate) connections: Connections,
    pub(crate) compression: Compression,
    pub(crate) fail_points: FailPoints,
    pub(crate) patience: Patience,
    replies: AtomicI32,
}

/// How many connections there are and were.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    pub(crate) open: AtomicU64,
    pub(crate) made: AtomicU64,
}

impl Door {
    /// A door on a service; every answered command is told to `count`.
    pub fn new(
        service: Arc<Service>,
        settings: Settings,
        count: impl Fn(Counted) + Send + Sync + 'static,
    ) -> Door {
        let users = Users::new(&settings);
        let election = lapsedb_service::documents::object_id(service.clock().now());
        Door {
            service,
            settings,
            users,
            throttle: Throttle::new(),
            started: Clock::monotonic(),
            election,
            count: Box::new(count),
            connections: Connections::default(),
            compression: Compression::default(),
            fail_points: FailPoints::default(),
            patience: Patience::default(),
            replies: AtomicI32::new(1),
        }
    }

    /// The same door, more or less patient.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Door {
        self.patience = patience;
        self
    }

    /// A number for a reply.
    pub(crate) fn reply_id(&self) -> i32 {
        self.replies.fetch_add(1, Ordering::Relaxed)
    }
}
