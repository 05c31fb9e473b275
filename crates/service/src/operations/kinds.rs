//! What kinds of commands there are.

use lapsedb_value::{Object, Str, Value};

/// A kind of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Documents are inserted.
    Insert,
    /// Documents are looked for.
    Query,
    /// Documents are changed.
    Update,
    /// Documents are removed.
    Delete,
    /// More of what was found is fetched.
    GetMore,
    /// Anything else.
    Command,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] = [
        Kind::Insert,
        Kind::Query,
        Kind::Update,
        Kind::Delete,
        Kind::GetMore,
        Kind::Command,
    ];

    /// The kind of a command, by its name.
    #[must_use]
    pub fn named(name: &str) -> Kind {
        match name {
            "insert" => Kind::Insert,
            "find" => Kind::Query,
            "update" => Kind::Update,
            "delete" => Kind::Delete,
            "getMore" => Kind::GetMore,
            _ => Kind::Command,
        }
    }

    pub(super) fn of_command(command: &Object) -> Kind {
        Kind::named(command.keys().next().map(Str::as_str).unwrap_or_default())
    }

    /// The name under which it is counted.
    #[must_use]
    pub const fn counter(self) -> &'static str {
        match self {
            Kind::Insert => "insert",
            Kind::Query => "query",
            Kind::Update => "update",
            Kind::Delete => "delete",
            Kind::GetMore => "getmore",
            Kind::Command => "command",
        }
    }

    /// The name under which it is listed and recorded.
    #[must_use]
    pub const fn op(self) -> &'static str {
        match self {
            Kind::Delete => "remove",
            Kind::Insert | Kind::Query | Kind::Update | Kind::GetMore | Kind::Command => {
                self.counter()
            }
        }
    }

    /// The name under which time is told of a collection.
    pub(super) const fn in_top(self) -> &'static str {
        match self {
            Kind::Query => "queries",
            Kind::Delete => "remove",
            Kind::Command => "commands",
            Kind::Insert | Kind::Update | Kind::GetMore => self.counter(),
        }
    }

    /// Whether commands of this kind write.
    pub(super) const fn writes(self) -> bool {
        matches!(self, Kind::Insert | Kind::Update | Kind::Delete)
    }
}

/// The collection a command is about.
#[must_use]
pub fn collection_of(command: &Object) -> Option<&str> {
    let (name, value) = command.iter().next()?;
    match value {
        Value::String(collection) if !PLAIN_TEXT.contains(&name.as_str()) => Some(collection),
        _ if name == "getMore" => command.get("collection").and_then(Value::as_str),
        _ => None,
    }
}

/// Commands whose own value is a text, but no collection.
const PLAIN_TEXT: [&str; 18] = [
    "configureFailPoint",
    "createRole",
    "createUser",
    "customAction",
    "dropRole",
    "dropUser",
    "enableSharding",
    "getLog",
    "getParameter",
    "grantPrivilegesToRole",
    "grantRolesToRole",
    "grantRolesToUser",
    "revokePrivilegesFromRole",
    "revokeRolesFromRole",
    "revokeRolesFromUser",
    "shardCollection",
    "updateRole",
    "updateUser",
];
