//! What the TTL rule promises, one file per behaviour.
//! One program for all of them: each program more would be linked with all it uses once more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dates_end_documents_to_the_millisecond;
mod rule_is_exact_at_every_edge;
mod the_dead_stay_dead;
