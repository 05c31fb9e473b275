//! Databases: made, read, listed, deleted.

mod create;
mod delete;
mod list;
mod read;

pub use create::create;
pub use delete::delete;
pub use list::list;
pub use read::read;
