//! Commands made from any bytes: the names and types of their members are mostly right, what is in them is not.

use crate::bson::{Document, Part};
use crate::input::Input;

/// What a member of a command is.
#[derive(Clone, Copy)]
enum Kind {
    Document,
    Documents,
    Pipeline,
    Any,
    /// `{}`, as a cursor's options.
    Empty,
}

use Kind::{Any, Document as Doc, Documents as Docs, Empty, Pipeline};

/// A command, and the members that it may have.
type Form = (&'static str, &'static [(&'static str, Kind)]);

const FORMS: [Form; 17] = [
    (
        "find",
        &[
            ("filter", Doc),
            ("projection", Doc),
            ("sort", Doc),
            ("limit", Any),
            ("skip", Any),
            ("batchSize", Any),
            ("collation", Doc),
            ("hint", Any),
            ("let", Doc),
        ],
    ),
    ("find", &[("filter", Doc)]),
    (
        "aggregate",
        &[
            ("pipeline", Pipeline),
            ("cursor", Empty),
            ("let", Doc),
            ("collation", Doc),
        ],
    ),
    ("aggregate", &[("pipeline", Pipeline), ("cursor", Empty)]),
    ("update", &[("updates", Docs)]),
    ("insert", &[("documents", Docs), ("ordered", Any)]),
    ("delete", &[("deletes", Docs)]),
    (
        "findAndModify",
        &[
            ("query", Doc),
            ("update", Any),
            ("sort", Doc),
            ("fields", Doc),
            ("arrayFilters", Docs),
            ("upsert", Any),
            ("new", Any),
        ],
    ),
    ("count", &[("query", Doc), ("limit", Any), ("skip", Any)]),
    ("distinct", &[("key", Any), ("query", Doc)]),
    ("createIndexes", &[("indexes", Docs)]),
    ("dropIndexes", &[("index", Any)]),
    ("collMod", &[("index", Doc), ("validator", Doc)]),
    (
        "create",
        &[
            ("validator", Doc),
            ("capped", Any),
            ("size", Any),
            ("viewOn", Any),
            ("pipeline", Pipeline),
            ("collation", Doc),
        ],
    ),
    ("listCollections", &[("filter", Doc)]),
    ("usersInfo", &[("filter", Doc)]),
    (
        "createUser",
        &[("roles", Any), ("customData", Doc), ("mechanisms", Any)],
    ),
];

/// A collection's name; most commands meet in one.
fn collection(input: &mut Input<'_>) -> &'static str {
    input.one_of(&["c", "c", "c", "d", "v", "system.users", "$cmd.aggregate"])
}

fn command(input: &mut Input<'_>, depth: usize) -> Vec<u8> {
    let mut out = Document::new();
    let form = input.byte();
    match form % 24 {
        17 | 18 => statement(input, &mut out),
        19 if depth == 0 => {
            let inner = command(input, 1);
            out.push(0x03, "explain", &inner);
        }
        // Any document at all.
        20 => return input.document(Part::Filter, 0),
        other => {
            let (name, members) = FORMS[usize::from(other) % FORMS.len()];
            match name {
                "listCollections" | "usersInfo" => out.push(0x10, name, &1i32.to_le_bytes()),
                _ => out.text(0x02, name, collection(input)),
            }
            let chosen = input.byte();
            for (at, (member, kind)) in members.iter().enumerate() {
                if at > 0 && chosen & 1 << (at % 8) == 0 && !matches!(kind, Empty) {
                    continue;
                }
                match kind {
                    Doc => out.push(0x03, member, &input.document(Part::Filter, 0)),
                    Docs => out.push(0x04, member, &input.documents(Part::Filter)),
                    Pipeline => out.push(0x04, member, &input.pipeline(0)),
                    Any => input.member(member, Part::Filter, 1, &mut out),
                    Empty => out.push(0x03, member, &Document::new().end()),
                }
            }
        }
    }
    if depth == 0 {
        out.text(0x02, "$db", "t");
    }
    out.end()
}

/// An update or an index whose parts are in their places.
fn statement(input: &mut Input<'_>, out: &mut Document) {
    let mut one = Document::new();
    if input.byte() % 3 == 0 {
        out.text(0x02, "createIndexes", "c");
        one.push(0x03, "key", &input.document(Part::Filter, 0));
        one.text(0x02, "name", "i");
        let wanted = input.byte();
        for (at, option) in [
            "unique",
            "sparse",
            "expireAfterSeconds",
            "partialFilterExpression",
            "collation",
        ]
        .iter()
        .enumerate()
        {
            if wanted & 1 << at != 0 {
                input.member(option, Part::Filter, 1, &mut one);
            }
        }
        let mut list = Document::new();
        list.push(0x03, "0", &one.end());
        out.push(0x04, "indexes", &list.end());
        return;
    }
    out.text(0x02, "update", "c");
    one.push(0x03, "q", &input.document(Part::Filter, 0));
    if input.byte() % 4 == 0 {
        one.push(0x04, "u", &input.pipeline(0));
    } else {
        one.push(0x03, "u", &input.document(Part::Update, 0));
    }
    let wanted = input.byte();
    for (at, option) in ["multi", "upsert"].iter().enumerate() {
        if wanted & 1 << at != 0 {
            one.push(0x08, option, &[1]);
        }
    }
    if wanted & 4 != 0 {
        one.push(0x04, "arrayFilters", &input.documents(Part::Filter));
    }
    let mut list = Document::new();
    list.push(0x03, "0", &one.end());
    out.push(0x04, "updates", &list.end());
}

/// Commands at most that one input makes.
const COMMANDS_MAX: usize = 6;

/// The commands of an input, as BSON.
#[must_use]
pub fn commands(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut input = Input(bytes);
    let mut all = Vec::new();
    while !input.is_empty() && all.len() < COMMANDS_MAX {
        all.push(command(&mut input, 0));
    }
    all
}
