//! The reserved words.

macro_rules! keywords {
    ($($name:ident = $text:literal),+ $(,)?) => {
        /// A reserved word; upper and lower case are the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Keyword {
            $(#[doc = concat!("`", $text, "`")] $name,)+
        }

        impl Keyword {
            /// The keyword that a word is, if it is one.
            pub fn from_word(word: &str) -> Option<Keyword> {
                $(if word.eq_ignore_ascii_case($text) {
                    return Some(Keyword::$name);
                })+
                None
            }
        }
    };
}

keywords! {
    And = "AND", Array = "ARRAY", As = "AS", Asc = "ASC", Between = "BETWEEN", By = "BY", Desc = "DESC",
    Distinct = "DISTINCT", Escape = "ESCAPE", Exists = "EXISTS", False = "FALSE", From = "FROM",
    Group = "GROUP", In = "IN", Join = "JOIN", Like = "LIKE", Limit = "LIMIT", Not = "NOT", Null = "NULL",
    Offset = "OFFSET", Or = "OR", Order = "ORDER", Rank = "RANK", Select = "SELECT", Top = "TOP",
    True = "TRUE", Undefined = "UNDEFINED", Value = "VALUE", Where = "WHERE",
}
