//! The commands, one file each: members to a typed verb, its result to a reply.

pub(crate) mod abort_transaction;
pub(crate) mod build_info;
pub(crate) mod commit_transaction;
pub(crate) mod connection_status;
pub(crate) mod count;
pub(crate) mod create;
pub(crate) mod current_op;
pub(crate) mod db_stats;
pub(crate) mod delete;
pub(crate) mod distinct;
pub(crate) mod drop;
pub(crate) mod drop_database;
pub(crate) mod end_sessions;
pub(crate) mod find;
pub(crate) mod find_and_modify;
pub(crate) mod get_cmd_line_opts;
pub(crate) mod get_log;
pub(crate) mod get_more;
pub(crate) mod get_parameter;
pub(crate) mod hello;
pub(crate) mod host_info;
pub(crate) mod insert;
pub(crate) mod kill_cursors;
pub(crate) mod list_collections;
pub(crate) mod list_commands;
pub(crate) mod list_databases;
pub(crate) mod logout;
pub(crate) mod ping;
pub(crate) mod sasl_continue;
pub(crate) mod sasl_start;
pub(crate) mod server_status;
pub(crate) mod start_session;
pub(crate) mod top;
pub(crate) mod update;
pub(crate) mod whats_my_uri;

mod terms;

pub(crate) use terms::terms;
