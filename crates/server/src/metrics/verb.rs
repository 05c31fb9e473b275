//! The name under which a request is counted, from its method, path and headers alone.

use http::{HeaderMap, Method};

macro_rules! verbs {
    ($($verb:ident $name:literal,)*) => {
        /// What a request does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Verb { $(#[doc = $name] $verb,)* }

        impl Verb {
            /// All of them.
            pub const ALL: &[Verb] = &[$(Verb::$verb,)*];

            /// As the label says it.
            pub const fn name(self) -> &'static str {
                match self { $(Verb::$verb => $name,)* }
            }
        }
    };
}

verbs! {
    Admin "admin",
    Batch "batch",
    Certificate "certificate",
    ChangeFeed "change_feed",
    ClientEncryptionKeys "client_encryption_keys",
    Containers "containers",
    CreateItem "create_item",
    Databases "databases",
    DeleteItem "delete_item",
    Health "health",
    ListItems "list_items",
    Metrics "metrics",
    Offers "offers",
    Other "other",
    PatchItem "patch_item",
    QueryItems "query_items",
    QueryPlan "query_plan",
    Ranges "ranges",
    ReadAccount "read_account",
    ReadItem "read_item",
    ReplaceItem "replace_item",
    Scripts "scripts",
    UpsertItem "upsert_item",
    Users "users",
}

/// A part of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The admin API.
    Admin,
    /// What needs no authorisation.
    Open,
    /// The NoSQL door.
    Nosql,
}

impl Verb {
    /// How many there are.
    pub const COUNT: usize = Verb::ALL.len();

    /// Its place in a table.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The part of the server that answers it.
    pub const fn part(self) -> Part {
        match self {
            Verb::Admin => Part::Admin,
            Verb::Health | Verb::Metrics | Verb::Certificate => Part::Open,
            Verb::Batch
            | Verb::ChangeFeed
            | Verb::Containers
            | Verb::CreateItem
            | Verb::Databases
            | Verb::DeleteItem
            | Verb::ListItems
            | Verb::Offers
            | Verb::Other
            | Verb::PatchItem
            | Verb::QueryItems
            | Verb::QueryPlan
            | Verb::Ranges
            | Verb::ReadAccount
            | Verb::ReadItem
            | Verb::ReplaceItem
            | Verb::Scripts
            | Verb::UpsertItem
            | Verb::Users
            | Verb::ClientEncryptionKeys => Part::Nosql,
        }
    }

    /// The label of the door it came through.
    pub const fn door(self) -> &'static str {
        match self.part() {
            Part::Admin | Part::Open => "admin",
            Part::Nosql => "nosql",
        }
    }

    /// The verb of a request.
    pub fn of(method: &Method, path: &str, headers: &HeaderMap) -> Verb {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let depth = segments.clone().count();
        match segments.next() {
            None => Verb::ReadAccount,
            Some("dbs") => match (depth, segments.nth(1), segments.nth(1)) {
                (..=2, ..) => Verb::Databases,
                (_, Some("users"), _) => Verb::Users,
                (_, Some("clientencryptionkeys"), _) => Verb::ClientEncryptionKeys,
                (..=4, Some("colls"), _) => Verb::Containers,
                (5, Some("colls"), Some("docs")) => Verb::of_items(method, headers),
                (6, Some("colls"), Some("docs")) => Verb::of_item(method),
                (_, Some("colls"), Some("pkranges")) => Verb::Ranges,
                (_, Some("colls"), Some("sprocs" | "triggers" | "udfs")) => Verb::Scripts,
                _ => Verb::Other,
            },
            Some("offers") => Verb::Offers,
            Some("_lapsedb") => Verb::Admin,
            Some("_explorer") => Verb::Certificate,
            Some("metrics") if path == "/metrics" => Verb::Metrics,
            Some(_) if crate::health::Question::of(path).is_some() => Verb::Health,
            Some(_) => Verb::Other,
        }
    }

    fn of_item(method: &Method) -> Verb {
        match method.as_str() {
            "GET" => Verb::ReadItem,
            "PUT" => Verb::ReplaceItem,
            "PATCH" => Verb::PatchItem,
            "DELETE" => Verb::DeleteItem,
            _ => Verb::Other,
        }
    }

    /// The discriminators in the order in which the door tests them.
    fn of_items(method: &Method, headers: &HeaderMap) -> Verb {
        let says = |name: &str| {
            headers
                .get(name)
                .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
        };
        let query = || {
            headers
                .get("content-type")
                .is_some_and(|value| value.as_bytes().starts_with(b"application/query+json"))
        };
        match method.as_str() {
            "GET" if headers.contains_key("a-im") => Verb::ChangeFeed,
            "GET" => Verb::ListItems,
            "POST" if says("x-ms-cosmos-is-query-plan-request") => Verb::QueryPlan,
            "POST" if says("x-ms-documentdb-isquery") || query() => Verb::QueryItems,
            "POST" if says("x-ms-cosmos-is-batch-request") => Verb::Batch,
            "POST" if says("x-ms-documentdb-is-upsert") => Verb::UpsertItem,
            "POST" => Verb::CreateItem,
            _ => Verb::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn verb(method: &str, path: &str, header: &str) -> &'static str {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header.split_once(": ") {
            headers.insert(
                http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        Verb::of(&method.parse().unwrap(), path, &headers).name()
    }

    #[test]
    fn names_are_sorted_and_index_the_table() {
        assert!(Verb::ALL.is_sorted_by_key(|verb| verb.name()));
        assert!(
            Verb::ALL
                .iter()
                .enumerate()
                .all(|(index, verb)| verb.index() == index)
        );
    }

    #[test]
    fn each_shape_of_a_request_has_its_verb() {
        for (method, path, header, name) in [
            ("GET", "/", "", "read_account"),
            ("GET", "/dbs", "", "databases"),
            ("GET", "//dbs//db/", "", "databases"),
            ("POST", "/dbs/db/colls", "", "containers"),
            ("PUT", "/dbs/colls/colls/docs", "", "containers"),
            ("GET", "/dbs/db/colls/c/pkranges", "", "ranges"),
            ("GET", "/dbs/db/colls/c/docs/", "", "list_items"),
            (
                "GET",
                "/dbs/db/colls/c/docs",
                "a-im: Incremental Feed",
                "change_feed",
            ),
            (
                "POST",
                "/dbs/db/colls/c/docs",
                "x-ms-cosmos-is-query-plan-request: True",
                "query_plan",
            ),
            (
                "POST",
                "/dbs/db/colls/c/docs",
                "x-ms-documentdb-isquery: true",
                "query_items",
            ),
            (
                "POST",
                "/dbs/db/colls/c/docs",
                "content-type: application/query+json; charset=utf-8",
                "query_items",
            ),
            (
                "POST",
                "/dbs/db/colls/c/docs",
                "x-ms-cosmos-is-batch-request: True",
                "batch",
            ),
            (
                "POST",
                "/dbs/db/colls/c/docs",
                "x-ms-documentdb-is-upsert: True",
                "upsert_item",
            ),
            (
                "POST",
                "/dbs/db/colls/c/docs",
                "x-ms-documentdb-is-upsert: False",
                "create_item",
            ),
            ("GET", "/dbs/db/colls/c/docs/metrics", "", "read_item"),
            ("PUT", "/dbs/db/colls/c/docs/1", "", "replace_item"),
            ("PATCH", "/dbs/db/colls/c/docs/1", "", "patch_item"),
            ("DELETE", "/dbs/db/colls/c/docs/1", "", "delete_item"),
            ("POST", "/dbs/db/colls/c/sprocs/1", "", "scripts"),
            ("GET", "/dbs/db/users/u/permissions", "", "users"),
            (
                "POST",
                "/dbs/db/clientencryptionkeys",
                "",
                "client_encryption_keys",
            ),
            ("GET", "/offers", "", "offers"),
            ("GET", "/_lapsedb/clock", "", "admin"),
            ("GET", "/_explorer/emulator.pem", "", "certificate"),
            ("GET", "/readyz", "", "health"),
            ("GET", "/metrics", "", "metrics"),
            ("GET", "/nothing", "", "other"),
            ("BREW", "/dbs/db/colls/c/docs/1", "", "other"),
        ] {
            assert_eq!(verb(method, path, header), name, "{method} {path} {header}");
        }
    }
}
