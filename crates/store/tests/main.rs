//! What collections of records promise, one file per behaviour.
//! One program for all of them: each program more would be linked with all it uses once more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod a_capped_collection_loses_its_oldest;
mod a_commit_wakes_though_nobody_waits;
mod a_move_of_the_clock_is_durable_first;
mod a_named_index_is_built_while_writers_write;
mod an_index_build_gives_way_to_writers;
mod bases_of_times_to_live;
mod bench;
mod change_feed_is_as_the_model;
mod date_indexes_end_documents;
mod dated_documents_are_as_the_model;
mod feeds_cost_what_they_read;
mod model;
mod moments_of_expiry_are_as_the_model;
mod named_indexes_hold_what_documents_have;
mod passing_finds_what_asking_finds;
mod purging_costs_little;
mod store_is_as_the_model;
mod time_is_the_engines;
mod versions_are_as_the_model;
mod versions_nobody_reads_are_given_up;
