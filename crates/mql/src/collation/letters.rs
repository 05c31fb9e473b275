//! Weights of single signs.

use lapsedb_value::Str;

/// Signs that are neither letters nor digits, in the order of the root collation.
const SIGNS: &str = "\t\n\u{B}\u{C}\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~¤¢$£¥€";

/// The first of these that is neither space nor punctuation.
const FIRST_SYMBOL: char = '`';

/// Where the weights begin: signs, then digits, then letters, then everything else.
const SIGN_BASE: u32 = 0x10;
const DIGIT_BASE: u32 = 0x50;
const NUMBER_BASE: u32 = 0x5A;
const LETTER_BASE: u32 = 0x60;
const OTHER_BASE: u32 = 0x200;

/// The weight of a letter without an accent.
const NO_ACCENT: char = '\u{2}';

/// The weight of the first accent; below it is that of a ligature.
const FIRST_ACCENT: u32 = 4;

/// Latin letters with accents, each behind its bare letter: a row per accent, in the order of the accents.
const ACCENTS: [&str; 14] = [
    "aáeéiíoóuúyýcćlĺnńrŕsśzźgǵkḱmḿpṕwẃ",
    "aàeèiìoòuùnǹwẁyỳ",
    "aăeĕgğiĭoŏuŭ",
    "aâeêiîoôuûcĉgĝhĥjĵsŝwŵyŷzẑ",
    "cčdďeělľnňrřsštťzžaǎiǐoǒuǔgǧkǩjǰhȟ",
    "aåuůwẘyẙ",
    "aäeëiïoöuüyÿhḧwẅxẍtẗ",
    "oőuű",
    "aãnñoõiĩuũvṽeẽyỹ",
    "cċeėgġzżaȧoȯbḃdḋfḟhḣmṁnṅpṗrṙsṡtṫwẇxẋyẏ",
    "oølł",
    "cçgģkķlļnņrŗsştţeȩdḑhḩ",
    "aąeęiįuųoǫ",
    "aāeēiīoōuūyȳgḡ",
];

/// Letters that count as two.
const LIGATURES: [(char, &str); 4] = [('ß', "ss"), ('æ', "ae"), ('œ', "oe"), ('þ', "th")];

/// A sign taken apart.
pub(super) struct Letter {
    /// The weights without case and accent: one, or two of a ligature.
    pub(super) bases: Vec<char>,
    /// The weight of the accent.
    pub(super) accent: char,
    /// Whether it is a capital.
    pub(super) upper: bool,
}

pub(super) fn split(sign: char) -> Letter {
    let upper = sign.is_uppercase();
    let small = sign.to_lowercase().next().unwrap_or(sign);
    if let Some((_, letters)) = LIGATURES.iter().find(|(ligature, _)| *ligature == small) {
        return Letter {
            bases: letters.chars().map(weight).collect(),
            accent: '\u{3}',
            upper,
        };
    }
    let (base, accent) = accented(small).unwrap_or((small, NO_ACCENT));
    Letter {
        bases: vec![weight(base)],
        accent,
        upper,
    }
}

/// The bare letter and the weight of the accent.
fn accented(small: char) -> Option<(char, char)> {
    if small.is_ascii() {
        return None;
    }
    let rows = ACCENTS.iter().zip(FIRST_ACCENT..);
    for (row, accent) in rows {
        let mut signs = row.chars();
        while let (Some(base), Some(letter)) = (signs.next(), signs.next()) {
            if letter == small {
                return Some((base, char::from_u32(accent)?));
            }
        }
    }
    None
}

fn weight(sign: char) -> char {
    let place = SIGNS.chars().position(|known| known == sign);
    let number = match (place, sign) {
        (Some(at), _) => SIGN_BASE + at as u32,
        (None, '0'..='9') => DIGIT_BASE + (sign as u32 - '0' as u32),
        (None, 'a'..='z') => LETTER_BASE + (sign as u32 - 'a' as u32),
        (None, _) => OTHER_BASE + sign as u32,
    };
    // What would fall among the surrogates or beyond the last sign keeps its own place.
    char::from_u32(number).unwrap_or(sign)
}

/// Digits as one weight each behind their count, so that longer numbers come later.
pub(super) fn push_number(digits: &str, key: &mut Str) {
    let digits = digits.trim_start_matches('0');
    let count = OTHER_BASE + digits.len() as u32;
    key.extend(char::from_u32(NUMBER_BASE));
    key.extend(char::from_u32(count));
    digits.chars().for_each(|digit| key.push(weight(digit)));
}

pub(super) fn is_ignorable(sign: char, max_variable: &str) -> bool {
    match max_variable {
        "space" => sign.is_whitespace(),
        _ => {
            let symbols = SIGNS
                .split_once(FIRST_SYMBOL)
                .map_or(SIGNS, |(before, _)| before);
            sign.is_whitespace() || symbols.contains(sign)
        }
    }
}

pub(super) fn case_weight(upper: bool, upper_first: bool) -> char {
    match upper != upper_first {
        true => '\u{3}',
        false => '\u{2}',
    }
}
