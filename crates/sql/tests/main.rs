//! What Cosmos SQL means here, one file per behaviour.
//! One program for all of them: each program more would be linked with all it uses once more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod executions_stream_and_resume;
mod limits_hold;
mod memory;
mod nothing_panics;
mod partition_keys_are_inferred;
mod queries_stay_within_their_budget;
mod spec;
mod support_page_is_true;
