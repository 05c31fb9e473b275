//! Items: point operations, feeds, queries and batches under `…/docs`.

use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{Method, StatusCode};
use lapsedb_service::feed::Query;
use lapsedb_service::items::feed::{Paging, Selection};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode, OpDone, Patch, Ran};
use lapsedb_service::resource::System;
use lapsedb_service::{
    Clock, Collection, Database, EpkRange, Error, Header, Kind, PartitionKey, Result, charge,
    resource,
};

use crate::answer::Answer;
use crate::batch::{self, Batch, Form};
use crate::call::Call;
use crate::envelope;
use crate::format::{Format, Subject};
use crate::headers;
use crate::routes::{changes, method_not_allowed};
use crate::{query_metrics, quota, session};

/// `…/docs`: feed, query, batch, upsert, create. The order of the questions is the wire's.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    match *call.method {
        Method::GET if call.headers.contains_key(&headers::A_IM) => {
            changes::feed(call, db, coll).await
        }
        Method::GET => read_feed(call, db, coll).await,
        Method::POST if call.flag(&headers::IS_QUERY_PLAN)? => query_plan(call, db, coll).await,
        Method::POST if call.is_query()? && call.headers.contains_key(&headers::A_IM) => {
            Err(Error::bad_request(
                "A change feed takes no query: the header A-IM came with a query text. Read the feed with GET, or send the query without A-IM.",
            ))
        }
        Method::POST if call.is_query()? => query(call, db, coll).await,
        Method::POST if call.flag(&headers::IS_BATCH)? => run_batch(call, db, coll).await,
        Method::POST => {
            let document = Document::new(call.object()?)?;
            let upsert = call.flag(&headers::IS_UPSERT)?;
            let action = if upsert {
                Action::Upsert(document)
            } else {
                Action::Create(document)
            };
            write_one(call, db, coll, action).await
        }
        _ => Err(method_not_allowed(call)),
    }
}

/// `…/docs/{id}`.
///
/// # Errors
/// As the verb says.
pub async fn one(call: &Call<'_>, db: &str, coll: &str, id: &str) -> Result<Answer> {
    let id = id.to_owned();
    match *call.method {
        Method::GET => read_one(call, db, coll, &id).await,
        Method::PUT => {
            let document = Document::new(call.object()?)?;
            Box::pin(write_one(call, db, coll, Action::Replace { id, document })).await
        }
        Method::PATCH => {
            let patch = Patch::parse(&call.value()?)?;
            Box::pin(write_one(call, db, coll, Action::Patch { id, patch })).await
        }
        Method::DELETE => Box::pin(write_one(call, db, coll, Action::Delete { id })).await,
        _ => Err(method_not_allowed(call)),
    }
}

/// `…/operations/partitionkeydelete`.
///
/// # Errors
/// As the verb says.
pub async fn delete_partition(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    if call.method != Method::POST {
        return Err(method_not_allowed(call));
    }
    let partition = partition(call)?;
    let intended = call.text(&headers::INTENDED_COLLECTION_RID)?;
    let deleted = items::delete_partition::delete_partition(
        &call.ctx,
        (db, coll),
        intended,
        partition.as_ref(),
    )
    .await?;
    let mut answer = Answer::empty(StatusCode::OK, deleted.charge);
    let scope = &deleted.scope;
    let lsn = scope.view.lsn();
    owner(call, &mut answer, &scope.database, &scope.collection, lsn).await;
    Ok(answer)
}

async fn read_one(call: &Call<'_>, db: &str, coll: &str, id: &str) -> Result<Answer> {
    let partition = partition(call)?;
    let intended = call.text(&headers::INTENDED_COLLECTION_RID)?;
    let found = items::read::read(&call.ctx, (db, coll), intended, partition.as_ref(), id).await?;
    let header = found.item.header();
    let unchanged = call
        .text(&IF_NONE_MATCH)?
        .is_some_and(|etag| resource::etag_matches(etag, header.lsn));
    let mut answer = if unchanged {
        Answer::empty(StatusCode::NOT_MODIFIED, charge::NOT_MODIFIED)
    } else {
        let body = Shown::wanted(call)?.body(&found.scope.collection, header, found.item.body())?;
        Answer::json(StatusCode::OK, found.charge, body)
    };
    answer.set_etag(header.lsn);
    answer
        .set_number(headers::ITEM_LSN, header.lsn)
        .set_number(headers::ITEM_LLSN, header.lsn);
    let lsn = found.scope.view.lsn();
    let scope = &found.scope;
    owner(call, &mut answer, &scope.database, &scope.collection, lsn).await;
    Ok(answer)
}

async fn write_one(call: &Call<'_>, db: &str, coll: &str, action: Action) -> Result<Answer> {
    refuse_triggers(call)?;
    let shown = Shown::wanted(call)?;
    let op = ItemOp {
        action,
        partition: partition(call)?,
        if_match: call.text(&IF_MATCH)?.map(str::to_owned),
        if_none_match: call.text(&IF_NONE_MATCH)?.map(str::to_owned),
        minimal: call.minimal()?,
    };
    let intended = call.text(&headers::INTENDED_COLLECTION_RID)?;
    let ops = [op];
    let mut ran = items::run(&call.ctx, (db, coll), intended, &ops, Mode::Atomic).await?;
    let done = ran
        .results
        .pop()
        .unwrap_or_else(|| Err(Error::new(Kind::Internal, "An operation gave no result.")))?;
    let mut answer = written(&ran, &done, shown)?;
    owner(call, &mut answer, &ran.database, &ran.collection, ran.lsn).await;
    Ok(answer)
}

fn written(ran: &Ran, done: &OpDone, shown: Shown) -> Result<Answer> {
    let status = batch::outcome_status(done.outcome);
    let mut answer = match &done.item {
        None => Answer::empty(status, done.charge),
        Some(item) => {
            let body = shown.body(&ran.collection, &item.header, &item.body)?;
            Answer::json(status, done.charge, body)
        }
    };
    if let Some(lsn) = done.lsn {
        answer.set_etag(lsn);
    }
    Ok(answer)
}

async fn run_batch(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    refuse_triggers(call)?;
    let partition = partition(call)?;
    let mut batch = Batch::parse(&call.body, partition.as_ref())?;
    if call.minimal()? {
        batch.want_no_documents();
    }
    let atomic = call.flag(&headers::BATCH_ATOMIC)?;
    let mode = match (atomic, call.text(&headers::BATCH_CONTINUE_ON_ERROR)?) {
        (true, _) => Mode::Atomic,
        (false, Some(text)) if text.eq_ignore_ascii_case("false") => Mode::UntilFailure,
        (false, _) => Mode::Each,
    };
    let intended = call.text(&headers::INTENDED_COLLECTION_RID)?;
    let ran = items::run(&call.ctx, (db, coll), intended, &batch.ops, mode).await?;
    let status = batch::status(&ran.results);
    let body = batch::write(batch.form, &ran.collection, &ran.results)?;
    let mut answer = match batch.form {
        Form::Json => Answer::json(status, ran.charge, body),
        Form::HybridRow => Answer::bytes(status, ran.charge, "application/octet-stream", body),
    };
    owner(call, &mut answer, &ran.database, &ran.collection, ran.lsn).await;
    if atomic && ran.results.iter().any(Result::is_err) {
        // As the answer to any other request that failed.
        answer.unset(&headers::CONTENT_PATH);
    }
    Ok(answer)
}

async fn read_feed(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    let intended = call.text(&headers::INTENDED_COLLECTION_RID)?;
    let resume = envelope::items_resume(call)?;
    let paging = Paging {
        items_max: call.page_size()?,
        resume,
    };
    let page =
        items::feed::feed(&call.ctx, (db, coll), intended, &selection(call)?, &paging).await?;
    let collection = &page.scope.collection;
    let mut body = envelope::open(&resource::collection_rid(collection), "Documents");
    for (at, (_, item)) in page.items.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        resource::write_item(collection, item.header(), item.body(), &mut body)?;
    }
    envelope::close(&mut body, page.items.len());
    let body = Format::wanted(call.headers, Subject::Feed).of_text(body);
    let mut answer = Answer::json(StatusCode::OK, page.charge, body);
    answer.set_number(headers::ITEM_COUNT, page.items.len() as u64);
    if let Some(resume) = &page.resume {
        let token = envelope::items_token(resume);
        envelope::set_continuation(call, &mut answer, &token)?;
    }
    let lsn = page.scope.view.lsn();
    owner(call, &mut answer, &page.scope.database, collection, lsn).await;
    Ok(answer)
}

async fn query(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    let intended = call.text(&headers::INTENDED_COLLECTION_RID)?;
    let wanted = query_metrics::Wanted::of(call)?;
    let request = items::query::Request {
        selection: selection(call)?,
        items_max: call.page_size()?,
        continuation: call
            .text(&headers::CONTINUATION)?
            .filter(|token| !token.is_empty()),
        metrics: wanted.metrics(),
    };
    let query = Query::of_body(&call.value()?)?;
    let page = items::query::query(&call.ctx, (db, coll), intended, &query, request).await?;
    let collection = &page.scope.collection;
    let written = Clock::monotonic();
    let format = Format::wanted(call.headers, Subject::Rows);
    let rid = resource::collection_rid(collection);
    let body = envelope::rows(format, &rid, &page.rows);
    let mut answer = Answer::json(StatusCode::OK, page.charge, body);
    answer.set_number(headers::ITEM_COUNT, page.rows.len() as u64);
    wanted.set(&mut answer, &page, written.elapsed());
    if let Some(token) = &page.continuation {
        envelope::set_continuation(call, &mut answer, token)?;
    }
    let lsn = page.scope.view.lsn();
    owner(call, &mut answer, &page.scope.database, collection, lsn).await;
    Ok(answer)
}

/// The plan that tells every client to send the text as it is and hand on what comes: all of the work is done here.
async fn query_plan(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    let scope = match call.ctx.scope(db, coll).await {
        Ok(scope) => Some(scope),
        // Older clients ask by the rid of a collection that was made anew since; the query itself goes by name.
        Err(error) if error.kind == Kind::OwnerNotFound && resource::is_collection_rid(coll) => {
            None
        }
        Err(error) => return Err(error),
    };
    if let Some(scope) = &scope {
        call.ctx.who.may_read_collection(&scope.collection)?;
    }
    let single_partition = partition(call)?.is_some();
    let plan = items::query::plan(&Query::of_body(&call.value()?)?, single_partition)?;
    let selects_value = plan.selects_value;
    let body = format!(
        r#"{{"partitionedQueryExecutionInfoVersion":2,"queryInfo":{{"distinctType":"None","top":null,"offset":null,"limit":null,"orderBy":[],"orderByExpressions":[],"groupByExpressions":[],"groupByAliases":[],"aggregates":[],"groupByAliasToAggregateType":{{}},"rewrittenQuery":"","hasSelectValue":{selects_value},"dCountInfo":null,"hasNonStreamingOrderBy":false}},"queryRanges":[{{"min":"","max":"FF","isMinInclusive":true,"isMaxInclusive":false}}]}}"#
    );
    let mut answer = Answer::json(StatusCode::OK, charge::METADATA_READ, body.into_bytes());
    if let Some(scope) = &scope {
        let lsn = scope.view.lsn();
        owner(call, &mut answer, &scope.database, &scope.collection, lsn).await;
    }
    Ok(answer)
}

/// How a request wants to see a single item.
#[derive(Clone, Copy)]
struct Shown {
    system: System,
    format: Format,
}

impl Shown {
    fn wanted(call: &Call<'_>) -> Result<Shown> {
        Ok(Shown {
            system: match call.flag(&headers::EXCLUDE_SYSTEM_PROPERTIES)? {
                true => System::WithoutLinks,
                false => System::Whole,
            },
            format: Format::wanted(call.headers, Subject::Item),
        })
    }

    /// The item as the body of an answer.
    fn body(self, collection: &Collection, header: &Header, stored: &[u8]) -> Result<Vec<u8>> {
        let capacity = stored.len() * 5 / 4 + 320;
        match self.format {
            Format::Text => {
                let mut body = Vec::with_capacity(capacity);
                resource::write_item_with(self.system, collection, header, stored, &mut body)?;
                Ok(body)
            }
            Format::Binary => {
                let item = resource::shown_item(self.system, collection, header, stored)?;
                Ok(self.format.of_value(&item, capacity))
            }
        }
    }
}

/// The partition key a request names.
fn partition(call: &Call<'_>) -> Result<Option<PartitionKey>> {
    match call.text(&headers::PARTITION_KEY)? {
        None | Some("") => Ok(None),
        Some(text) => PartitionKey::parse(text)
            .map(Some)
            .map_err(|error| Error::bad_request(error.to_string())),
    }
}

/// The items a feed or query is about.
pub(super) fn selection(call: &Call<'_>) -> Result<Selection> {
    let epk = match (
        call.text(&headers::START_EPK)?,
        call.text(&headers::END_EPK)?,
    ) {
        (None, None) => None,
        (start, end) => {
            let kind = call.text(&headers::READ_KEY_TYPE)?;
            if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case("EffectivePartitionKeyRange")) {
                return Err(Error::bad_request(
                    "One of the input values is invalid: x-ms-read-key-type must be EffectivePartitionKeyRange.",
                ));
            }
            let range = EpkRange::parse(start.unwrap_or(""), end.unwrap_or("FF"));
            Some(range.ok_or_else(|| Error::bad_request("One of the input values is invalid: x-ms-start-epk and x-ms-end-epk must be hexadecimal."))?)
        }
    };
    Ok(Selection {
        partition: partition(call)?,
        range_id: call
            .text(&headers::PARTITION_KEY_RANGE_ID)?
            .map(str::to_owned),
        epk,
    })
}

/// Triggers are kept, not run: a write that asks for one must not succeed as if it had run.
fn refuse_triggers(call: &Call<'_>) -> Result<()> {
    for name in [headers::PRE_TRIGGER, headers::POST_TRIGGER] {
        if call
            .text(&name)?
            .is_some_and(|value| !value.trim().is_empty())
        {
            return Err(Error::new(
                Kind::NotImplemented,
                "Triggers are stored but not run by this version; the write was not made.",
            ));
        }
    }
    Ok(())
}

/// Headers that name the items' owner, and what it holds.
pub(super) async fn owner(
    call: &Call<'_>,
    answer: &mut Answer,
    database: &Database,
    collection: &Collection,
    lsn: u64,
) {
    let path = ["dbs/", &database.id, "/colls/", &collection.id].concat();
    answer.session(&path, &resource::collection_rid(collection), lsn);
    answer.set(headers::PARTITION_KEY_RANGE_ID, session::RANGE);
    quota::set_about(call, answer, collection).await;
}
