//! Documents as values: one tree for every protocol, and its ways to and from bytes.
//!
//! Knows no storage, no protocol and no clock. Nothing here panics on input: what comes from
//! outside is either a [`Value`] or an error that says where it went wrong.

pub mod account;
pub mod bson;
pub mod budget;
pub mod cosmos_binary;
pub mod decimal128;
pub mod extended;
#[doc(hidden)]
pub mod fuzz;
pub mod json;
mod members;
pub mod number;
pub mod order;
pub mod path;
pub mod pattern;
mod text;
mod value;

pub use account::Account;
pub use budget::Budget;
pub use members::Members;
pub use value::{Object, Str, Value};
