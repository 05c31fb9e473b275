//! A door on a service in memory, asked without a socket, and commands written as text that may name a field twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use lapsedb_service::{Config, Service};
use lapsedb_value::{Object, Value, bson};

use crate::auth::{Asker, Kind, Login};
use crate::call;
use crate::connection::{Connection, Peer};
use crate::door::{Door, Settings};
use crate::wire::{OpMsg, REPLY_ROOM};

const PASSWORD: &str = "a password of tests";

/// A door where clients must log in.
pub(crate) struct Bench {
    pub(crate) door: Arc<Door>,
}

impl Bench {
    pub(crate) async fn new() -> Bench {
        Bench::with(true).await
    }

    /// A door where nobody has to log in.
    pub(crate) async fn open_to_all() -> Bench {
        Bench::with(false).await
    }

    async fn with(auth: bool) -> Bench {
        let config = Config::in_memory(b"a master key of tests".to_vec());
        let service = Service::open(config).await.unwrap();
        let settings = Settings {
            auth,
            advertise: None,
            test_commands: true,
            master_key: "master".to_owned(),
            read_only_key: None,
            version: "0".to_owned(),
        };
        let door = Arc::new(Door::new(service, settings, |_| {}));
        Bench { door }
    }

    /// A connection on which somebody has logged in, or nobody.
    pub(crate) fn connection(&self, login: Option<Login>) -> Connection {
        let peer = Peer {
            client: ([127, 0, 0, 1], 1).into(),
            server: ([127, 0, 0, 1], 2).into(),
            tls: false,
        };
        let operations = &self.door.service.documents_state().operations;
        Connection {
            number: 1,
            peer,
            login,
            sasl: None,
            app_name: None,
            closing: false,
            line: operations.open(1, peer.client.to_string()),
            gone: None,
            counting: lapsedb_service::Counting::new(&self.door.service),
        }
    }

    /// A connection by the master key.
    pub(crate) fn master(&self) -> Connection {
        self.connection(Some(Login {
            user: "lapsedb".to_owned(),
            database: "admin".to_owned(),
            kind: Kind::Master,
        }))
    }

    /// A connection of a new user with some roles, given as `role@database`.
    pub(crate) async fn user(&self, database: &str, name: &str, roles: &[&str]) -> Connection {
        let roles: Vec<_> = roles
            .iter()
            .map(|role| role.split_once('@').unwrap())
            .map(|(role, on)| format!(r#"{{"role":"{role}","db":"{on}"}}"#))
            .collect();
        let roles = roles.join(",");
        let command = format!(r#"{{"createUser":"{name}","pwd":"{PASSWORD}","roles":[{roles}]}}"#);
        self.succeed(&mut self.master(), database, &command).await;
        let door = &self.door;
        let asker = Asker {
            app_name: None,
            client: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        };
        let found = door.users.check(door, (database, name), PASSWORD, asker);
        let kind = found.await.unwrap().unwrap();
        self.connection(Some(Login {
            user: name.to_owned(),
            database: database.to_owned(),
            kind,
        }))
    }

    /// The reply to a command as it stands, `$db` included.
    pub(crate) async fn ask_raw(&self, connection: &mut Connection, body: Object) -> Object {
        let message = OpMsg {
            body,
            sequences: Vec::new(),
            more_to_come: false,
            exhaust_allowed: false,
            shown: Box::default(),
        };
        let answered = call::run(&self.door, connection, message).await;
        bson::read_document(&answered.document[REPLY_ROOM..]).unwrap()
    }

    /// The reply to a command on a database.
    pub(crate) async fn ask(
        &self,
        connection: &mut Connection,
        database: &str,
        command: &str,
    ) -> Object {
        let mut body = document(command);
        body.push("$db", database);
        self.ask_raw(connection, body).await
    }

    /// The reply to a command that must succeed.
    pub(crate) async fn succeed(
        &self,
        connection: &mut Connection,
        database: &str,
        command: &str,
    ) -> Object {
        let reply = self.ask(connection, database, command).await;
        assert_eq!(code(&reply), 0, "{database} {command}: {reply:?}");
        reply
    }
}

/// The code of a failure; 0, if the command succeeded.
pub(crate) fn code(reply: &Object) -> i64 {
    match reply.get("ok").and_then(Value::as_f64) {
        Some(1.0) => 0,
        _ => reply.get("code").and_then(Value::as_i64).unwrap(),
    }
}

/// A document written as JSON without escapes; a name may be there twice.
pub(crate) fn document(text: &str) -> Object {
    let mut rest = text;
    match value(&mut rest) {
        Value::Object(object) if rest.is_empty() => object,
        other => panic!("not a document: {text}: {other} {rest}"),
    }
}

fn value(rest: &mut &str) -> Value {
    match rest.as_bytes()[0] {
        b'{' => {
            let mut object = Object::new();
            skip(rest, '{');
            while !rest.starts_with('}') {
                let name = string(rest);
                skip(rest, ':');
                object.push(name, value(rest));
                rest.starts_with(',').then(|| skip(rest, ','));
            }
            skip(rest, '}');
            Value::Object(object)
        }
        b'[' => {
            let mut elements = Vec::new();
            skip(rest, '[');
            while !rest.starts_with(']') {
                elements.push(value(rest));
                rest.starts_with(',').then(|| skip(rest, ','));
            }
            skip(rest, ']');
            Value::Array(elements)
        }
        b'"' => Value::from(string(rest)),
        _ => {
            let end = rest.find([',', '}', ']']).unwrap_or(rest.len());
            let (token, after) = rest.split_at(end);
            *rest = after;
            match token.strip_suffix('L') {
                Some(long) => Value::Int64(long.parse().unwrap()),
                None if token == "null" => Value::Null,
                None if token == "true" || token == "false" => Value::Bool(token == "true"),
                None => Value::Int32(token.parse().unwrap()),
            }
        }
    }
}

fn skip(rest: &mut &str, sign: char) {
    *rest = rest
        .strip_prefix(sign)
        .unwrap_or_else(|| panic!("no {sign} before {rest}"));
}

fn string<'t>(rest: &mut &'t str) -> &'t str {
    skip(rest, '"');
    let (text, after) = rest.split_once('"').unwrap();
    *rest = after;
    text
}
