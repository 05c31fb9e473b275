//! What somebody who is logged in may do, as of now.

use std::sync::Arc;

use crate::access::Who;
use crate::ctx::Ctx;
use crate::documents::fault::Result;
use crate::logins::privilege::Privileges;
use crate::logins::roles::{Granted, Shared};
use crate::logins::{RoleName, User, load};

/// The rights of a login; asked again whenever a login or a role has changed.
#[derive(Clone, Debug)]
pub struct Access {
    database: String,
    name: String,
    id: [u8; 16],
    /// The state of logins and roles in which the rights were read; none if never.
    version: Option<u64>,
    granted: Shared,
}

impl Access {
    /// The rights of a login that was found, from what its roles grant it. Whoever does not know that yet passes nothing, and the
    /// first [`Access::renew`] reads it.
    #[must_use]
    pub fn of(user: &User, granted: Granted) -> Access {
        Access {
            database: user.database.clone(),
            name: user.name.clone(),
            id: user.id,
            version: None,
            granted: granted.into(),
        }
    }

    /// Brings the rights up to date; false if there is no such login any more.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn renew(&mut self, ctx: &Ctx) -> Result<bool> {
        let view = ctx.view().await?;
        let version = view.catalog().logins;
        if self.version == Some(version) {
            return Ok(true);
        }
        match load(&view, &self.database, &self.name).await? {
            // One of the same name that was made later is somebody else.
            Some(user) if user.id == self.id => {
                let resolved = &ctx.service().documents_state().resolved_roles;
                self.granted = resolved.get(&view, &user.roles).await?;
                self.version = Some(version);
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// The login's database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The roles, inherited ones too.
    #[must_use]
    pub fn roles(&self) -> &[RoleName] {
        &self.granted.roles
    }

    /// What they allow.
    #[must_use]
    pub fn privileges(&self) -> &Privileges {
        &self.granted.privileges
    }

    /// What they allow, to be kept by a request.
    #[must_use]
    pub fn shared_privileges(&self) -> Arc<Privileges> {
        Arc::clone(&self.granted.privileges)
    }

    /// Who asks, for verbs that know only who may write: somebody whose roles all read may not.
    #[must_use]
    pub const fn who(&self) -> Who {
        if self.granted.only_read {
            Who::ReadOnly
        } else {
            Who::Master
        }
    }
}
