//! Refuses to run JavaScript.

use lapsedb_service::documents::Fault;

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(_call: &mut Call<'_>) -> Result<Answer, Fault> {
    Err(Fault::new(
        115,
        "mapReduce is not supported: no JavaScript runs here; use an aggregation pipeline",
    ))
}
