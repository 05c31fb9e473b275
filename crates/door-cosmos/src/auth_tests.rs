//! Signatures over every shape of path, and every way to be turned away.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

const DATE: &str = "Sun, 15 Nov 2026 17:51:40 GMT";
const NOW: u64 = 1_794_765_100;
const OTHER_KEY: &str = "b3RoZXIga2V5";

fn keys() -> Keys {
    let mut keys = Keys::new();
    keys.add(EMULATOR_KEY, KeyRole::ReadWrite).unwrap();
    keys.add(OTHER_KEY, KeyRole::ReadOnly).unwrap();
    keys
}

fn sign(key: &str, payload: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(key).unwrap()).unwrap();
    mac.update(payload.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let text = format!("type=master&ver=1.0&sig={signature}");
    text.replace('=', "%3D")
        .replace('&', "%26")
        .replace('+', "%2b")
        .replace('/', "%2F")
}

fn request<'a>(method: &'a str, path: &'a str, authorization: &'a str) -> Signed<'a> {
    Signed {
        method,
        path,
        authorization: Some(authorization),
        x_ms_date: Some(DATE),
        date: None,
    }
}

fn signed_as(method: &str, path: &str, kind: &str, link: &str) -> Result<Caller, Denied> {
    let payload = format!(
        "{}\n{kind}\n{link}\n{}\n\n",
        method.to_lowercase(),
        DATE.to_lowercase()
    );
    authenticate(
        &keys(),
        &request(method, path, &sign(EMULATOR_KEY, &payload)),
        NOW,
    )
}

#[test]
fn the_vector_of_the_specification() {
    let header =
        "type%3Dmaster%26ver%3D1.0%26sig%3DqbCDE%2BycVqOE2qvVTCILA1UdXUxua1B0wg3skW11J84%3D";
    let plain = "type=master&ver=1.0&sig=qbCDE+ycVqOE2qvVTCILA1UdXUxua1B0wg3skW11J84=";
    for header in [
        header,
        &header.to_lowercase().replace(
            "qbcde%2bycvqoe2qvvtcila1udxuxua1b0wg3skw11j84",
            "qbCDE%2bycVqOE2qvVTCILA1UdXUxua1B0wg3skW11J84",
        ),
        plain,
    ] {
        for path in [
            "/dbs/db/colls/c/docs/1/",
            "/dbs/db/colls/c/docs/1",
            "//dbs/db//colls/c/docs/1",
        ] {
            let caller = authenticate(&keys(), &request("GET", path, header), NOW);
            assert_eq!(
                caller,
                Ok(Caller::Master(KeyRole::ReadWrite)),
                "{header} {path}"
            );
        }
    }
}

#[test]
fn every_shape_of_path_has_its_kind_and_link() {
    for (path, kind, link) in [
        ("/", "", ""),
        ("", "", ""),
        ("/dbs", "dbs", ""),
        ("/dbs/", "dbs", ""),
        ("/dbs/Db", "dbs", "dbs/Db"),
        ("/dbs/Db/colls", "colls", "dbs/Db"),
        ("/dbs/Db/colls/C", "colls", "dbs/Db/colls/C"),
        ("/dbs/Db/colls/C/docs", "docs", "dbs/Db/colls/C"),
        ("/dbs/Db/colls/C/docs/1", "docs", "dbs/Db/colls/C/docs/1"),
        (
            "/dbs/Db/colls/C/docs/1?x=%31",
            "docs",
            "dbs/Db/colls/C/docs/1?x=1",
        ),
        ("/dbs/Db/colls/C/pkranges", "pkranges", "dbs/Db/colls/C"),
        (
            "/dbs/Db/colls/C/sprocs/s",
            "sprocs",
            "dbs/Db/colls/C/sprocs/s",
        ),
        (
            "/dbs/Db/users/u/permissions/p",
            "permissions",
            "dbs/Db/users/u/permissions/p",
        ),
        (
            "/dbs/colls/colls/docs/docs/dbs",
            "docs",
            "dbs/colls/colls/docs/docs/dbs",
        ),
        (
            "/dbs/Db/colls/C/operations/partitionkeydelete",
            "colls",
            "dbs/Db/colls/C",
        ),
        ("/offers", "offers", ""),
        ("/offers/aBcD", "offers", "abcd"),
        // Names that are escaped in the path are signed plain by most clients, as sent by some.
        ("/dbs/a%20b/colls/c%2Bd", "colls", "dbs/a b/colls/c+d"),
        ("/dbs/a%20b/colls/c%2Bd", "colls", "dbs/a%20b/colls/c%2Bd"),
        ("/dbs/100%25/colls/a+b", "colls", "dbs/100%/colls/a+b"),
        ("/dbs/100%/colls/%zz", "colls", "dbs/100%/colls/%zz"),
        ("/dbs/%E4%BD%A0", "dbs", "dbs/你"),
        ("/dbs/AAAAAQ==", "dbs", "aaaaaq=="),
        ("/dbs/AAAAAQ==/colls", "colls", "aaaaaq=="),
        ("/dbs/AAAAAQ==/colls/AAAAAYAAAAE=", "colls", "aaaaayaaaae="),
        (
            "/dbs/AAAAAQ==/colls/AAAAAYAAAAE=/docs",
            "docs",
            "aaaaayaaaae=",
        ),
        (
            "/dbs/AAAAAQ%3D%3D/colls/AAAAAYAAAAE%3D/docs/",
            "docs",
            "aaaaayaaaae=",
        ),
        (
            "/dbs/AAAAAQ==/colls/AAAAAYAAAAE=",
            "colls",
            "dbs/AAAAAQ==/colls/AAAAAYAAAAE=",
        ),
    ] {
        for method in ["GET", "post", "Delete"] {
            assert_eq!(
                signed_as(method, path, kind, link),
                Ok(Caller::Master(KeyRole::ReadWrite)),
                "{path} {link}"
            );
        }
    }
}

#[test]
fn a_signature_of_anything_else_is_refused() {
    for (kind, link) in [
        ("docs", "dbs/db/colls/c"),
        ("docs", "dbs/db/colls/c/docs/2"),
        ("docs", "dbs/Db/colls/c/docs/1"),
        ("colls", "dbs/db/colls/c/docs/1"),
        ("docs", "1"),
        ("docs", "/dbs/db/colls/c/docs/1"),
        ("", ""),
    ] {
        let denied = signed_as("GET", "/dbs/db/colls/c/docs/1", kind, link).unwrap_err();
        assert_eq!(denied.status(), 401, "{kind} {link}");
        assert!(denied.message().ends_with(
            r"Server used the following payload to sign: 'get\ndocs\ndbs/db/colls/c/docs/1\nsun, 15 nov 2026 17:51:40 gmt\n\n'"
        ));
    }
    // A name that only looks like nothing in particular is never read as a resource id.
    assert!(signed_as("GET", "/dbs/name/colls/c", "colls", "c").is_err());
}

#[test]
fn another_verb_or_date_breaks_the_signature() {
    let payload = format!("get\ndbs\n\n{}\n\n", DATE.to_lowercase());
    let header = sign(EMULATOR_KEY, &payload);
    assert!(authenticate(&keys(), &request("GET", "/dbs", &header), NOW).is_ok());
    assert!(authenticate(&keys(), &request("POST", "/dbs", &header), NOW).is_err());
    let mut other = request("GET", "/dbs", &header);
    other.x_ms_date = Some("Sun, 15 Nov 2026 17:51:41 GMT");
    assert!(authenticate(&keys(), &other, NOW).is_err());
}

#[test]
fn the_plain_date_counts_only_without_the_other() {
    let payload = format!("get\ndbs\n\n\n{}\n", DATE.to_lowercase());
    let header = sign(EMULATOR_KEY, &payload);
    let mut plain = request("GET", "/dbs", &header);
    plain.x_ms_date = None;
    plain.date = Some(DATE);
    assert_eq!(
        authenticate(&keys(), &plain, NOW),
        Ok(Caller::Master(KeyRole::ReadWrite))
    );
    plain.x_ms_date = Some(DATE);
    assert!(authenticate(&keys(), &plain, NOW).is_err());
}

#[test]
fn the_key_decides_the_role() {
    let payload = format!("get\ndbs\n\n{}\n\n", DATE.to_lowercase());
    let header = sign(OTHER_KEY, &payload);
    assert_eq!(
        authenticate(&keys(), &request("GET", "/dbs", &header), NOW),
        Ok(Caller::Master(KeyRole::ReadOnly))
    );
    let header = sign("dW5rbm93bg==", &payload);
    assert_eq!(
        authenticate(&keys(), &request("GET", "/dbs", &header), NOW)
            .unwrap_err()
            .status(),
        401
    );
    assert!(authenticate(&Keys::new(), &request("GET", "/dbs", &header), NOW).is_err());
    assert_eq!(
        Keys::new().add("not base64!", KeyRole::ReadOnly),
        Err(BadKey)
    );
    assert_eq!(Keys::new().add("", KeyRole::ReadOnly), Err(BadKey));
}

#[test]
fn a_date_may_be_fifteen_minutes_off_and_no_more() {
    let payload = format!("get\ndbs\n\n{}\n\n", DATE.to_lowercase());
    let header = sign(EMULATOR_KEY, &payload);
    let signed = request("GET", "/dbs", &header);
    for now in [NOW - 900, NOW - 1, NOW, NOW + 1, NOW + 900] {
        assert!(authenticate(&keys(), &signed, now).is_ok(), "{now}");
    }
    for now in [0, NOW - 901, NOW + 901, u64::MAX] {
        let denied = authenticate(&keys(), &signed, now).unwrap_err();
        assert_eq!(denied, Denied::OutOfTime { date: NOW, now });
        assert_eq!(denied.status(), 403);
    }
    assert_eq!(
        authenticate(&keys(), &signed, NOW + 901)
            .unwrap_err()
            .message(),
        "The authorization token is not valid at the current time. Please create another token and retry (token start time: Sun, 15 Nov 2026 17:36:40 GMT, token expiry time: Sun, 15 Nov 2026 18:06:40 GMT, current server time: Sun, 15 Nov 2026 18:06:41 GMT)."
    );
}

#[test]
fn without_header_or_date_nobody_comes_in() {
    let mut signed = request("GET", "/dbs", "");
    assert_eq!(authenticate(&keys(), &signed, NOW), Err(Denied::Missing));
    signed.authorization = None;
    assert_eq!(authenticate(&keys(), &signed, NOW), Err(Denied::Missing));
    assert!(
        Denied::Missing
            .message()
            .starts_with("Required Header authorization is missing.")
    );
    let payload = format!("get\ndbs\n\n{}\n\n", DATE.to_lowercase());
    let header = sign(EMULATOR_KEY, &payload);
    let mut signed = request("GET", "/dbs", &header);
    for date in [
        None,
        Some(""),
        Some("yesterday"),
        Some("2026-11-15T17:51:40Z"),
    ] {
        signed.x_ms_date = date;
        assert_eq!(
            authenticate(&keys(), &signed, NOW),
            Err(Denied::NoDate),
            "{date:?}"
        );
    }
}

#[test]
fn a_header_of_another_form_is_refused() {
    for header in [
        "x",
        "Bearer abc",
        "Basic abc",
        "type=master",
        "type=master&ver=1.0",
        "type=master&ver=1.0&sig=",
        "type=&ver=1.0&sig=x",
        "type=other&ver=1.0&sig=x",
        "ver=1.0&type=master&sig=x",
        "%",
        "%%%",
        "type%3",
        "type=master&ver=1.0;sig=x",
    ] {
        assert_eq!(
            authenticate(&keys(), &request("GET", "/dbs", header), NOW),
            Err(Denied::Malformed),
            "{header}"
        );
    }
    let long = format!(
        "type=aad&ver=1.0&sig={}",
        "x".repeat(AUTHORIZATION_BYTES_MAX)
    );
    assert_eq!(
        authenticate(&keys(), &request("GET", "/dbs", &long), NOW),
        Err(Denied::Malformed)
    );
    for signature in ["x", "====", "AAAA", &"A".repeat(44), &"A".repeat(400)] {
        let header = format!("type=master&ver=1.0&sig={signature}");
        let denied = authenticate(&keys(), &request("GET", "/dbs", &header), NOW);
        assert!(
            matches!(denied, Err(Denied::WrongSignature { .. })),
            "{signature}"
        );
    }
}

#[test]
fn other_tokens_are_handed_on() {
    let token = "type=resource&ver=1&sig=abc==;de&f=;";
    let escaped = "type%3Dresource%26ver%3D1%26sig%3Dabc%3D%3D%3Bde%26f%3D%3B";
    for header in [token, escaped] {
        let caller = authenticate(&keys(), &request("GET", "/", header), NOW);
        assert_eq!(caller, Ok(Caller::Resource(token.to_owned())));
    }
    let caller = authenticate(
        &keys(),
        &request("GET", "/", "type%3Daad%26ver%3D1.0%26sig%3Da.b.c"),
        NOW,
    );
    assert_eq!(caller, Ok(Caller::Identity("a.b.c".to_owned())));
}
