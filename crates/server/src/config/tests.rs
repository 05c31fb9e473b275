//! Each row: what was given, and what came of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::keys::PUBLISHED_KEY;
use super::*;

const KEY: &str = "c2VjcmV0IHNlY3JldCBzZWNyZXQ=";
const OTHER_KEY: &str = "b3RoZXIgb3RoZXIgb3RoZXIgb3RoZXI=";
/// 32 and 31 bytes.
const LONG_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const SHORT_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MA==";

fn load(flags: &str, variables: &[(&str, &str)]) -> Result<Command, String> {
    let args = std::iter::once("lapsedb")
        .chain(flags.split_whitespace())
        .map(OsString::from);
    Config::load(args, |name| {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

fn config(flags: &str, variables: &[(&str, &str)]) -> Config {
    match load(flags, variables) {
        Ok(Command::Serve(config)) => *config,
        other => panic!("{flags}: {other:?}"),
    }
}

fn refusal(flags: &str, variables: &[(&str, &str)]) -> String {
    load(flags, variables)
        .map(|_| flags.to_owned())
        .expect_err(flags)
}

#[test]
fn the_settings_are_sorted() {
    assert!(settings::SETTINGS.is_sorted_by_key(|setting| setting.name));
}

#[test]
fn the_defaults_are_those_of_the_surface() {
    let config = config("", &[]);
    assert_eq!(config.data_path, Some(PathBuf::from("./lapsedb-data")));
    assert_eq!(
        (config.bind.to_string().as_str(), config.port),
        ("127.0.0.1", 8081)
    );
    let mongo = Mongo {
        port: 27017,
        auth: false,
        advertise: None,
        test_commands: false,
    };
    assert_eq!(config.request_time_max(), Some(Duration::from_secs(60)));
    assert!(config.request_memory_max() >= 64 << 20);
    assert_eq!(
        (config.protocol, config.mongo),
        (Protocol::Both, Some(mongo))
    );
    assert_eq!((config.master_key.len(), config.read_only_key), (64, None));
    assert!(
        !config.virtual_clock
            && !config.accept_clock
            && !config.relaxed
            && !config.insecure_data_mode
            && config.purge
            && !config.rate_limiting
            && !config.log_json
    );
    assert_eq!(config.purge_grace_seconds, 300);
}

#[test]
fn each_flag_is_taken() {
    let flags = format!(
        "serve --memory --bind 127.0.0.2 --port 0 --mongo-port 5 --mongo-auth off --protocol https --key {KEY} \
         --read-only-key {OTHER_KEY} --virtual-clock --durability relaxed --insecure-data-mode --purge-grace 7 --purge off --accept-clock \
         --rate-limiting on --enable-test-commands --mongo-advertise db.example:27017 --log-level debug --log-format json"
    );
    let config = config(&flags, &[]);
    assert_eq!(
        (config.data_path, config.bind.to_string(), config.port),
        (None, "127.0.0.2".to_owned(), 0)
    );
    let advertise = Some("db.example:27017".to_owned());
    assert_eq!(
        config.mongo,
        Some(Mongo {
            port: 5,
            auth: false,
            advertise,
            test_commands: true
        })
    );
    assert_eq!(
        (config.protocol, config.purge_grace_seconds),
        (Protocol::Https, 7)
    );
    assert_eq!(config.master_key, b"secret secret secret");
    assert_eq!(
        config.read_only_key.as_deref(),
        Some(b"other other other other".as_slice())
    );
    assert!(
        config.virtual_clock
            && config.relaxed
            && config.insecure_data_mode
            && !config.purge
            && config.rate_limiting
            && config.accept_clock
            && config.log_json
    );
    assert_eq!(config.log_level, tracing::level_filters::LevelFilter::DEBUG);
}

#[test]
fn every_setting_has_its_variable() {
    for setting in settings::SETTINGS {
        let name = settings::variable(setting.name);
        assert!(name.starts_with("LAPSEDB_") && !name.contains('-'));
        // A value that no setting allows is refused by the name of the variable, which shows that it was read.
        let refusal = load("--memory", &[(&name, "\u{1}")]);
        match setting.name {
            // Any text names a file or folder; the flag --memory decides over data-path.
            "data-path" => assert!(refusal.is_ok()),
            "init" => assert!(refusal.is_err()),
            // The flag above decides.
            "memory" => assert!(refusal.is_ok()),
            _ => assert!(refusal.expect_err(&name).contains(&name), "{name}"),
        }
    }
}

#[test]
fn a_flag_goes_before_a_variable_and_a_variable_before_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lapsedb.toml");
    std::fs::write(
        &file,
        "port = 1\npurge_grace = 1\npurge = \"off\"\nvirtual-clock = true\n",
    )
    .unwrap();
    let file = file.to_str().unwrap().to_owned();
    let variables = [
        ("LAPSEDB_PORT", "2"),
        ("LAPSEDB_PURGE_GRACE", "2"),
        ("LAPSEDB_CONFIG", &file),
        ("LAPSEDB_BIND", ""),
    ];
    let config = config("--port 3", &variables);
    assert_eq!(
        (
            config.port,
            config.purge_grace_seconds,
            config.purge,
            config.virtual_clock
        ),
        (3, 2, false, true)
    );
    assert_eq!(
        config.bind.to_string(),
        "127.0.0.1",
        "an empty variable is an absent one"
    );
}

#[test]
fn a_key_given_above_hides_a_key_file_below() {
    let config = config(
        &format!("--key {KEY}"),
        &[("LAPSEDB_KEY_FILE", "/does/not/exist")],
    );
    assert_eq!(config.master_key, b"secret secret secret");
    assert!(
        config.mongo.unwrap().auth,
        "whoever gives a key wants it asked for"
    );
}

#[test]
fn a_key_file_may_end_with_a_line_break() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    let config = config(&format!("--key-file {}", file.display()), &[]);
    assert_eq!(config.master_key, b"secret secret secret");
}

#[test]
fn what_is_not_allowed_is_refused_in_one_line() {
    let rows = [
        ("--nonsense", "--nonsense"),
        ("--nonsense", "--port"),
        ("--prot 1", "--port"),
        ("run", "serve"),
        ("serve again", "unknown argument 'again'"),
        ("--port", "--port"),
        ("--port x", "a whole number from 0 to 65535"),
        ("--port 65536", "a whole number from 0 to 65535"),
        ("--port -1", "a whole number from 0 to 65535"),
        ("--port 1 --port 2", "--port"),
        ("--mongo-port maybe", "or off"),
        ("--mongo-auth maybe", "on, off"),
        ("--mongo-advertise host", "HOST:PORT"),
        ("--protocol ftp", "http, https, both"),
        ("--durability none", "sync, relaxed"),
        ("--purge 1", "on, off"),
        ("--rate-limiting yes", "on, off"),
        ("--purge-grace 1h", "a whole number from 0 to 2147483647"),
        (
            "--purge-grace 2147483648",
            "a whole number from 0 to 2147483647",
        ),
        ("--bind nowhere", "an IP address"),
        ("--memory=perhaps", "true, false"),
        ("--memory --data-path d", "one of them"),
        ("--key !", "a key in base64"),
        ("--key =", "a key in base64"),
        ("--read-only-key !", "a key in base64"),
        ("--key-file /does/not/exist", "a file that can be read"),
        ("--config /does/not/exist", "a file that can be read"),
        ("--log-level loud", "off, error, warn, info, debug, trace"),
        ("--log-format xml", "text, json"),
        // No flag of this build: it has one engine on disk.
        ("--engine postgres://u@h/db", "engine"),
        ("--init x.json", "--init"),
    ];
    for (flags, says) in rows {
        let refusal = refusal(flags, &[]);
        assert!(refusal.contains(says), "{flags}: {refusal}");
        assert_eq!(refusal.lines().count(), 1, "{flags}: {refusal}");
    }
    let both = refusal(&format!("--key {KEY} --key-file f"), &[]);
    assert!(both.contains("--key-file"), "{both}");
    let same = refusal(&format!("--key {KEY} --read-only-key {KEY}"), &[]);
    assert!(same.contains("differ"), "{same}");
}

#[test]
fn a_bad_file_is_refused_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bad.toml");
    for (text, says) in [
        ("port = ", "line 1"),
        ("\nport = 1\nport = 2", "line 3"),
        ("prot = 1", "unknown setting 'prot'"),
        ("config = \"x\"", "unknown setting 'config'"),
        ("port = 1.5", "whole number"),
        ("[port]\nx = 1", "whole number"),
        ("port = 70000", "port = 70000 in"),
    ] {
        std::fs::write(&file, text).unwrap();
        let refusal = refusal(&format!("--config {}", file.display()), &[]);
        assert!(
            refusal.contains(says) && refusal.contains("bad.toml"),
            "{text}: {refusal}"
        );
        assert_eq!(refusal.lines().count(), 1, "{text}: {refusal}");
    }
}

#[test]
fn a_bad_key_is_not_shown() {
    for flags in ["--key not*base64", "--read-only-key not*base64"] {
        assert!(!refusal(flags, &[]).contains("not*base64"));
    }
}

/// Addresses that other machines reach.
const BEYOND: [&str; 4] = ["0.0.0.0", "::", "10.0.0.1", "[2001:db8::1]"];
const LOOPBACK: [&str; 5] = ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"];

#[test]
fn what_protects_nothing_is_refused_beyond_this_machine() {
    for (flags, says) in [
        (String::new(), "--key-file"),
        (format!("--key {PUBLISHED_KEY}"), "--key-file"),
        (
            format!("--key {LONG_KEY} --read-only-key {PUBLISHED_KEY}"),
            "--key-file",
        ),
        (format!("--key {SHORT_KEY}"), "at least 32"),
        (
            format!("--key {LONG_KEY} --read-only-key {SHORT_KEY}"),
            "at least 32",
        ),
        (
            format!("--key {LONG_KEY} --mongo-auth off"),
            "--mongo-auth on",
        ),
        (
            format!("--key {LONG_KEY} --protocol http"),
            "--insecure-plaintext",
        ),
        (
            format!("--key {LONG_KEY} --protocol both"),
            "--insecure-plaintext",
        ),
        (
            format!("--key {LONG_KEY} --protocol http --insecure-plaintext=false"),
            "--insecure-plaintext",
        ),
    ] {
        for bind in LOOPBACK {
            config(&format!("--bind {bind} {flags}"), &[]);
        }
        for bind in BEYOND {
            let refusal = refusal(&format!("--bind {bind} {flags}"), &[]);
            assert!(refusal.contains(says), "{bind} {flags}: {refusal}");
            assert_eq!(refusal.lines().count(), 1, "{refusal}");
        }
    }
}

#[test]
fn beyond_this_machine_tls_alone_is_spoken_unless_plain_text_is_asked_for() {
    let key = format!("--key {LONG_KEY}");
    let rows = [
        ("", Protocol::Both, Protocol::Https),
        ("--insecure-plaintext", Protocol::Both, Protocol::Both),
        (
            "--insecure-plaintext --protocol http",
            Protocol::Http,
            Protocol::Http,
        ),
        ("--protocol https", Protocol::Https, Protocol::Https),
    ];
    for (flags, here, beyond) in rows {
        for (binds, expected) in [(&LOOPBACK[..], here), (&BEYOND[..], beyond)] {
            for bind in binds {
                let config = config(&format!("--bind {bind} {key} {flags}"), &[]);
                assert_eq!(config.protocol, expected, "{bind} {flags}");
                assert!(config.mongo.unwrap().auth);
            }
        }
    }
    let off = format!("--bind 0.0.0.0 {key} --mongo-auth off --mongo-port off");
    assert!(config(&off, &[]).mongo.is_none());
}

#[test]
fn help_and_version_are_printed() {
    for (flag, says) in [
        ("--version", "lapsedb "),
        ("--help", "--virtual-clock"),
        ("--help", "LAPSEDB_PURGE_GRACE"),
    ] {
        match load(flag, &[]) {
            Ok(Command::Print(text)) => assert!(text.contains(says), "{text}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn web_pages_are_named_with_a_key_of_ones_own() {
    let from_flags = config(
        &format!(
            "--key {KEY} --cors-origin https://App.example --cors-origin http://localhost:3000/"
        ),
        &[],
    );
    let named = ["https://app.example", "http://localhost:3000"];
    assert_eq!(from_flags.origins.named, named);
    assert!(!from_flags.origins.loopback_only);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lapsedb.toml");
    let text = format!(
        "key = \"{KEY}\"\ncors-origin = [\"{}\", \"{}\"]\n",
        named[0], named[1]
    );
    std::fs::write(&file, text).unwrap();
    let from_file = config(&format!("--config {}", file.display()), &[]);
    assert_eq!(from_file.origins.named, named);
    let variables = [
        ("LAPSEDB_KEY", KEY),
        ("LAPSEDB_CORS_ORIGIN", "https://a, https://b"),
    ];
    assert_eq!(
        config("", &variables).origins.named,
        ["https://a", "https://b"]
    );

    for flags in [
        "",
        &format!("--key {PUBLISHED_KEY}"),
        &format!("--key {KEY} --read-only-key {PUBLISHED_KEY}"),
    ] {
        assert!(config(flags, &[]).origins.loopback_only, "{flags}");
        let refusal = refusal(&format!("{flags} --cors-origin https://a"), &[]);
        assert!(refusal.contains("a key of your own"), "{refusal}");
    }
    for origin in ["*", "https://*.example", "a.example", "https://a/path"] {
        let refusal = refusal(&format!("--key {KEY} --cors-origin {origin}"), &[]);
        assert!(refusal.contains("https://app.example"), "{refusal}");
    }
}

#[test]
fn a_key_on_the_command_line_is_warned_of() {
    let warnings = |flags: &str, variables: &[(&str, &str)]| config(flags, variables).warnings;
    let both = warnings(&format!("--key {KEY} --read-only-key {OTHER_KEY}"), &[]);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both[0].contains("LAPSEDB_KEY") && both[1].contains("LAPSEDB_READ_ONLY_KEY"));
    assert!(!both.concat().contains(KEY) && !both.concat().contains(OTHER_KEY));
    let quiet = [("LAPSEDB_KEY", KEY), ("LAPSEDB_READ_ONLY_KEY", OTHER_KEY)];
    assert!(warnings("", &quiet).is_empty());
    assert!(warnings(&format!("--key {PUBLISHED_KEY}"), &[]).is_empty());
    assert!(warnings("", &[]).is_empty());
}

#[test]
fn the_certificate_names_what_the_operator_has_given() {
    for (flags, expected) in [
        ("", &["127.0.0.1"][..]),
        ("--bind ::1", &["::1"]),
        (
            "--bind 127.0.0.2 --mongo-advertise DB.example:1",
            &["127.0.0.2", "db.example"],
        ),
        (
            "--mongo-advertise [2001:db8::1]:1",
            &["127.0.0.1", "2001:db8::1"],
        ),
        ("--mongo-advertise no/name:1", &["127.0.0.1"]),
    ] {
        assert_eq!(config(flags, &[]).given_names(), expected, "{flags}");
    }
    let open = format!("--bind 0.0.0.0 --key {LONG_KEY}");
    assert!(config(&open, &[]).given_names().is_empty());
}
