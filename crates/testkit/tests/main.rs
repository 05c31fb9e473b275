//! What a real server promises through its REST door, one file per behaviour.
//! One program for all of them: each program more would be linked with all it uses once more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod a_conflict_at_the_commit_may_be_tried_again;
mod a_pathological_query_starves_nobody;
mod a_token_continues_what_it_was_given_for;
mod bad_input_is_refused;
mod change_feed_begins_at_any_time;
mod every_version_is_told_through_the_door;
mod no_reply_contradicts_every_order;
mod random_requests_harm_nobody;
mod spec;
mod sql_through_the_door;
mod the_dead_are_seen_nowhere;
mod time_is_exact_through_the_door;
mod writers_at_once;
