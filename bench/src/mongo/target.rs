//! A server that speaks Mongo's wire: ours, or mongod.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};

use super::bson::Doc;
use super::client::Client;
use super::document::Document;
use super::sender::{DATABASE, Worker};
use super::{Load, mongod};
use crate::load::Subject;
use crate::process::{Server, cpu_time};

/// Documents of one insert before the measurement.
const FILL_DOCUMENTS: usize = 500;

/// A server and what it was filled with.
pub struct Target {
    name: &'static str,
    documents: Rc<Vec<Document>>,
    process: Option<Server>,
    /// Removed when the run ends.
    folder: PathBuf,
}

impl Target {
    /// Starts our server with an empty store of its own.
    pub fn lapsedb(program: &Path, dir: &Path, documents: &Rc<Vec<Document>>) -> Result<Self> {
        let folder = dir.join("mongo-store");
        let mut command = Command::new(program);
        command.arg("--data-path").arg(&folder);
        command.args(["--port", "0", "--mongo-port", "0", "--protocol", "http"]);
        command.args(["--log-level", "warn"]);
        let log = dir.join("lapsedb-mongo.log");
        let server = Server::start(&mut command, "mongo=", &log)?;
        Ok(Self::new("lapsedb", server, folder, documents))
    }

    /// Starts mongod with an empty store of its own.
    pub async fn mongod(program: &Path, dir: &Path, documents: &Rc<Vec<Document>>) -> Result<Self> {
        let folder = dir.join("mongod-store");
        let server = mongod::start(program, dir, &folder).await?;
        Ok(Self::new("mongod", server, folder, documents))
    }

    fn new(
        name: &'static str,
        server: Server,
        folder: PathBuf,
        documents: &Rc<Vec<Document>>,
    ) -> Self {
        Self {
            name,
            documents: Rc::clone(documents),
            process: Some(server),
            folder,
        }
    }

    fn address(&self) -> &str {
        self.process.as_ref().map_or("", |server| &server.address)
    }

    /// Fills the collections that are read and changed, and makes an index.
    pub async fn prepare(&self) -> Result<()> {
        let mut client = Client::connect(self.address()).await?;
        for collection in ["reads", "updates"] {
            for some in self.documents.chunks(FILL_DOCUMENTS) {
                let command = Doc::new().text("insert", collection).text("$db", DATABASE);
                let bytes: Vec<&[u8]> = some.iter().map(|one| one.bytes.as_slice()).collect();
                client.call(command, &bytes).await.context("filling")?;
            }
        }
        let index = Doc::new()
            .document("key", Doc::new().int("group", 1))
            .text("name", "group_1");
        let command = Doc::new()
            .text("createIndexes", "reads")
            .list("indexes", vec![index])
            .text("$db", DATABASE);
        client.call(command, &[]).await.context("making an index")?;
        Ok(())
    }
}

impl Subject for Target {
    type Load = Load;
    type Sender = Worker;

    fn name(&self) -> &str {
        self.name
    }

    fn cpu_time(&self) -> Result<Option<Duration>> {
        self.process
            .as_ref()
            .map(|server| cpu_time(server.id()))
            .transpose()
    }

    async fn sender(&self, load: Load, turn_id: usize, number: usize) -> Result<Worker> {
        Worker::connect(self.address(), load, &self.documents, (turn_id, number)).await
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // The server goes first, or it would write into a folder being removed.
        self.process = None;
        let _removed = std::fs::remove_dir_all(&self.folder);
    }
}
