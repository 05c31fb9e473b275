//! A refused operation leaves no trace in the store, byte for byte: alone, in a transactional batch and in a bulk request.
//!
//! Every operation is refused for every reason there is, in every mode. Two copies of one store receive the same accepted
//! operations, and only the first also the refused ones; then their bytes are compared.

use lapsedb_service::items::{self, Action, Document, ItemOp, Mode, Patch};
use lapsedb_service::limits::BODY_BYTES_MAX;
use lapsedb_service::{Ctx, Kind, PartitionKey, Place, collections};
use lapsedb_testkit::copy_folder;

use crate::support::{Bench, object, stored, value};

const DB: &str = "db";
/// Without and with versions: where they are kept, every change is an event.
const COLLECTIONS: [&str; 2] = ["plain", "versions"];

#[derive(Clone, Copy, Debug)]
enum Operation {
    Create,
    Upsert,
    Replace,
    /// A replace that gives the item another id.
    Rename,
    Patch,
    Delete,
    Read,
}

const OPERATIONS: [Operation; 7] = [
    Operation::Create,
    Operation::Upsert,
    Operation::Replace,
    Operation::Rename,
    Operation::Patch,
    Operation::Delete,
    Operation::Read,
];

#[derive(Clone, Copy, Debug)]
enum Reason {
    /// 409: the id is in use.
    IdTaken,
    /// 409: another item has the unique value.
    UniqueTaken,
    /// 412: the item has another etag.
    OtherEtag,
    /// 412: the condition of a patch does not hold.
    Condition,
    /// 413: the item is too large.
    TooLarge,
    /// 400: the ttl means nothing.
    BadTtl,
    /// 400: the document belongs to another partition.
    OtherPartition,
    /// 404: there is no such item.
    Missing,
}

const REASONS: [Reason; 8] = [
    Reason::IdTaken,
    Reason::UniqueTaken,
    Reason::OtherEtag,
    Reason::Condition,
    Reason::TooLarge,
    Reason::BadTtl,
    Reason::OtherPartition,
    Reason::Missing,
];

impl Reason {
    fn kind(self) -> Kind {
        match self {
            Reason::IdTaken | Reason::UniqueTaken => Kind::Conflict,
            Reason::OtherEtag | Reason::Condition => Kind::PreconditionFailed,
            Reason::TooLarge => Kind::TooLarge,
            Reason::BadTtl => Kind::BadRequest,
            Reason::OtherPartition => Kind::PartitionKeyMismatch,
            Reason::Missing => Kind::NotFound,
        }
    }
}

/// A partition for each case: `own` is the item the operation is about, `other` has the values that are taken.
struct Case {
    operation: Operation,
    reason: Reason,
    partition: String,
}

impl Case {
    fn key(&self) -> PartitionKey {
        PartitionKey::parse(&format!("[\"{}\"]", self.partition)).unwrap()
    }

    fn op(&self, action: Action) -> ItemOp {
        ItemOp {
            action,
            partition: Some(self.key()),
            if_match: None,
            if_none_match: None,
            minimal: false,
        }
    }

    fn document(&self, id: &str, rest: &str) -> Document {
        let pk = &self.partition;
        Document::new(object(&format!(
            "{{\"id\":\"{id}\",\"pk\":\"{pk}\"{rest}}}"
        )))
        .unwrap()
    }

    fn patch(&self, id: &str, body: &str) -> ItemOp {
        self.op(Action::Patch {
            id: id.to_owned(),
            patch: Patch::parse(&value(body)).unwrap(),
        })
    }

    fn create(&self, id: &str, unique: &str) -> ItemOp {
        let rest = format!(",\"u\":\"{unique}\"");
        self.op(Action::Create(self.document(id, &rest)))
    }

    /// The operation that is refused for this reason; none where the two do not go together.
    fn refused(&self) -> Option<ItemOp> {
        let id = match self.reason {
            Reason::Missing => "missing",
            _ => "own",
        };
        // Members of the new document, and a patch that leads to the same.
        let (rest, patch) = match self.reason {
            Reason::UniqueTaken => (
                ",\"u\":\"taken\"".to_owned(),
                "[{\"op\":\"set\",\"path\":\"/u\",\"value\":\"taken\"}]".to_owned(),
            ),
            Reason::BadTtl => (
                ",\"u\":\"new\",\"ttl\":0".to_owned(),
                "[{\"op\":\"set\",\"path\":\"/ttl\",\"value\":0}]".to_owned(),
            ),
            Reason::TooLarge => {
                let long = "x".repeat(BODY_BYTES_MAX);
                (
                    String::new(),
                    format!("[{{\"op\":\"set\",\"path\":\"/long\",\"value\":\"{long}\"}}]"),
                )
            }
            Reason::Condition => (
                String::new(),
                "{\"condition\":\"from c where c.n = 17\",\"operations\":[{\"op\":\"set\",\"path\":\"/n\",\"value\":1}]}"
                    .to_owned(),
            ),
            Reason::IdTaken | Reason::OtherEtag | Reason::OtherPartition | Reason::Missing => (
                ",\"u\":\"new\"".to_owned(),
                "[{\"op\":\"set\",\"path\":\"/n\",\"value\":1}]".to_owned(),
            ),
        };
        let mut op = match (self.operation, self.reason) {
            // What is too large is refused when it is read, except what a patch makes.
            (
                Operation::Create | Operation::Upsert | Operation::Replace | Operation::Rename,
                Reason::TooLarge,
            ) => self.op(Action::Refused(items::body::too_large())),
            (Operation::Create, Reason::IdTaken) => {
                self.op(Action::Create(self.document("own", &rest)))
            }
            (Operation::Rename, Reason::IdTaken) => self.op(Action::Replace {
                id: "own".to_owned(),
                document: self.document("other", &rest),
            }),
            (_, Reason::IdTaken) => return None,
            (Operation::Create, Reason::OtherEtag | Reason::Missing) => return None,
            (Operation::Upsert, Reason::Missing) => return None,
            (Operation::Read, Reason::OtherEtag) => return None,
            (Operation::Patch, _) => self.patch(id, &patch),
            (_, Reason::Condition) => return None,
            (Operation::Delete | Operation::Read, Reason::Missing | Reason::OtherEtag) => {
                let id = id.to_owned();
                match self.operation {
                    Operation::Delete => self.op(Action::Delete { id }),
                    _ => self.op(Action::Read { id }),
                }
            }
            (Operation::Delete | Operation::Read, _) => return None,
            (Operation::Create, _) => self.op(Action::Create(self.document("new", &rest))),
            (Operation::Upsert, _) => self.op(Action::Upsert(self.document("own", &rest))),
            (Operation::Replace, _) => self.op(Action::Replace {
                document: self.document(id, &rest),
                id: id.to_owned(),
            }),
            (Operation::Rename, _) => self.op(Action::Replace {
                document: self.document("renamed", &rest),
                id: id.to_owned(),
            }),
        };
        match self.reason {
            Reason::OtherEtag => op.if_match = Some("\"another\"".to_owned()),
            Reason::OtherPartition => match &mut op.action {
                Action::Create(document)
                | Action::Upsert(document)
                | Action::Replace { document, .. } => {
                    let mut object = document.object.as_ref().clone();
                    object.insert("pk", lapsedb_value::Value::String("elsewhere".into()));
                    *document = Document::new(object).unwrap();
                }
                Action::Patch { .. }
                | Action::Delete { .. }
                | Action::Read { .. }
                | Action::Refused(_) => return None,
            },
            Reason::IdTaken
            | Reason::UniqueTaken
            | Reason::Condition
            | Reason::TooLarge
            | Reason::BadTtl
            | Reason::Missing => {}
        }
        Some(op)
    }
}

/// Runs operations; each result as its kind of error, or none.
async fn run(ctx: &Ctx, collection: &str, ops: &[ItemOp], mode: Mode) -> Vec<Option<Kind>> {
    let ran = items::run(ctx, (DB, collection), None, ops, mode)
        .await
        .unwrap();
    let kinds = ran.results.into_iter();
    kinds.map(|result| result.err().map(|e| e.kind)).collect()
}

/// Sends what is accepted and, if wanted, what is refused between it.
async fn send(ctx: &Ctx, collection: &str, case: &Case, with_refused: bool) {
    let what = format!("{collection}: {:?}, {:?}", case.operation, case.reason);
    let seed = [case.create("own", "own"), case.create("other", "taken")];
    assert_eq!(
        run(ctx, collection, &seed, Mode::Atomic).await,
        [None, None],
        "{what}"
    );
    let refused = case.refused().unwrap();
    let kind = || Some(case.reason.kind());
    // The bulk changes the same item before and after, so that what is taken back is the item as the bulk has it.
    let set = |id: &str, n: i64| {
        case.patch(
            id,
            &format!("[{{\"op\":\"set\",\"path\":\"/touched\",\"value\":{n}}}]"),
        )
    };
    let (before, after) = (set("own", 1), set("own", 2));
    let beside = case.create("beside", "beside");
    if with_refused {
        let alone = std::slice::from_ref(&refused);
        let single = run(ctx, collection, alone, Mode::Each).await;
        assert_eq!(single, [kind()], "{what}, single");
        let batch = [set("own", 3), set("other", 3), refused.clone()];
        let batch = run(ctx, collection, &batch, Mode::Atomic).await;
        assert_eq!(batch[2], kind(), "{what}, batch");
        assert!(batch.iter().all(Option::is_some), "{what}, batch");
        let bulk = [before, refused.clone(), after, refused, beside];
        assert_eq!(
            run(ctx, collection, &bulk, Mode::Each).await,
            [None, kind(), None, kind(), None],
            "{what}, bulk"
        );
    } else {
        assert_eq!(
            run(ctx, collection, &[before, after, beside], Mode::Each).await,
            [None, None, None],
            "{what}, bulk"
        );
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for operation in OPERATIONS {
        for reason in REASONS {
            let case = Case {
                operation,
                reason,
                partition: format!("{operation:?}-{reason:?}"),
            };
            if case.refused().is_some() {
                cases.push(case);
            }
        }
    }
    cases
}

#[test]
fn alone_in_a_batch_and_in_a_bulk() {
    lapsedb_testkit::run(async {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let bench = Bench::at(Place::Disk(at("empty")), false).await;
        bench.database(DB).await;
        for id in COLLECTIONS {
            let kept = match id {
                "versions" => ",\"changeFeedPolicy\":{\"retentionDuration\":10}",
                _ => "",
            };
            let body = format!(
                "{{\"id\":\"{id}\",\"partitionKey\":{{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}},\
                 \"uniqueKeyPolicy\":{{\"uniqueKeys\":[{{\"paths\":[\"/u\"]}}]}},\"defaultTtl\":-1{kept}}}"
            );
            collections::create(&bench.ctx, DB, &value(&body), None)
                .await
                .unwrap();
        }
        bench.service.close().await.unwrap();
        drop(bench);

        let mut stores = Vec::new();
        for (name, with_refused) in [("with", true), ("without", false)] {
            copy_folder(&at("empty"), &at(name));
            let bench = Bench::at(Place::Disk(at(name)), false).await;
            for collection in COLLECTIONS {
                for case in cases() {
                    send(&bench.ctx, collection, &case, with_refused).await;
                }
            }
            bench.service.close().await.unwrap();
            drop(bench);
            stores.push(stored(&at(name)).await);
        }
        let differing: Vec<_> = stores[0]
            .iter()
            .filter(|(key, value)| stores[1].get(*key) != Some(*value))
            .chain(
                stores[1]
                    .iter()
                    .filter(|(key, _)| !stores[0].contains_key(*key)),
            )
            .map(|((space, key), _)| format!("{space:?} {}", String::from_utf8_lossy(key)))
            .collect();
        assert!(differing.is_empty(), "{differing:#?}");
    });
}

#[test]
fn every_operation_and_every_reason_has_a_case() {
    let cases = cases();
    for operation in OPERATIONS {
        assert!(
            cases
                .iter()
                .any(|case| case.partition.starts_with(&format!("{operation:?}-")))
        );
    }
    for reason in REASONS {
        assert!(
            cases
                .iter()
                .any(|case| case.partition.ends_with(&format!("-{reason:?}")))
        );
    }
}
