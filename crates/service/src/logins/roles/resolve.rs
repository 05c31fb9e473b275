//! What roles grant, with all that they inherit.

use std::collections::{BTreeSet, VecDeque};

use lapsedb_store::View;

use crate::ctx::Ctx;
use crate::documents::fault::Result;
use crate::logins::RoleName;
use crate::logins::privilege::Privileges;
use crate::logins::roles::load;

/// What somebody has by their roles.
#[derive(Clone, Debug, Default)]
pub struct Granted {
    /// The roles and all that they inherit from, each once, the nearest first.
    pub roles: Vec<RoleName>,
    /// What they allow together.
    pub privileges: Privileges,
}

impl Granted {
    /// What roles grant as far as they are built in.
    #[must_use]
    pub fn by_builtin(roles: &[RoleName]) -> Granted {
        let mut granted = Granted::default();
        for name in roles {
            granted.add_builtin(name);
        }
        granted
    }

    /// Adds a built-in role; says whether it is one.
    fn add_builtin(&mut self, name: &RoleName) -> bool {
        let Some(builtin) = name.builtin() else {
            return false;
        };
        let own = builtin.privileges(&name.database);
        self.privileges.add_all(&own);
        self.roles.push(name.clone());
        true
    }
}

/// What roles grant, as of now. Those that are not there grant nothing.
///
/// # Errors
/// When the engine fails.
pub async fn granted(ctx: &Ctx, roles: &[RoleName]) -> Result<Granted> {
    resolve(&ctx.view().await?, roles).await
}

/// What roles grant in a view.
pub(in crate::logins) async fn resolve(view: &View, roles: &[RoleName]) -> Result<Granted> {
    let mut granted = Granted::default();
    let mut seen = BTreeSet::new();
    let mut waiting: VecDeque<RoleName> = roles.iter().cloned().collect();
    while let Some(name) = waiting.pop_front() {
        if !seen.insert(name.clone()) || granted.add_builtin(&name) {
            continue;
        }
        if let Some(role) = load(view, &name).await? {
            granted.privileges.add_all(&role.privileges);
            granted.roles.push(name);
            waiting.extend(role.roles);
        }
    }
    Ok(granted)
}
