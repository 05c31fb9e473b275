//! Date and time.

pub(super) mod ago;
pub(super) mod date_time_add;
pub(super) mod date_time_bin;
pub(super) mod date_time_diff;
pub(super) mod date_time_format;
pub(super) mod date_time_from_parts;
pub(super) mod date_time_part;
pub(super) mod date_time_to_ticks;
pub(super) mod date_time_to_timestamp;
pub(super) mod day;
pub(super) mod get_current_date_time;
pub(super) mod get_current_date_time_static;
pub(super) mod get_current_ticks;
pub(super) mod get_current_ticks_static;
pub(super) mod get_current_timestamp;
pub(super) mod get_current_timestamp_static;
pub(super) mod is_datetime;
pub(super) mod month;
pub(super) mod now;
pub(super) mod ticks_to_date_time;
pub(super) mod timestamp_to_date_time;
pub(super) mod year;
