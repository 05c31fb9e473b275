//! Which web pages may reach this server.
//!
//! A page in a browser can send requests to any address of the machine it runs on, and by a name of its own that it lets point there.
//! With the published key everybody could sign them, so then only requests for and from loopback names are answered.
//! With a key of one's own the signature decides who may ask, and a page sees the answer only if the operator has named its origin.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Request};

/// The web pages that are let in.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// Whether the published key is accepted: then only loopback names are.
    pub loopback_only: bool,
    /// The origins whose pages may see answers, as browsers write them.
    pub named: Vec<String>,
}

impl Origins {
    /// Why a request is refused, if it is, before anything else is looked at.
    pub fn refusal<B>(&self, request: &Request<B>) -> Option<&'static str> {
        if !self.loopback_only {
            return None;
        }
        // HTTP/2 names the host in the address, HTTP/1.1 in a header; a request that does both is judged by both.
        let named = request.uri().authority().map(Authority::as_str);
        let hosts = texts(request.headers(), &HOST).chain(named.map(Some));
        if !all(hosts, is_loopback) {
            return Some(
                "with the published key only requests to localhost, 127.0.0.0/8 or [::1] are answered, and the header \
                 Host names another host; start the server with a key of your own",
            );
        }
        if !all(texts(request.headers(), &ORIGIN), is_loopback_origin) {
            return Some(
                "with the published key only web pages of localhost, 127.0.0.0/8 or [::1] are answered, and the header \
                 Origin names another one; start the server with a key of your own and name the page's origin with --cors-origin",
            );
        }
        None
    }

    /// The origin of a request, if its page may see the answer.
    pub fn admitted(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if self.named.is_empty() {
            return None;
        }
        let origin = headers.get(ORIGIN)?;
        let known = |named: &String| named.as_bytes() == origin.as_bytes();
        self.named.iter().any(known).then(|| origin.clone())
    }
}

/// The values of a header; none for what is not text.
fn texts<'h>(
    headers: &'h HeaderMap,
    name: &http::HeaderName,
) -> impl Iterator<Item = Option<&'h str>> + use<'h> {
    let values = headers.get_all(name).into_iter();
    values.map(|value| value.to_str().ok())
}

fn all<'t>(mut texts: impl Iterator<Item = Option<&'t str>>, good: fn(&str) -> bool) -> bool {
    texts.all(|text| text.is_some_and(good))
}

/// Whether `host[:port]` names this machine and nothing else. A name that merely begins or ends so is somebody's own.
fn is_loopback(host: &str) -> bool {
    // What is no authority, or has a user before its host, is nothing that a client of this API sends.
    let Ok(authority) = host.trim().parse::<Authority>() else {
        return false;
    };
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

fn is_loopback_origin(origin: &str) -> bool {
    let host = ["http://", "https://"]
        .iter()
        .find_map(|scheme| origin.strip_prefix(scheme));
    host.is_some_and(is_loopback)
}

/// An origin as browsers write it: in small letters, without a path and without the port its scheme has anyway.
pub fn normal(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('/').to_ascii_lowercase();
    let (scheme, host) = text.split_once("://")?;
    let authority: Authority = host.parse().ok()?;
    let sound = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !authority.host().is_empty()
        && !host.contains(['@', '*', ',']);
    let host = match (scheme, authority.port_u16()) {
        ("http", Some(80)) | ("https", Some(443)) => authority.host(),
        _ => host,
    };
    sound.then(|| format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_machine_itself_is_loopback() {
        for host in [
            "localhost",
            "LOCALHOST:8081",
            "localhost:1",
            "127.0.0.1",
            "127.0.0.1:8081",
            "127.8.9.10:1",
            "[::1]",
            "[::1]:8081",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(is_loopback(host), "{host}");
            assert!(is_loopback_origin(&format!("http://{host}")), "{host}");
            assert!(is_loopback_origin(&format!("https://{host}")), "{host}");
        }
        for host in [
            "",
            " ",
            ":8081",
            "null",
            "localhost.",
            "localhost.evil.com",
            "evil.com",
            "evil.com:8081",
            "notlocalhost",
            "127.0.0.1.evil.com",
            "127.0.0.1.nip.io:8081",
            "127.evil.com",
            "evil.com@localhost",
            "localhost@evil.com",
            "localhost,evil.com",
            "localhost evil.com",
            "localhost/evil.com",
            "0.0.0.0",
            "0x7f.1",
            "128.0.0.1",
            "10.0.0.1:8081",
            "[::2]",
            "[::]:8081",
            "192.168.1.5",
        ] {
            assert!(!is_loopback(host), "{host}");
            assert!(!is_loopback_origin(&format!("http://{host}")), "{host}");
        }
        for origin in [
            "null",
            "localhost",
            "file://",
            "ftp://localhost",
            "http://",
            "",
        ] {
            assert!(!is_loopback_origin(origin), "{origin}");
        }
    }

    #[test]
    fn every_name_of_the_host_counts() {
        let origins = Origins {
            loopback_only: true,
            named: Vec::new(),
        };
        let refused = |uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(uri);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            origins.refusal(&request.body(()).unwrap()).is_some()
        };
        assert!(!refused("/dbs", &[]));
        assert!(!refused("/dbs", &["localhost:1"]));
        assert!(!refused("http://localhost:1/dbs", &["localhost:1"]));
        assert!(refused("http://evil.com/dbs", &[]));
        assert!(refused("http://evil.com/dbs", &["localhost:1"]));
        assert!(refused("http://localhost:1/dbs", &["evil.com"]));
        assert!(refused("/dbs", &["localhost:1", "evil.com"]));
    }

    #[test]
    fn an_origin_is_compared_as_browsers_write_it() {
        for (text, expected) in [
            ("https://App.Example", Some("https://app.example")),
            ("https://app.example/", Some("https://app.example")),
            ("https://app.example:443", Some("https://app.example")),
            ("http://app.example:80", Some("http://app.example")),
            ("http://app.example:3000", Some("http://app.example:3000")),
            ("app+x://id", Some("app+x://id")),
            ("*", None),
            ("https://*.example", None),
            ("https://a@b", None),
            ("https://a/path", None),
            ("https://", None),
            ("app.example", None),
            ("null", None),
        ] {
            assert_eq!(normal(text).as_deref(), expected, "{text}");
        }
    }
}
