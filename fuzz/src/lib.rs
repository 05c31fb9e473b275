//! What the targets share: commands and requests made from any bytes, and servers of both APIs without a network.

pub mod bson;
pub mod commands;
pub mod http;
pub mod input;
pub mod scram;
pub mod server;
