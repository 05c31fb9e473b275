//! LapseDB.
