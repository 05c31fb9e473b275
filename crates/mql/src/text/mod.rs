//! Text search: words, their stems and their scores, as text indexes hold them and `$text` asks for them.
//!
//! English words are reduced to stems and its most frequent words left out. Words of every other language, and of `none`, are compared by
//! their letters alone: without case and accents.

mod fold;
mod language;
mod search;
mod spec;
pub mod stem;
mod stop_words;
mod words;

pub use language::Language;
pub use search::Search;
pub use spec::TextSpec;
