//! What commands on users need.

use lapsedb_service::logins::action::Action;
use lapsedb_service::logins::privilege::Target;
use lapsedb_value::Value;

use super::Rights;
use crate::auth::login::Login;

impl Rights<'_> {
    /// The databases of the roles that a command names.
    pub(super) fn roles(&self, action: Action) -> bool {
        let roles = self.asked.body.get("roles").and_then(Value::as_array);
        roles.unwrap_or_default().iter().all(|role| {
            let database = role.get("db").as_str().unwrap_or(&self.asked.database);
            self.all(&[action], &Target::Database(database.to_owned()))
        })
    }

    pub(super) fn changes_a_user(&self) -> bool {
        let has = |member: &str| self.asked.body.contains_key(member);
        let mut actions = Vec::new();
        if has("pwd") || has("mechanisms") {
            actions.push(Action::ChangePassword);
        }
        if has("customData") {
            actions.push(Action::ChangeCustomData);
        }
        if has("roles") {
            // The roles it has had are taken from it.
            actions.push(Action::RevokeRole);
        }
        self.database(&actions) && (!has("roles") || self.roles(Action::GrantRole))
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
