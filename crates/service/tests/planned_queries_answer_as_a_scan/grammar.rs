//! Documents of every kind, and queries from a grammar.

use proptest::prelude::*;

/// A value at a path of a document, as JSON text.
pub fn value() -> impl Strategy<Value = String> {
    let long = "x".repeat(257);
    prop_oneof![
        2 => Just("null".to_owned()),
        3 => any::<bool>().prop_map(|truth| truth.to_string()),
        8 => (-3_i32..6).prop_map(|n| n.to_string()),
        2 => prop_oneof![Just("2.5"), Just("-0.5"), Just("9007199254740993"), Just("9007199254740992"), Just("-9007199254740993"), Just("9223372036854775807"), Just("1e300")].prop_map(str::to_owned),
        8 => text().prop_map(|text| format!("\"{text}\"")),
        2 => prop_oneof![Just(""), Just("a"), Just("ab"), Just("b")]
            .prop_map(move |end| format!("\"{long}{end}\"")),
        2 => prop_oneof![Just("[]"), Just("[1]"), Just("[1,\"a\"]"), Just("[[2],null]")].prop_map(str::to_owned),
        2 => prop_oneof![Just("{}"), Just("{\"a\":1}"), Just("{\"a\":\"b\",\"c\":[1]}")].prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just("a"),
        Just("ab"),
        Just("abc"),
        Just("b"),
        Just("B"),
        Just("ä"),
        Just("a%"),
        Just("10")
    ]
}

/// What a document says beside its address.
pub fn document() -> impl Strategy<Value = String> {
    let member = |name: &'static str, often: f64| {
        prop::option::weighted(often, value()).prop_map(move |value| {
            value
                .map(|value| format!(",\"{name}\":{value}"))
                .unwrap_or_default()
        })
    };
    let tags = prop_oneof![
        2 => Just(String::new()),
        5 => prop::collection::vec(value(), 0..4).prop_map(|tags| format!(",\"tags\":[{}]", tags.join(","))),
        1 => value().prop_map(|value| format!(",\"tags\":{value}")),
    ];
    let deep = prop_oneof![
        2 => Just(String::new()),
        4 => value().prop_map(|value| format!(",\"deep\":{{\"er\":{value}}}")),
        1 => value().prop_map(|value| format!(",\"deep\":{value}")),
    ];
    let ttl = prop_oneof![
        5 => Just(String::new()),
        2 => (1_i32..9).prop_map(|ttl| format!(",\"ttl\":{ttl}")),
        1 => Just(",\"ttl\":-1".to_owned()),
    ];
    (member("n", 0.8), member("s", 0.8), tags, deep, ttl)
        .prop_map(|(n, s, tags, deep, ttl)| format!("{n}{s}{tags}{deep}{ttl}"))
}

fn path() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        6 => Just("c.n"),
        4 => Just("c.s"),
        2 => Just("c.deep.er"),
        1 => Just("c.deep"),
        1 => Just("c.tags[0]"),
        1 => Just("c.pk"),
        1 => Just("c.id"),
        1 => Just("c.nowhere"),
        1 => Just("c._ts"),
        1 => Just("c.hidden"),
    ]
}

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => value(),
        1 => (0_u8..3).prop_map(|p| format!("\"p{p}\"")),
        1 => (0_u8..9).prop_map(|i| format!("\"i{i}\"")),
        1 => Just("undefined".to_owned()),
    ]
}

fn atom(joined: bool) -> BoxedStrategy<String> {
    let path = || {
        if joined {
            prop_oneof![3 => path(), 1 => Just("t"), 1 => Just("t.a")].boxed()
        } else {
            path().boxed()
        }
    };
    prop_oneof![
        6 => (path(), prop_oneof![Just("="), Just("<"), Just("<="), Just(">"), Just(">="), Just("!=")], literal())
            .prop_map(|(path, op, value)| format!("{path} {op} {value}")),
        1 => (path(), literal()).prop_map(|(path, value)| format!("{value} >= {path}")),
        2 => (path(), prop::collection::vec(literal(), 1..4))
            .prop_map(|(path, values)| format!("{path} IN ({})", values.join(", "))),
        2 => (path(), literal(), literal()).prop_map(|(path, a, b)| format!("({path} BETWEEN {a} AND {b})")),
        2 => (path(), prop_oneof![Just("a%"), Just("%"), Just("ab"), Just("a!%%"), Just("[ab]%"), Just("x%")])
            .prop_map(|(path, like)| format!("{path} LIKE '{like}' ESCAPE '!'")),
        1 => (path(), text()).prop_map(|(path, text)| format!("STARTSWITH({path}, '{text}')")),
        3 => (path(), prop_oneof![
                Just("IS_DEFINED"), Just("NOT IS_DEFINED"), Just("IS_NULL"), Just("IS_STRING"), Just("IS_NUMBER"),
                Just("IS_PRIMITIVE"), Just("IS_ARRAY"), Just("IS_OBJECT"), Just("IS_BOOL"), Just("IS_INTEGER"),
            ]).prop_map(|(path, check)| format!("{check}({path})")),
        2 => literal().prop_map(|value| format!("ARRAY_CONTAINS(c.tags, {value})")),
        1 => (literal(), literal()).prop_map(|(a, b)| format!("ARRAY_CONTAINS_ANY(c.tags, {a}, {b})")),
        1 => path().prop_map(str::to_owned),
        1 => path().prop_map(|path| format!("NOT {path}")),
        1 => Just("EXISTS(SELECT VALUE u FROM u IN c.tags WHERE u = 1)".to_owned()),
    ]
    .boxed()
}

fn filter(joined: bool) -> BoxedStrategy<String> {
    atom(joined)
        .prop_recursive(3, 8, 3, |inner| {
            prop_oneof![
                3 => prop::collection::vec(inner.clone(), 2..4).prop_map(|terms| format!("({})", terms.join(" AND "))),
                3 => prop::collection::vec(inner.clone(), 2..4).prop_map(|terms| format!("({})", terms.join(" OR "))),
                1 => inner.prop_map(|term| format!("NOT ({term})")),
            ]
        })
        .boxed()
}

/// How an answer is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row by row.
    Fixed,
    /// As a bag of rows.
    Free,
    /// As many rows, all from the answer without the window.
    Window,
}

/// A query, and the same without its window.
#[derive(Clone, Debug)]
pub struct Asked {
    pub text: String,
    pub all: String,
    pub order: Order,
}

fn asked(
    select: String,
    from: String,
    tail: String,
    window: Option<(u32, u32)>,
    top: bool,
    sorted: bool,
) -> Asked {
    let all = format!("SELECT {select} {from} {tail}");
    let (text, windowed) = match window {
        None => (all.clone(), false),
        Some((_, limit)) if top => {
            let select = match select.strip_prefix("DISTINCT ") {
                Some(rest) => format!("DISTINCT TOP {limit} {rest}"),
                None => format!("TOP {limit} {select}"),
            };
            (format!("SELECT {select} {from} {tail}"), true)
        }
        Some((offset, limit)) => (format!("{all} OFFSET {offset} LIMIT {limit}"), true),
    };
    let order = match (sorted, windowed) {
        (true, _) => Order::Fixed,
        (false, true) => Order::Window,
        (false, false) => Order::Free,
    };
    Asked { text, all, order }
}

/// A query from the grammar.
pub fn query() -> BoxedStrategy<Asked> {
    any::<bool>()
        .prop_flat_map(|joined| {
            let from = if joined { "FROM c JOIN t IN c.tags" } else { "FROM c" };
            let plain = prop_oneof![
                Just("VALUE c.id"), Just("c.id, c.n"), Just("VALUE c.n"), Just("VALUE c.deep"), Just("*"),
            ]
            .prop_map(move |select| if joined && select == "*" { "VALUE c" } else { select });
            let fixed = (Just("c.s = 'a'"), prop::option::of(filter(joined))).prop_map(|(fixed, more)| match more {
                Some(more) => format!("{fixed} AND {more}"),
                None => fixed.to_owned(),
            });
            let filtered = prop::option::weighted(0.7, prop_oneof![5 => filter(joined), 1 => fixed])
                .prop_map(|filter| filter.map(|filter| format!("WHERE {filter}")).unwrap_or_default());
            let window = prop::option::weighted(0.4, (0_u32..6, 0_u32..8));
            let sort = (path(), any::<bool>()).prop_filter_map("sorted by members", |(path, falling)| {
                (!path.contains('[') && path != "c.hidden").then(|| format!("ORDER BY {path} {}", if falling { "DESC" } else { "ASC" }))
            });
            let sorts = prop_oneof![
                5 => sort,
                1 => Just("ORDER BY c.s ASC, c.n DESC".to_owned()),
                1 => Just("ORDER BY c.s DESC, c.n ASC".to_owned()),
                1 => Just("ORDER BY c.n DESC, c.s ASC".to_owned()),
                1 => Just("ORDER BY c.n ASC, c.s DESC".to_owned()),
            ];
            let grouped = prop_oneof![
                Just(("VALUE COUNT(1)", "")),
                Just(("VALUE COUNT(c.n)", "")),
                Just(("VALUE MAX(c.n)", "")),
                Just(("VALUE MIN(c.s)", "")),
                Just(("SUM(c.n) AS a, AVG(c.n) AS b, COUNT(1) AS k", "")),
                Just(("c.s, COUNT(1) AS k", "GROUP BY c.s")),
                Just(("c.n", "GROUP BY c.n")),
                Just(("c.s, MAX(c.n) AS most", "GROUP BY c.s")),
                Just(("c.pk, c.s, COUNT(1) AS k", "GROUP BY c.pk, c.s")),
                Just(("DISTINCT VALUE c.n", "")),
                Just(("DISTINCT VALUE c.s", "")),
                Just(("DISTINCT c.s, c.pk", "")),
                Just(("DISTINCT VALUE c.s", "ORDER BY c.s DESC")),
            ];
            prop_oneof![
                4 => (plain.clone(), filtered.clone(), window.clone(), any::<bool>()).prop_map(move |(select, filter, window, top)|
                    asked(select.into(), from.into(), filter, window, top, false)),
                4 => (plain, filtered.clone(), sorts, window.clone(), any::<bool>()).prop_map(move |(select, filter, sort, window, top)|
                    asked(select.into(), from.into(), format!("{filter} {sort}"), window, top, true)),
                4 => (grouped, filtered, window, any::<bool>()).prop_map(move |((select, tail), filter, window, top)|
                    asked(select.into(), from.into(), format!("{filter} {tail}"), window, top, true)),
            ]
        })
        .boxed()
}
