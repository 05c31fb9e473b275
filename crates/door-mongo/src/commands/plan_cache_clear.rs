//! Forgets plans: none are remembered, each query is planned by itself.

use lapsedb_service::documents::Fault;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.namespace(call)?;
    fields.ignore(&["query", "projection", "sort", "collation", "planCacheKey"]);
    fields.end()?;
    Ok(Answer::ok())
}
