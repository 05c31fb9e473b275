//! One command: from its document to a reply's.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lapsedb_service::documents::{Fault, RawDocument, Work, read_all};
use lapsedb_service::logins::privilege::Privileges;
use lapsedb_service::{Clock, Ctx, Who, caught, in_turns, sessions};
use lapsedb_value::{Object, Value};

use crate::answer::{self, Answer};
use crate::auth::{self, Kind, Login};
use crate::codes;
use crate::commands::hello;
use crate::connection::Connection;
use crate::door::Door;
use crate::error;
use crate::fail_points::Failure;
use crate::generic::Generic;
use crate::labels::{self, Role};
use crate::lsid::Owner;
use crate::registry::{self, Command};
use crate::request::{self, Refused, Request};
use crate::transactional_writes::{repeated, statements};
use crate::unwinding;
use crate::wire::{OpMsg, OpQuery, Sequence};
use crate::{profiling, read_concern, transactions, write_concern};

/// A command's future.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<Answer, Fault>> + Send + 'a>>;

/// A command under way.
pub(crate) struct Call<'c> {
    pub(crate) door: &'c Arc<Door>,
    pub(crate) connection: &'c mut Connection,
    pub(crate) command: &'static Command,
    /// The name as the client wrote it.
    pub(crate) name: String,
    pub(crate) database: String,
    pub(crate) body: Object,
    /// The command that an explain is about.
    pub(crate) explained: Option<Box<Request>>,
    /// Documents of an insert that have not been read.
    pub(crate) raw_documents: Vec<RawDocument>,
    pub(crate) generic: Generic,
    /// When it came: its time limit counts from then on, not from its turn.
    began: Instant,
    /// A test wants it to panic.
    panics: bool,
    /// Whether it has come to its place in its session.
    begun: AtomicBool,
}

impl Call<'_> {
    /// Who asks.
    pub(crate) fn who(&self) -> Who {
        match &self.connection.login {
            // As long as nobody must log in, what is stored of users binds nobody.
            Some(login) if self.door.settings.auth || matches!(login.kind, Kind::Reader) => {
                login.who()
            }
            Some(_) | None => Who::Master,
        }
    }

    /// What a stored user may do, where that matters.
    pub(crate) fn enforced(&self) -> Option<&Privileges> {
        match &self.connection.login {
            Some(Login {
                kind: Kind::Stored(access),
                ..
            }) if self.door.settings.auth => Some(access.privileges()),
            Some(_) | None => None,
        }
    }

    /// The request's context.
    pub(crate) fn ctx(&self) -> Ctx {
        let login = self.connection.login.as_ref();
        let login = login.filter(|_| self.door.settings.auth);
        let reader = login.is_some_and(|login| matches!(login.kind, Kind::Reader));
        Ctx::new(Arc::clone(&self.door.service), self.who())
            .by(login.and_then(Login::owner))
            .bound_by(login.and_then(Login::rights))
            .by_read_only_key(reader)
    }

    /// Whose sessions it may name.
    pub(crate) fn session_owner(&self) -> Owner {
        Owner::of(self.connection.login.as_ref(), self.door.settings.auth)
    }

    /// Refuses a command that belongs to the whole server on any other database.
    pub(crate) fn only_on_admin(&self) -> Result<(), Fault> {
        if self.database == "admin" {
            return Ok(());
        }
        Err(Fault::new(
            codes::UNAUTHORIZED,
            format!(
                "{} may only be run against the admin database.",
                self.command.name
            ),
        ))
    }

    /// The work of this command, outside of its session.
    pub(crate) fn work(&self) -> Work {
        self.bounded(Work::new(self.ctx()))
    }

    /// The work of this command at its place in its session.
    pub(crate) async fn begin(&self) -> Result<Work, Fault> {
        self.begun.store(true, Ordering::Relaxed);
        let work = sessions::begin(self.ctx(), &self.generic.session).await;
        Ok(self.bounded(work?))
    }

    /// Panics, if a test wants it.
    pub(crate) fn panic_point(&self) {
        assert!(!self.panics, "a fail point wants this command to panic");
    }

    /// Work that ends when its time is up, or when somebody ends this command.
    fn bounded(&self, work: Work) -> Work {
        self.panic_point();
        let runs_out = self.door.fail_points.times_out();
        let left = |limit: Duration| limit.saturating_sub(spent(self.command, self.began));
        let work = work.within(self.generic.max_time.map(left));
        let work = work.while_connected(self.connection.gone.clone());
        let work = work.received_within(Arc::clone(self.connection.counting.budget()));
        work.running_out(runs_out).on_line(&self.connection.line)
    }
}

/// How much of its time a command has spent since it came. What a getMore is given is the time that it may wait for more.
fn spent(command: &Command, began: Instant) -> Duration {
    match command.name {
        "getMore" => Duration::ZERO,
        _ => began.elapsed(),
    }
}

/// How a reply goes back.
pub(crate) enum Form {
    /// In the message of today.
    Msg,
    /// In the reply to an old query.
    Old {
        /// The query itself failed.
        failed: bool,
    },
}

/// A command and its reply.
pub(crate) struct Answered {
    pub(crate) command: &'static str,
    pub(crate) code: Option<i32>,
    /// Its bytes, with room before them for what the wire puts there.
    pub(crate) document: Vec<u8>,
    pub(crate) form: Form,
    /// A cursor stays open behind the batch that is answered.
    pub(crate) more: bool,
}

/// The database that a message without one means: only greetings may leave it out.
const DEFAULT_DATABASE: &str = "admin";

/// Runs the command of a message.
pub(crate) async fn run(door: &Arc<Door>, connection: &mut Connection, message: OpMsg) -> Answered {
    let mut body = message.body;
    let mut raw_documents = Vec::new();
    for (name, sequence) in message.sequences {
        let is_raw = name == "documents" && !raw_documents.is_empty();
        if is_raw || body.contains_key(&name) {
            let fault = Fault::new(
                codes::DUPLICATE_SEQUENCE,
                format!("Duplicate field between body and document sequence {name}"),
            );
            return failed(door, "other", &fault, Form::Msg);
        }
        let inserts = body.keys().next().is_some_and(|first| first == "insert");
        let read = match sequence {
            Sequence::Read(documents) => Ok(documents.into_iter().map(Value::Object).collect()),
            Sequence::Raw(documents) if inserts && name == "documents" => {
                raw_documents = documents;
                continue;
            }
            Sequence::Raw(documents) => read_raw(connection, &documents),
        };
        match read {
            Ok(documents) => body.push(name, Value::Array(documents)),
            Err(fault) => return failed(door, "other", &fault, Form::Msg),
        }
    }
    let database = match request::take_database(&mut body) {
        Err(fault) => return failed(door, "other", &fault, Form::Msg),
        Ok(Some(Value::String(database))) => database.to_string(),
        Ok(Some(_) | None) => {
            let fault = Fault::new(
                codes::MISSING_DATABASE,
                "OP_MSG requests require a $db argument",
            );
            return failed(door, "other", &fault, Form::Msg);
        }
    };
    let read = Read {
        database,
        body,
        raw_documents,
    };
    execute(door, connection, read, Form::Msg).await
}

/// Reads documents that came beside a command which needs all of them at once.
fn read_raw(connection: &Connection, documents: &[RawDocument]) -> Result<Vec<Value>, Fault> {
    let bytes = documents.iter().map(RawDocument::tree_bytes).sum();
    connection.counting.add(bytes)?;
    read_all(documents)
}

/// A message that has been read.
struct Read {
    database: String,
    body: Object,
    /// The documents of an insert that are read one after the other.
    raw_documents: Vec<RawDocument>,
}

/// Runs the command of an old query: only greetings come so.
pub(crate) async fn run_old(
    door: &Arc<Door>,
    connection: &mut Connection,
    query: OpQuery,
) -> Answered {
    let Some(database) = query.database().map(str::to_owned) else {
        let mut document = Object::new();
        document.push(
            "$err",
            "Unsupported OP_QUERY command: find. The client driver may require an upgrade.",
        );
        document.push("code", codes::OLD_QUERY_REMOVED);
        document.push("ok", Value::Double(0.0));
        return Answered {
            command: "other",
            code: Some(codes::OLD_QUERY_REMOVED),
            document: answer::encode_reply(&document),
            form: Form::Old { failed: true },
            more: false,
        };
    };
    let name = query.body.keys().next().cloned().unwrap_or_default();
    match registry::find(&name) {
        Some(command) if command.greets => {
            let mut body = query.body;
            body.remove("$db");
            let database = if database.is_empty() {
                DEFAULT_DATABASE.to_owned()
            } else {
                database
            };
            execute(
                door,
                connection,
                Read {
                    database,
                    body,
                    raw_documents: Vec::new(),
                },
                Form::Old { failed: false },
            )
            .await
        }
        Some(_) | None => {
            let fault = Fault::new(
                codes::UNSUPPORTED_OP_QUERY,
                format!(
                    "Unsupported OP_QUERY command: {name}. The client driver may require an upgrade."
                ),
            );
            failed(door, "other", &fault, Form::Old { failed: false })
        }
    }
}

async fn execute(
    door: &Arc<Door>,
    connection: &mut Connection,
    read: Read,
    form: Form,
) -> Answered {
    let request = match Request::parse(read.database, read.body) {
        Ok(request) => Request {
            raw_documents: read.raw_documents,
            ..request
        },
        Err(Refused { command, fault }) => return failed(door, command, &fault, form),
    };
    let began = Clock::monotonic();
    let command = request.command;
    let role = Role::of(command, &request.body);
    let points = &door.fail_points;
    let writes = writes(role, &request);
    let failure = match command.name {
        "configureFailPoint" => None,
        _ => points
            .hit(&request.name, app_name(connection, &request))
            .or_else(|| points.writes.before(writes?)),
    };
    let failing = match &failure {
        Some(Failure {
            of_cursor: true, ..
        }) if of_stream(door, &request.body) => Role::Stream,
        Some(_) | None => role,
    };
    if let Some(failure) = &failure
        && let Some(answered) = fail(door, connection, command, failure, failing).await
    {
        return Answered { form, ..answered };
    }
    let panics = failure.as_ref().is_some_and(|failure| failure.panic);
    let answer = attempt(door, connection, request, (began, panics)).await;
    if let (Some(count), Ok(Answer::Plain(reply))) = (writes, &answer) {
        connection.closing |= points.writes.after(count.saturating_sub(repeated(reply)));
    }
    let answer = match failure.and_then(|failure| failure.of_concern(role)) {
        Some((concern, labels)) => {
            answer.map(|answer| answer.with_labeled_concern_error(concern, labels))
        }
        None => answer,
    };
    match answer {
        Ok(answer) => Answered {
            command: command.name,
            code: None,
            more: answer.has_more(),
            document: answer.encode(door),
            form,
        },
        Err(fault) => {
            tracing::debug!(command = command.name, ?fault, "a command failed");
            // Only a stream may be resumed, and its own failures say so themselves.
            let fault = match role {
                Role::Stream | Role::Other => fault,
                Role::Transaction | Role::End | Role::Retryable => labels::of_fault(fault, role),
            };
            failed(door, command.name, &fault, form)
        }
    }
}

/// How many statements a write has that may be sent again.
fn writes(role: Role, request: &Request) -> Option<usize> {
    match role {
        Role::Retryable => Some(match request.raw_documents.len() {
            0 => statements(&request.body),
            count => count,
        }),
        Role::Transaction | Role::End | Role::Stream | Role::Other => None,
    }
}

/// What the client's program calls itself: what a greeting says of it counts from that greeting on.
fn app_name<'a>(connection: &'a Connection, request: &'a Request) -> Option<&'a str> {
    let greets = (request.command.name == "hello").then(|| hello::app_name(&request.body));
    greets.flatten().or(connection.app_name.as_deref())
}

/// Whether a getMore is of a stream of changes.
fn of_stream(door: &Door, body: &Object) -> bool {
    let cursor = body.get("getMore").and_then(Value::as_i64);
    cursor.is_some_and(|cursor| door.service.documents_state().is_stream(cursor))
}

/// Fails on purpose; nothing, if the command is to be executed all the same.
async fn fail(
    door: &Door,
    connection: &mut Connection,
    command: &'static Command,
    failure: &Failure,
    role: Role,
) -> Option<Answered> {
    if let Some(wait) = failure.block {
        tokio::time::sleep(wait).await;
    }
    connection.closing |= failure.close;
    let code = match (failure.close, failure.code) {
        (true, _) => 0,
        (false, Some(code)) => code,
        (false, None) => return None,
    };
    let mut info = Object::new();
    if let Some(labels) = &failure.labels {
        info.push("errorLabels", Value::Array(labels.clone()));
    }
    let message = "Failing command via 'failCommand' failpoint";
    let mut fault = Fault::with(code, message, info);
    if failure.labels.is_none() {
        fault = labels::of_fault(fault, role);
    }
    Some(failed(door, command.name, &fault, Form::Msg))
}

async fn attempt(
    door: &Arc<Door>,
    connection: &mut Connection,
    request: Request,
    (began, panics): (Instant, bool),
) -> Result<Answer, Fault> {
    auth::admit(door, connection, &request).await?;
    profiling::admit(door, &request).await?;
    let Request {
        command,
        name,
        database,
        mut body,
        explained,
        raw_documents,
    } = request;
    lapsedb_service::documents::namespace::check_database(&database).or_else(|fault| {
        // Logins name no ordinary database.
        if database == "$external" {
            Ok(())
        } else {
            Err(fault)
        }
    })?;
    let owner = Owner::of(connection.login.as_ref(), door.settings.auth);
    let mut generic = Generic::take(&mut body, owner)?;
    transactions::check(command, &generic, &database, &body)?;
    write_concern::check(command, generic.write_concern.as_ref())?;
    let now = door.service.clock().now();
    let stamp = door.service.documents_state().stamp(now);
    read_concern::apply(command, &mut generic, stamp)?;
    let concerned = write_concern::matters(command, &body);
    if generic.api_strict && !registry::STABLE.contains(&command.name) {
        let message =
            format!("Provided apiStrict:true, but the command {name} is not in API Version 1");
        return Err(Fault::new(codes::API_STRICT, message));
    }
    let is_late = |limit| door.fail_points.times_out() || spent(command, began) >= limit;
    if generic.max_time.is_some_and(is_late) {
        return Err(Fault::new(
            codes::MAX_TIME_EXPIRED,
            "operation exceeded time limit",
        ));
    }
    let mut call = Call {
        door,
        connection,
        command,
        name: name.to_string(),
        database,
        body,
        explained,
        raw_documents,
        generic,
        began,
        panics,
        begun: AtomicBool::new(false),
    };
    let answer = executed(&mut call).await;
    let concern = call.generic.write_concern.as_ref();
    match concern.filter(|_| concerned).and_then(write_concern::error) {
        Some(concern) => match answer {
            Ok(answer) => Ok(answer.with_write_concern_error(concern)),
            Err(fault) => Err(write_concern::with_failure(fault, concern)),
        },
        None => answer,
    }
}

/// Executes a command; what is wrong with it, or a panic, ends its transaction.
async fn executed(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let answer = match in_turns(caught((call.command.run)(call))).await {
        Ok(answer) => answer,
        Err(panicked) => {
            // How far it came nobody knows, so its transaction cannot go on.
            let (ctx, session) = (call.ctx(), &call.generic.session);
            match transactions::ends(call.command) {
                true => sessions::lose_track(&ctx, session).await,
                false => sessions::give_up(&ctx, session).await,
            }
            Err(unwinding::fault(&panicked, call.command.name))
        }
    };
    if answer.is_err() && !call.begun.load(Ordering::Relaxed) && !transactions::ends(call.command) {
        // What is wrong in a command ends its transaction, even if it was not executed at all.
        sessions::give_up(&call.ctx(), &call.generic.session).await;
    }
    answer
}

/// The answer to a command that failed.
pub(crate) fn failed(door: &Door, command: &'static str, fault: &Fault, form: Form) -> Answered {
    let (code, document) = error::document(fault);
    Answered {
        command,
        code: Some(code),
        document: Answer::Plain(document).encode(door),
        form,
        more: false,
    }
}
