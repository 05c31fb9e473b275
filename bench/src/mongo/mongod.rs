//! A real mongod beside ours, where there is one: a set of one member with a journal, on a store of its own.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use super::bson::{self, Doc, Member};
use super::client::Client;
use crate::process::{READY_SECONDS_MAX, Server, tail};

/// Between two looks whether it is ready.
const STEP: Duration = Duration::from_millis(100);
const SET: &str = "bench";

/// Where mongod is: `LAPSEDB_MONGOD`, or where the tests that compare with it have put it.
pub fn find() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("LAPSEDB_MONGOD") {
        return Some(PathBuf::from(given));
    }
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = variable("LAPSEDB_CACHE").or_else(|| {
        let caches =
            variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
        Some(caches.join("lapsedb"))
    })?;
    let known = cache.join("mongod").join("mongod");
    known.exists().then_some(known)
}

/// Starts it and waits until it takes writes.
pub async fn start(program: &Path, dir: &Path, folder: &Path) -> Result<Server> {
    std::fs::create_dir_all(folder)?;
    let log = dir.join("mongod.log");
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port();
    let address = format!("127.0.0.1:{port}");
    let mut command = Command::new(program);
    command.arg("--dbpath").arg(folder);
    command.arg("--logpath").arg(&log);
    command.args(["--bind_ip", "127.0.0.1", "--port", &port.to_string()]);
    // Its journal is always on. Neither side is short of memory: all that is measured fits.
    command.args(["--replSet", SET, "--wiredTigerCacheSizeGB", "1", "--quiet"]);
    let mut server = Server::launch(&mut command, address.clone(), &dir.join("mongod.err"))?;
    let steps = READY_SECONDS_MAX * 1000 / u64::try_from(STEP.as_millis()).unwrap_or(1);
    let mut is_asked = false;
    for _ in 0..steps {
        if server.has_ended() {
            break;
        }
        match ready(&address, &mut is_asked).await {
            Ok(true) => return Ok(server),
            Ok(false) | Err(_) => tokio::time::sleep(STEP).await,
        }
    }
    bail!(
        "{} does not get ready (waited up to {READY_SECONDS_MAX} s); its log ends: {}",
        program.display(),
        tail(&log)
    )
}

/// Whether it leads its set of one, which it is told to make.
async fn ready(address: &str, is_asked: &mut bool) -> Result<bool> {
    let mut client = Client::connect(address).await?;
    if !*is_asked {
        let member = Doc::new().int("_id", 0).text("host", address);
        let set = Doc::new().text("_id", SET).list("members", vec![member]);
        let initiate = Doc::new()
            .document("replSetInitiate", set)
            .text("$db", "admin");
        client.call(initiate, &[]).await?;
        *is_asked = true;
    }
    let hello = Doc::new().int("hello", 1).text("$db", "admin");
    let answer = client.call(hello, &[]).await?;
    let leads = bson::find(answer, &["isWritablePrimary"])?.and_then(Member::as_i64);
    Ok(leads == Some(1))
}
