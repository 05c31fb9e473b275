//! What the binary promises, one file per behaviour.
//! One program for all of them: each program more would be linked with all it uses once more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod a_commit_that_may_have_happened_is_told_so;
mod a_damaged_table_stops_no_other_collection;
mod a_full_disk_refuses_growth_and_comes_back;
mod a_stop_under_load_ends_with_0;
mod a_web_page_reaches_no_default_server;
mod a_wrong_wall_clock_harms_no_item;
mod all_requests_share_one_memory;
mod an_index_is_built_anew_and_misses_nobody;
mod bad_settings_end_with_2_and_one_line;
mod clients_leave_the_store_its_files;
mod common;
mod data_is_its_owners_alone;
mod init_makes_what_is_missing;
mod kill_loses_no_change;
mod kill_loses_nothing_acknowledged;
mod kill_while_purging_counts_nothing_twice;
mod long_evaluation_harms_nobody;
mod one_port_speaks_tls_and_plain;
mod ready_means_that_requests_succeed;
mod signals_end_the_server_well;
mod the_admin_api_asks_for_a_key;
mod the_same_data_path_twice_ends_with_3;
mod the_ttl_calls_tell_what_will_happen;
mod the_virtual_clock_moves_only_by_hand;
mod tokens_open_what_they_name;
mod verify_finds_damage_and_drops_it_when_asked;
