//! What the verbs promise, one file per behaviour.
//! One program for all of them: each program more would be linked with all it uses once more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod a_change_needs_the_etag_it_names;
mod a_dropped_collection_leaves_the_disk;
mod a_long_query_leaves_the_others_their_turn;
mod a_mongo_collection_is_sorted_without_an_index;
mod a_number_is_never_used_twice;
mod a_partition_is_read_in_the_order_of_creation;
mod a_pipeline_hands_out_nothing_that_has_expired;
mod a_purge_on_demand_says_what_is_left;
mod a_query_costs_what_it_names;
mod a_query_ends_in_its_time;
mod a_query_reads_what_it_names_and_misses_nothing;
mod a_refused_operation_leaves_no_trace;
mod a_statement_judges_every_collection_it_reads;
mod a_streams_time_is_for_waiting;
mod a_token_opens_what_its_permission_names;
mod a_transaction_revives_nothing;
mod a_wide_stream_misses_nothing;
mod deleting_takes_along_what_belongs;
mod figures_follow_within_a_tick;
mod many_collections_cost_what_changes;
mod metadata_costs_the_same_with_many_collections;
mod nothing_due_is_forgotten;
mod one_damaged_collection_stops_no_other;
mod pages_neither_skip_nor_repeat;
mod planned_queries_answer_as_a_scan;
mod purging_takes_what_requests_leave;
mod support;
mod transactions_are_as_the_model;
mod what_a_ttl_change_buried_stays_dead;
