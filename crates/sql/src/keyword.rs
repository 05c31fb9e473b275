//! The words that cannot be names.

/// Bytes of the longest word that is reserved in any case.
const LONGEST: usize = "DISTINCT".len();

macro_rules! keywords {
    (any case: $($name:ident = $text:literal),+ $(,)?; as written: $($exact:ident = $exact_text:literal),+ $(,)?) => {
        /// A reserved word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Keyword {
            $(#[doc = concat!("`", $text, "`, in any case")] $name,)+
            $(#[doc = concat!("`", $exact_text, "`, in this case alone")] $exact,)+
        }

        impl Keyword {
            /// The words that are reserved in upper and lower case.
            pub const IN_ANY_CASE: &[&str] = &[$($text),+];
            /// The words that are reserved as they are written alone.
            pub const AS_WRITTEN: &[&str] = &[$($exact_text),+];

            /// The keyword that a word is, if it is one.
            pub fn from_word(word: &str) -> Option<Keyword> {
                match word {
                    $($exact_text => return Some(Keyword::$exact),)+
                    _ => {}
                }
                let mut upper = [0; LONGEST];
                let upper = upper.get_mut(..word.len())?;
                upper.copy_from_slice(word.as_bytes());
                upper.make_ascii_uppercase();
                match std::str::from_utf8(upper).ok()? {
                    $($text => Some(Keyword::$name),)+
                    _ => None,
                }
            }
        }
    };
}

// Many of them have no meaning yet; they are reserved all the same, as by the service.
keywords! {
    any case:
    And = "AND", Array = "ARRAY", As = "AS", Asc = "ASC", Between = "BETWEEN", By = "BY", Case = "CASE", Cast = "CAST",
    Convert = "CONVERT", Cross = "CROSS", Desc = "DESC", Distinct = "DISTINCT", Else = "ELSE", End = "END",
    Escape = "ESCAPE", Exists = "EXISTS", For = "FOR", From = "FROM", Group = "GROUP", Having = "HAVING", In = "IN",
    Inner = "INNER", Insert = "INSERT", Into = "INTO", Is = "IS", Join = "JOIN", Left = "LEFT", Like = "LIKE",
    Limit = "LIMIT", Not = "NOT", Offset = "OFFSET", On = "ON", Or = "OR", Order = "ORDER", Outer = "OUTER", Over = "OVER",
    Right = "RIGHT", Select = "SELECT", Set = "SET", Then = "THEN", Top = "TOP", Update = "UPDATE", Value = "VALUE",
    When = "WHEN", Where = "WHERE", With = "WITH";
    as written:
    False = "false", Infinity = "Infinity", NaN = "NaN", Null = "null", True = "true", Udf = "udf", Undefined = "undefined",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_its_cases() {
        for word in Keyword::IN_ANY_CASE {
            assert!(Keyword::from_word(word).is_some(), "{word}");
            assert!(Keyword::from_word(&word.to_lowercase()).is_some(), "{word}");
            assert!(word.len() <= LONGEST, "{word}");
        }
        for word in Keyword::AS_WRITTEN {
            assert!(Keyword::from_word(word).is_some(), "{word}");
            assert!(Keyword::from_word(&word.to_uppercase()).is_none(), "{word}");
        }
        for word in [
            "",
            "ANDS",
            "distinctly",
            "é",
            "RANK",
            "ALL",
            "nan",
            "infinity",
        ] {
            assert!(Keyword::from_word(word).is_none(), "{word}");
        }
    }
}
