//! Logins at the MongoDB API, made from any bytes: conversations without the password, mostly of the right form. None of them
//! logs in, and none keeps the next command from being answered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapsedb_value::{Object, Value};
use tokio::io::DuplexStream;

use crate::bson::Document;
use crate::input::Input;
use crate::server::{ask, with_connection};

/// Steps of one input at most.
const STEPS_MAX: usize = 12;

const MECHANISMS: [&str; 6] = [
    "SCRAM-SHA-256",
    "SCRAM-SHA-1",
    "PLAIN",
    "MONGODB-X509",
    "",
    "scram-sha-256",
];
/// The account that the key opens, one nobody has, and names that need care.
const USERS: [&str; 7] = [
    "lapsedb",
    "localhost",
    "nobody",
    "",
    "=2C=3D",
    "a,b",
    "é\u{AD}\u{2168}",
];
const DATABASES: [&str; 4] = ["admin", "t", "$external", ""];
const GS2: [&str; 6] = ["n,,", "y,,", "p=tls-unique,,", "n,a=x,", "", ","];
const CHANNELS: [&str; 5] = ["biws", "eSws", "", "====", "cD10bHMtdW5pcXVlLCw="];

/// What a conversation has come to.
#[derive(Default)]
struct State {
    conversation: i32,
    /// What the server said last.
    said: String,
}

/// Tries to log in, and looks whether it has worked.
pub fn converse(bytes: &[u8]) {
    with_connection(true, async |client| {
        let (mut input, mut state) = (Input(bytes), State::default());
        for _ in 0..STEPS_MAX {
            if input.is_empty() {
                break;
            }
            let command = command(&mut input, &state);
            let Some(reply) = ask(client, &command).await else {
                return;
            };
            note(&reply, &mut state);
            if !is_locked_out(client).await {
                return;
            }
        }
    });
}

/// Whether the connection may still do nothing; false if it is closed.
async fn is_locked_out(client: &mut DuplexStream) -> bool {
    let mut command = Document::new();
    command.text(0x02, "find", "c");
    command.text(0x02, "$db", "t");
    let Some(reply) = ask(client, &command.end()).await else {
        return false;
    };
    let code = reply.get("code").and_then(Value::as_i64);
    assert_eq!(code, Some(13), "logged in without the password: {reply:?}");
    true
}

fn note(reply: &Object, state: &mut State) {
    let reply = match reply.get("speculativeAuthenticate") {
        Some(Value::Object(inner)) => inner,
        Some(_) | None => reply,
    };
    if let Some(number) = reply.get("conversationId").and_then(Value::as_i64) {
        state.conversation = i32::try_from(number).unwrap_or(0);
    }
    if let Some(Value::Binary { bytes, .. }) = reply.get("payload") {
        state.said = String::from_utf8_lossy(bytes).into_owned();
    }
}

fn command(input: &mut Input<'_>, state: &State) -> Vec<u8> {
    let mut command = Document::new();
    match input.byte() % 8 {
        0..3 => start(input, &mut command),
        3..6 => {
            command.push(0x10, "saslContinue", &1i32.to_le_bytes());
            let number = match input.byte() % 4 {
                0 => i32::from(input.byte()),
                _ => state.conversation,
            };
            command.push(0x10, "conversationId", &number.to_le_bytes());
            let channel = input.one_of(&CHANNELS);
            payload(input, &mut command, &last(channel, state));
        }
        6 => {
            command.push(0x10, "hello", &1i32.to_le_bytes());
            let mut inner = Document::new();
            start(input, &mut inner);
            inner.text(0x02, "db", input.one_of(&DATABASES));
            command.push(0x03, "speculativeAuthenticate", &inner.end());
            let user = format!("{}.{}", input.one_of(&DATABASES), input.one_of(&USERS));
            command.text(0x02, "saslSupportedMechs", &user);
        }
        _ => command.push(0x10, "logout", &1i32.to_le_bytes()),
    }
    command.text(0x02, "$db", input.one_of(&DATABASES));
    command.end()
}

fn start(input: &mut Input<'_>, command: &mut Document) {
    command.push(0x10, "saslStart", &1i32.to_le_bytes());
    command.text(0x02, "mechanism", input.one_of(&MECHANISMS));
    let first = format!(
        "{}n={},r={}",
        input.one_of(&GS2),
        input.one_of(&USERS),
        STANDARD.encode(input.bytes())
    );
    payload(input, command, first.as_bytes());
    let mut options = Document::new();
    options.push(0x08, "skipEmptyExchange", &[input.byte() % 2]);
    command.push(0x03, "options", &options.end());
}

/// The last message of a client that does not know the password, with the nonce that the server has made of the client's.
fn last(channel: &str, state: &State) -> Vec<u8> {
    let nonce = state
        .said
        .split(',')
        .find_map(|part| part.strip_prefix("r="));
    let nonce = nonce.unwrap_or_default();
    let proof = STANDARD.encode([0; 32]);
    format!("c={channel},r={nonce},p={proof}").into_bytes()
}

/// A payload as it should be, with some bytes changed, or any bytes.
fn payload(input: &mut Input<'_>, command: &mut Document, right: &[u8]) {
    let mut bytes = match input.byte() % 8 {
        0 => input.bytes().to_vec(),
        _ => right.to_vec(),
    };
    if input.byte() % 2 == 1 && !bytes.is_empty() {
        for _ in 0..input.byte() % 4 {
            let at = usize::from(input.byte()) % bytes.len();
            bytes[at] = input.byte();
        }
    }
    let length = i32::try_from(bytes.len()).unwrap_or(0).to_le_bytes();
    match input.byte() % 8 {
        // Some clients send it as text.
        0 => command.text(0x02, "payload", &STANDARD.encode(&bytes)),
        _ => command.push(0x05, "payload", &[&length[..], &[0], &bytes].concat()),
    }
}
