//! What commands on users need.

use lapsedb_service::logins::action::Action;
use lapsedb_service::logins::privilege::{Resource, Target};
use lapsedb_service::logins::role::ADMIN;
use lapsedb_value::Value;

use super::Rights;
use crate::auth::login::Login;

impl Rights<'_> {
    /// Whether a command on users or roles may be run; nothing, if it is none.
    pub(super) fn on_users(&self, login: &Login) -> Option<bool> {
        Some(match self.asked.command.name {
            "createUser" => self.database(&[Action::CreateUser]) && self.roles(Action::GrantRole),
            "dropUser" | "dropAllUsersFromDatabase" => self.database(&[Action::DropUser]),
            "grantRolesToUser" => self.roles(Action::GrantRole),
            "revokeRolesFromUser" => self.roles(Action::RevokeRole),
            "updateUser" => self.changes_a_user(login),
            "createRole" => {
                self.database(&[Action::CreateRole])
                    && self.roles(Action::GrantRole)
                    && self.named_privileges(Action::GrantRole)
            }
            "updateRole" => {
                // What it has had is taken from it, and nobody knows where that reaches.
                self.everywhere(Action::RevokeRole)
                    && self.roles(Action::GrantRole)
                    && self.named_privileges(Action::GrantRole)
            }
            "dropRole" | "dropAllRolesFromDatabase" => self.database(&[Action::DropRole]),
            "grantPrivilegesToRole" => self.named_privileges(Action::GrantRole),
            "revokePrivilegesFromRole" => self.named_privileges(Action::RevokeRole),
            "grantRolesToRole" => self.roles(Action::GrantRole),
            "revokeRolesFromRole" => self.roles(Action::RevokeRole),
            "usersInfo" => self.looks_at_users(login),
            "rolesInfo" => self.looks_at_roles(login),
            _ => return None,
        })
    }

    /// The databases of the roles that a command names.
    pub(super) fn roles(&self, action: Action) -> bool {
        let roles = self.asked.body.get("roles").and_then(Value::as_array);
        roles.unwrap_or_default().iter().all(|role| {
            let database = role.get("db").as_str().unwrap_or(&self.asked.database);
            self.all(&[action], &Target::Database(database.to_owned()))
        })
    }

    /// The databases that the privileges which a command names reach into; what reaches further is like a role of `admin`.
    pub(super) fn named_privileges(&self, action: Action) -> bool {
        let privileges = self.asked.body.get("privileges").and_then(Value::as_array);
        privileges.unwrap_or_default().iter().all(|privilege| {
            // What is no privilege is refused by the command itself, by the same reading.
            let Ok(resource) = Resource::read(privilege) else {
                return true;
            };
            let database = resource.own_database().unwrap_or(ADMIN).to_owned();
            self.all(&[action], &Target::Database(database))
        })
    }

    pub(super) fn changes_a_user(&self, login: &Login) -> bool {
        let has = |member: &str| self.asked.body.contains_key(member);
        let named = self
            .asked
            .body
            .get(&self.asked.name)
            .and_then(Value::as_str);
        let own = named == Some(&login.user) && self.asked.database == login.database;
        let may = |any: Action, of_own: Action| {
            self.database(&[any]) || (own && self.database(&[of_own]))
        };
        if (has("pwd") || has("mechanisms"))
            && !may(Action::ChangePassword, Action::ChangeOwnPassword)
        {
            return false;
        }
        if has("customData") && !may(Action::ChangeCustomData, Action::ChangeOwnCustomData) {
            return false;
        }
        // The roles it has had are taken from it, and nobody knows of which databases they are.
        !has("roles") || (self.everywhere(Action::RevokeRole) && self.roles(Action::GrantRole))
    }

    pub(super) fn looks_at_users(&self, login: &Login) -> bool {
        let one = |value: &Value| match value {
            Value::String(name) => {
                let own = *name == login.user && self.asked.database == login.database;
                own || self.database(&[Action::ViewUser])
            }
            Value::Object(named) if named.contains_key("forAllDBs") => {
                self.all(&[Action::ViewUser], &Target::Cluster)
            }
            Value::Object(_) => {
                let (user, database) = (value.get("user").as_str(), value.get("db").as_str());
                let own = user == Some(&login.user) && database == Some(&login.database);
                let database = database.unwrap_or(&self.asked.database).to_owned();
                own || self.all(&[Action::ViewUser], &Target::Database(database))
            }
            _ => self.database(&[Action::ViewUser]),
        };
        match self.asked.body.get(&self.asked.name) {
            Some(Value::Array(several)) => several.iter().all(one),
            Some(value) => one(value),
            None => true,
        }
    }

    pub(super) fn looks_at_roles(&self, login: &Login) -> bool {
        let own = login.roles();
        let one = |value: &Value| {
            let (role, database) = match value {
                Value::String(role) => (Some(role.as_str()), self.asked.database.as_str()),
                Value::Object(_) => (
                    value.get("role").as_str(),
                    value.get("db").as_str().unwrap_or(&self.asked.database),
                ),
                _ => (None, self.asked.database.as_str()),
            };
            let has = |role: &str| {
                own.iter()
                    .any(|own| own.role == role && own.database == database)
            };
            role.is_some_and(has)
                || self.all(&[Action::ViewRole], &Target::Database(database.to_owned()))
        };
        match self.asked.body.get(&self.asked.name) {
            Some(Value::Array(several)) => several.iter().all(one),
            Some(value) => one(value),
            None => true,
        }
    }
}
