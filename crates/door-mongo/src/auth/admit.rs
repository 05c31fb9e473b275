//! Who may run a command at all.

use std::sync::Arc;

use lapsedb_service::documents::Fault;
use lapsedb_service::{Ctx, Who};

use crate::auth::rights::{Asked, check};
use crate::codes;
use crate::connection::Connection;
use crate::door::Door;
use crate::registry::{Command, Login as Wanted};

/// Refuses who may not run a command, where a login is asked.
pub(crate) async fn admit(
    door: &Arc<Door>,
    connection: &mut Connection,
    command: &'static Command,
    asked: Asked<'_>,
) -> Result<(), Fault> {
    if let Some(login) = &mut connection.login {
        let ctx = Ctx::new(Arc::clone(&door.service), Who::Master);
        if !login.renew(&ctx).await? {
            connection.login = None;
        }
    }
    // What ends other clients' sessions is not as open as what ends one's own.
    let open = command.login == Wanted::Open && !asked.name.starts_with("kill");
    if !door.settings.auth || open {
        return Ok(());
    }
    match &connection.login {
        Some(login) => check(login, asked),
        None => Err(Fault::new(
            codes::UNAUTHORIZED,
            format!("Command {} requires authentication", asked.name),
        )),
    }
}
