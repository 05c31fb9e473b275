//! Whoever mistypes a flag is told in one line what is allowed.

use crate::common;

fn refused(args: &[&str], code: i32, says: &str) {
    let output = common::run(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(output.stdout.is_empty());
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains(says), "{args:?}: {error}");
}

#[test]
fn an_unknown_flag() {
    refused(&["--prot", "8081"], 2, "--port");
}

#[test]
fn a_bad_value() {
    refused(&["--memory", "--port", "many"], 2, "0 to 65535");
    refused(&["serve", "--purge-grace", "-1"], 2, "0 to 2147483647");
}

#[test]
fn an_engine_that_is_not_in_this_build() {
    refused(&["--engine", "postgres://localhost/lapse"], 2, "--engine");
}

#[test]
fn the_published_key_on_an_open_address() {
    refused(&["--memory", "--bind", "0.0.0.0"], 2, "--key");
}

#[test]
fn plain_text_on_an_open_address() {
    let mut program = common::program();
    program.env("LAPSEDB_KEY", common::OWN_KEY);
    program.args(["--memory", "--bind", "0.0.0.0", "--protocol", "both"]);
    let output = common::output(program);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("--insecure-plaintext"), "{error}");
}

#[test]
fn a_bad_variable_is_named() {
    let mut program = common::program();
    program.env("LAPSEDB_DURABILITY", "never");
    let output = common::output(program);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("LAPSEDB_DURABILITY")
    );
}

#[test]
fn a_port_in_use_is_no_bad_value_but_no_server_either() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(
        &["--memory", "--log-level", "off", "--port", &port],
        1,
        "cannot listen",
    );
}

#[test]
fn help_and_version_go_to_standard_output() {
    for (flag, says) in [
        ("--help", "--purge-grace"),
        ("--version", env!("CARGO_PKG_VERSION")),
    ] {
        let output = common::run(&[flag]);
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains(says));
    }
}
