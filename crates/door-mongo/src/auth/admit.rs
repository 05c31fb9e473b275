//! Who may run a command at all.

use std::sync::Arc;

use lapsedb_service::documents::Fault;
use lapsedb_service::{Ctx, Who};

use crate::auth::rights::check;
use crate::codes;
use crate::connection::Connection;
use crate::door::Door;
use crate::registry::Login as Wanted;
use crate::request::Request;

/// Refuses who may not run a command, where a login is asked.
pub(crate) async fn admit(
    door: &Arc<Door>,
    connection: &mut Connection,
    request: &Request,
) -> Result<(), Fault> {
    if let Some(login) = &mut connection.login {
        let ctx = Ctx::new(Arc::clone(&door.service), Who::Master);
        if !login.renew(&ctx).await? {
            connection.login = None;
        }
    }
    // What ends other clients' sessions is not as open as what ends one's own.
    let open = request.command.login == Wanted::Open && !request.name.starts_with("kill");
    if !door.settings.auth || open {
        return Ok(());
    }
    match &connection.login {
        Some(login) => check(login, request),
        None => Err(Fault::new(
            codes::UNAUTHORIZED,
            format!("Command {} requires authentication", request.name),
        )),
    }
}
