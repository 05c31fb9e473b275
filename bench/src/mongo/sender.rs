//! What a worker sends to a Mongo server, and how it knows that the answer is right.

use std::rc::Rc;

use anyhow::{Context, Result, bail};

use super::Load;
use super::bson::{self, Doc, Member};
use super::client::Client;
use super::document::{Document, GROUPS};
use crate::item::Random;
use crate::load::Sender;

/// Where everything is.
pub const DATABASE: &str = "bench";
/// Documents of one large insert.
const BULK_DOCUMENTS: u64 = 1000;
/// Documents of a sorted answer.
const SORTED_DOCUMENTS: usize = 10;

/// A connection, and what it sends.
pub struct Worker {
    client: Client,
    load: Load,
    documents: Rc<Vec<Document>>,
    /// Those a sort begins with.
    first: Vec<Document>,
    /// Which turn and which of its connections: nobody else makes documents of these numbers.
    place: (usize, usize),
    random: Random,
    /// What drivers put into every command: a session, and the time they have heard of.
    session: [u8; 16],
    cluster_time: Vec<u8>,
}

impl Worker {
    /// Connects, and asks for the time as drivers do.
    pub async fn connect(
        address: &str,
        load: Load,
        documents: &Rc<Vec<Document>>,
        place: (usize, usize),
    ) -> Result<Self> {
        let mut client = Client::connect(address).await?;
        let ping = Doc::new().int("ping", 1).text("$db", "admin");
        let answer = client.call(ping, &[]).await?;
        let time = bson::find(answer, &["$clusterTime"])?.and_then(Member::as_document);
        let cluster_time = time.context("an answer without $clusterTime")?.to_vec();
        let mut random = Random::of_worker(place.0, place.1);
        let mut session = [0; 16];
        session[..8].copy_from_slice(&random.next().to_le_bytes());
        session[8..].copy_from_slice(&random.next().to_le_bytes());
        Ok(Self {
            client,
            load,
            documents: Rc::clone(documents),
            first: match load {
                Load::Sorts => first(documents),
                _ => Vec::new(),
            },
            place,
            random,
            session,
            cluster_time,
        })
    }

    /// What every command of a driver ends with.
    fn common(&self, command: Doc) -> Doc {
        command
            .document("lsid", Doc::new().uuid("id", &self.session))
            .raw("$clusterTime", &self.cluster_time)
            .text("$db", DATABASE)
    }

    async fn find(&mut self, is_plain: bool) -> Result<()> {
        let document = &self.documents[self.random.below(self.documents.len())];
        let filter = Doc::new().object_id("_id", &document.id);
        let command = Doc::new()
            .text("find", "reads")
            .document("filter", filter)
            .int("limit", 1)
            .truth("singleBatch", true);
        let command = if is_plain {
            command.text("$db", DATABASE)
        } else {
            self.common(command)
        };
        let answer = self.client.call(command, &[]).await?;
        let found = bson::find(answer, &["cursor", "firstBatch"])?;
        check_batch(found, &[document])
    }

    async fn insert(&mut self, count: u64, is_retryable: bool) -> Result<()> {
        let document = Document::new(self.place.0, self.place.1, count);
        let mut command = Doc::new()
            .text("insert", "inserts")
            .truth("ordered", true)
            .document("writeConcern", journaled());
        if is_retryable {
            command = command.long("txnNumber", i64::try_from(count)?);
        }
        let command = self.common(command);
        let answer = self.client.call(command, &[&document.bytes]).await?;
        check_number(answer, &["n"], 1)
    }

    async fn update(&mut self) -> Result<()> {
        let document = &self.documents[self.random.below(self.documents.len())];
        let filter = Doc::new().object_id("_id", &document.id);
        let change = Doc::new().document("$inc", Doc::new().int("rank", 1));
        let statement = Doc::new().document("q", filter).document("u", change);
        let command = Doc::new()
            .text("update", "updates")
            .truth("ordered", true)
            .document("writeConcern", journaled())
            .list("updates", vec![statement]);
        let command = self.common(command);
        let answer = self.client.call(command, &[]).await?;
        check_number(answer, &["nModified"], 1)
    }

    async fn aggregate(&mut self) -> Result<()> {
        let groups = usize::try_from(GROUPS)?;
        let group = self.random.below(groups.min(self.documents.len()));
        let expected = (self.documents.len() - group).div_ceil(groups);
        let matching = Doc::new().int("group", i32::try_from(group)?);
        let grouping = Doc::new()
            .text("_id", "$group")
            .document("n", Doc::new().int("$sum", 1));
        let pipeline = vec![
            Doc::new().document("$match", matching),
            Doc::new().document("$group", grouping),
        ];
        self.pipeline(pipeline, expected).await
    }

    async fn count(&mut self) -> Result<()> {
        let grouping = Doc::new()
            .int("_id", 1)
            .document("n", Doc::new().int("$sum", 1));
        let pipeline = vec![
            Doc::new().document("$match", Doc::new()),
            Doc::new().document("$group", grouping),
        ];
        self.pipeline(pipeline, self.documents.len()).await
    }

    async fn pipeline(&mut self, pipeline: Vec<Doc>, expected: usize) -> Result<()> {
        let command = Doc::new()
            .text("aggregate", "reads")
            .list("pipeline", pipeline)
            .document("cursor", Doc::new());
        let command = self.common(command);
        let answer = self.client.call(command, &[]).await?;
        check_number(answer, &["cursor", "firstBatch", "0", "n"], expected)
    }

    async fn bulk(&mut self, count: u64) -> Result<()> {
        let first = count * BULK_DOCUMENTS;
        let documents: Vec<Document> = (first..first + BULK_DOCUMENTS)
            .map(|number| Document::new(self.place.0, self.place.1, number))
            .collect();
        let bytes: Vec<&[u8]> = documents.iter().map(|one| one.bytes.as_slice()).collect();
        let command = Doc::new()
            .text("insert", "bulks")
            .truth("ordered", true)
            .document("writeConcern", journaled());
        let command = self.common(command);
        let answer = self.client.call(command, &bytes).await?;
        check_number(answer, &["n"], documents.len())
    }

    async fn scan(&mut self) -> Result<()> {
        let command = Doc::new()
            .text("find", "reads")
            .document("filter", Doc::new());
        let mut command = self.common(command);
        let mut batch = "firstBatch";
        let mut found = 0;
        loop {
            let answer = self.client.call(command, &[]).await?;
            let list = bson::find(answer, &["cursor", batch])?.and_then(Member::as_document);
            let mut list = bson::members(list.context("no batch")?);
            while let Some((_, member)) = list.next()? {
                let expected = self.documents.get(found).context("too many documents")?;
                check_document(member, expected)?;
                found += 1;
            }
            let cursor = bson::find(answer, &["cursor", "id"])?.and_then(Member::as_i64);
            let cursor = cursor.context("no cursor")?;
            if cursor == 0 {
                break;
            }
            let more = Doc::new()
                .long("getMore", cursor)
                .text("collection", "reads");
            command = self.common(more);
            batch = "nextBatch";
        }
        if found != self.documents.len() {
            bail!(
                "a cursor showed {found} of {} documents",
                self.documents.len()
            );
        }
        Ok(())
    }

    async fn sort(&mut self) -> Result<()> {
        let command = Doc::new()
            .text("find", "reads")
            .document("filter", Doc::new())
            .document("sort", Doc::new().int("rank", 1))
            .int("limit", i32::try_from(SORTED_DOCUMENTS)?);
        let command = self.common(command);
        let answer = self.client.call(command, &[]).await?;
        let first: Vec<&Document> = self.first.iter().collect();
        check_batch(bson::find(answer, &["cursor", "firstBatch"])?, &first)
    }
}

impl Sender for Worker {
    async fn send(&mut self, count: u64) -> Result<()> {
        match self.load {
            Load::Finds => self.find(false).await,
            Load::PlainFinds => self.find(true).await,
            Load::Inserts => self.insert(count, false).await,
            Load::RetryableInserts => self.insert(count, true).await,
            Load::Updates => self.update().await,
            Load::Aggregates => self.aggregate().await,
            Load::Bulks => self.bulk(count).await,
            Load::Scans => self.scan().await,
            Load::Counts => self.count().await,
            Load::Sorts => self.sort().await,
        }
    }
}

/// The documents with the least ranks.
fn first(documents: &[Document]) -> Vec<Document> {
    let mut all: Vec<&Document> = documents.iter().collect();
    all.sort_by_key(|document| document.rank);
    all.into_iter().take(SORTED_DOCUMENTS).cloned().collect()
}

/// Acknowledged when it is in the journal: ours always is.
fn journaled() -> Doc {
    Doc::new().int("w", 1).truth("j", true)
}

fn check_document(found: Member<'_>, expected: &Document) -> Result<()> {
    if found.as_document() != Some(expected.bytes.as_slice()) {
        bail!("a wrong answer: a document came back changed, or another one");
    }
    Ok(())
}

fn check_batch(batch: Option<Member<'_>>, expected: &[&Document]) -> Result<()> {
    let list = batch.and_then(Member::as_document).context("no batch")?;
    let mut list = bson::members(list);
    for document in expected {
        let (_, found) = list.next()?.context("a wrong answer: too few documents")?;
        check_document(found, document)?;
    }
    if list.next()?.is_some() {
        bail!("a wrong answer: too many documents");
    }
    Ok(())
}

fn check_number(answer: &[u8], path: &[&str], expected: usize) -> Result<()> {
    let found = bson::find(answer, path)?.and_then(Member::as_i64);
    if found != i64::try_from(expected).ok() {
        bail!("a wrong answer: {path:?} is {found:?}, not {expected}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_right_only_with_the_very_documents() {
        let (one, two) = (Document::new(0, 0, 1), Document::new(0, 0, 2));
        let answer = |documents: &[&Document]| {
            let mut list = Doc::new();
            for (at, document) in documents.iter().enumerate() {
                list = list.raw(&at.to_string(), &document.bytes);
            }
            Doc::new().document("b", list).finish()
        };
        let fits = |answer: Vec<u8>, expected: &[&Document]| {
            check_batch(bson::find(&answer, &["b"]).unwrap(), expected).is_ok()
        };
        assert!(fits(answer(&[&one, &two]), &[&one, &two]));
        assert!(!fits(answer(&[&two, &one]), &[&one, &two]));
        assert!(!fits(answer(&[&one]), &[&one, &two]));
        assert!(!fits(answer(&[&one, &two]), &[&one]));
        let mut changed = answer(&[&one]);
        changed[500] ^= 1;
        assert!(!fits(changed, &[&one]));
    }
}
