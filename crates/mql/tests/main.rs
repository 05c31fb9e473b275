//! What MongoDB's language means here, one file per behaviour.
//! One program for all of them: each program more would be linked with all it uses once more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod collations_fold_text;
mod common;
mod dates_at_their_ends_are_counted_or_refused;
mod filters_mean_what_mongodb_means;
mod nothing_panics_on_input;
mod pipelines_answer_as_mongodb_answered;
mod pipelines_stop_and_are_bounded;
mod places_and_schemas_are_asked;
mod projections_show_what_mongodb_shows;
mod regular_expressions_search_texts_of_any_length;
mod requests_stay_within_their_budget;
mod rows_keep_where_they_come_from;
mod support_page_is_true;
mod updates_mean_what_mongodb_means;

/// Counts what each test allocates, for those that ask for their peak.
#[global_allocator]
static ALLOCATOR: lapsedb_testkit::CountingAllocator = lapsedb_testkit::CountingAllocator;
