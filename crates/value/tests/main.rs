//! What values promise, one file per behaviour.
//! One program for all of them: each program more would be linked with all it uses once more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bson_means_what_it_should;
mod bson_order_is_that_of_mongodb;
mod common;
mod cosmos_binary_is_read_whole;
mod cosmos_binary_says_what_text_says;
mod decimals_round_once_half_to_even;
mod documents_survive_round_trips;
mod json_is_strict;
mod malformed_bytes_are_refused;
mod order_is_total_and_paths_lead_in;
