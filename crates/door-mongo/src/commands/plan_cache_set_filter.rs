//! Refuses to restrict which indexes a query may use.

use lapsedb_service::documents::Fault;

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(_call: &mut Call<'_>) -> Result<Answer, Fault> {
    Err(Fault::new(
        115,
        "planCacheSetFilter is not supported: name an index with 'hint'",
    ))
}
