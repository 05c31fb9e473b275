//! What Cosmos SQL means here, one file per behaviour.
//! One program for all of them: each program more would be linked with all it uses once more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus;
mod corpus_agrees;
mod executions_stream_and_resume;
mod limits_hold;
mod nothing_panics;
mod numbers_need_not_be_finite;
mod partition_keys_are_inferred;
mod precedence_is_the_engines;
mod printed_queries_read_the_same;
mod queries_stay_within_their_budget;
mod regular_expressions_search_texts_of_any_length;
mod spec;
mod support_page_is_true;
mod the_grammar_is_parsed_printed_and_run;

/// Counts what each test allocates, for those that ask for their peak.
#[global_allocator]
static ALLOCATOR: lapsedb_testkit::CountingAllocator = lapsedb_testkit::CountingAllocator;
