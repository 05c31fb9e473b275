//! A server under measurement: the bare one, ours, or a peer.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::args::Load;
use crate::bare;
use crate::client::Client;
use crate::item::{Item, Random};
use crate::load::{Sender, Subject};
use crate::process::{Server, cpu_time};

/// Connections used to fill a container before the measurement.
const FILL_CONNECTIONS: usize = 32;

/// A server and what it was filled with.
pub struct Target {
    /// As the table calls it.
    pub name: String,
    /// Where it listens.
    address: String,
    /// What reads ask for.
    items: Rc<Vec<Item>>,
    /// The container that is read, as a link.
    read_from: Rc<str>,
    /// The container that is written, as a link.
    write_to: Rc<str>,
    /// The bare server answers this item whatever was asked.
    fixed: Option<Rc<Item>>,
    database: String,
    process: Option<Server>,
    /// Removed when the run ends.
    folder: Option<PathBuf>,
}

impl Target {
    /// Starts the bare server: this very program.
    pub fn bare(dir: &Path, items: &Rc<Vec<Item>>) -> Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let server = Server::start(
            Command::new(program).arg("bare"),
            "nosql=",
            &dir.join("bare.log"),
        )?;
        let mut target = Self::new("bare", &server.address.clone(), items);
        target.process = Some(server);
        target.fixed = Some(Rc::new(bare::item()));
        Ok(target)
    }

    /// Starts the server with an empty store of its own.
    pub fn lapsedb(program: &Path, dir: &Path, items: &Rc<Vec<Item>>) -> Result<Self> {
        let folder = dir.join("store");
        let mut command = Command::new(program);
        command.arg("--data-path").arg(&folder);
        command.args([
            "--port",
            "0",
            "--mongo-port",
            "off",
            "--protocol",
            "http",
            "--log-level",
            "warn",
        ]);
        let server = Server::start(&mut command, "nosql=", &dir.join("lapsedb.log"))?;
        let mut target = Self::new("lapsedb", &server.address.clone(), items);
        target.process = Some(server);
        target.folder = Some(folder);
        Ok(target)
    }

    /// A server somebody else started: its CPU time is not known.
    pub fn peer(name: &str, address: &str, items: &Rc<Vec<Item>>) -> Self {
        Self::new(name, address, items)
    }

    fn new(name: &str, address: &str, items: &Rc<Vec<Item>>) -> Self {
        // A peer may still have the database of an earlier run.
        let database = format!("dbs/bench-{}", std::process::id());
        Self {
            name: name.to_owned(),
            address: address.to_owned(),
            items: Rc::clone(items),
            read_from: format!("{database}/colls/reads").into(),
            write_to: format!("{database}/colls/creates").into(),
            fixed: None,
            database,
            process: None,
            folder: None,
        }
    }

    /// Creates database and containers and fills the one that is read. The bare server needs none.
    pub async fn prepare(&self) -> Result<()> {
        if self.fixed.is_some() {
            return Ok(());
        }
        let mut client = Client::connect(&self.address).await?;
        let id = self.database.trim_start_matches("dbs/");
        client
            .create_resource("dbs", "", format!("{{\"id\":\"{id}\"}}"))
            .await?;
        for container in ["reads", "creates"] {
            let body = format!(
                "{{\"id\":\"{container}\",\"partitionKey\":{{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}}}}"
            );
            client
                .create_resource("colls", &self.database, body)
                .await?;
        }
        self.fill()
            .await
            .with_context(|| format!("filling {}", self.name))
    }

    async fn fill(&self) -> Result<()> {
        let mut workers = Vec::new();
        for worker in 0..FILL_CONNECTIONS {
            let mut client = Client::connect(&self.address).await?;
            let items = Rc::clone(&self.items);
            let container = Rc::clone(&self.read_from);
            workers.push(tokio::task::spawn_local(async move {
                for item in items.iter().skip(worker).step_by(FILL_CONNECTIONS) {
                    client.create(&container, item, item).await?;
                }
                anyhow::Ok(())
            }));
        }
        for worker in workers {
            worker.await??;
        }
        Ok(())
    }

    /// Leaves a peer as it was found.
    pub async fn clear(&self) -> Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        Client::connect(&self.address)
            .await?
            .delete_database(&self.database)
            .await
    }
}

impl Subject for Target {
    type Load = Load;
    type Sender = Worker;

    fn name(&self) -> &str {
        &self.name
    }

    fn cpu_time(&self) -> Result<Option<Duration>> {
        self.process
            .as_ref()
            .map(|server| cpu_time(server.id()))
            .transpose()
    }

    async fn sender(&self, load: Load, turn_id: usize, number: usize) -> Result<Worker> {
        Ok(Worker {
            client: Client::connect(&self.address).await?,
            load,
            items: Rc::clone(&self.items),
            read_from: Rc::clone(&self.read_from),
            write_to: Rc::clone(&self.write_to),
            fixed: self.fixed.clone(),
            name: format!("t{turn_id}-{number}"),
            random: Random::of_worker(turn_id, number),
        })
    }
}

/// A connection, and what it sends.
pub struct Worker {
    client: Client,
    load: Load,
    items: Rc<Vec<Item>>,
    read_from: Rc<str>,
    write_to: Rc<str>,
    fixed: Option<Rc<Item>>,
    /// Part of the ids this worker creates.
    name: String,
    random: Random,
}

impl Sender for Worker {
    async fn send(&mut self, count: u64) -> Result<()> {
        match self.load {
            Load::Reads => {
                let item = &self.items[self.random.below(self.items.len())];
                let expected = self.fixed.as_deref().unwrap_or(item);
                self.client.read(&self.read_from, item, expected).await
            }
            Load::Creates => {
                let item = Item::new(format!("{}-{count}", self.name), self.random.next());
                let expected = self.fixed.as_deref().unwrap_or(&item);
                self.client.create(&self.write_to, &item, expected).await
            }
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // The server goes first, or it would write into a folder being removed.
        self.process = None;
        if let Some(folder) = &self.folder {
            let _removed = std::fs::remove_dir_all(folder);
        }
    }
}
