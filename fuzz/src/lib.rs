//! What the targets share: commands made from any bytes, and a server of the Mongo door without a network.

pub mod bson;
pub mod commands;
pub mod server;
