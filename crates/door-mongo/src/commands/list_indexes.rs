//! Lists a collection's indexes.

use bytes::Bytes;
use lapsedb_service::cursors::Batch;
use lapsedb_service::documents::{self, Fault};

use crate::answer::{self, Answer};
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    fields.ignore(&["cursor", "includeBuildUUIDs", "includeIndexBuildInfo"]);
    fields.end()?;
    let all = documents::list_indexes(&mut call.work(), &namespace).await?;
    let documents = all.iter().map(|index| Bytes::from(answer::encode(index)));
    let batch = Batch {
        cursor: 0,
        documents: documents.collect(),
        namespace,
        resume_token: None,
        read_at: None,
    };
    Ok(Answer::Cursor {
        field: "firstBatch",
        batch,
    })
}
