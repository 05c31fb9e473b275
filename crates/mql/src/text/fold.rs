//! Letters without case and without accents, for comparing words.

use std::sync::LazyLock;

use regex::Regex;

/// Small letters with accents behind their bare letter.
const ACCENTED: &[&str] = &[
    "aàáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ",
    "bḃḅḇ",
    "cçćĉċčḉ",
    "dďḋḍḏḑḓ",
    "eèéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ",
    "fḟ",
    "gĝğġģǧǵḡ",
    "hĥȟḣḥḧḩḫẖ",
    "iìíîïĩīĭįǐȉȋḭḯỉị",
    "jĵǰ",
    "kķǩḱḳḵ",
    "lĺļľḷḹḻḽ",
    "mḿṁṃ",
    "nñńņňǹṅṇṉṋ",
    "oòóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ",
    "pṕṗ",
    "rŕŗřȑȓṙṛṝṟ",
    "sśŝşšșṡṣṥṧṩ",
    "tţťțṫṭṯṱẗ",
    "uùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự",
    "vṽṿ",
    "wŵẁẃẅẇẉẘ",
    "xẋẍ",
    "yýÿŷȳẏẙỳỵỷỹ",
    "zźżžẑẓẕ",
    "æǣǽ",
    "øǿ",
    "ʒǯ",
    "αάἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ",
    "εέἐἑἒἓἔἕὲέ",
    "ηήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ",
    "ιΐίϊἰἱἲἳἴἵἶἷὶίῐῑῒΐῖῗ",
    "οόὀὁὂὃὄὅὸό",
    "ρῤῥ",
    "υΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ",
    "ωώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ",
    "аӑӓ",
    "гѓ",
    "еѐёӗ",
    "жӂӝ",
    "зӟ",
    "ийѝӣӥ",
    "кќ",
    "оӧ",
    "уўӯӱӳ",
    "чӵ",
    "ыӹ",
    "эӭ",
    "ії",
    "ѵѷ",
    "әӛ",
    "өӫ",
];

/// Signs that only mark others.
static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\p{Diacritic}").ok());

/// The bare letters, sorted by the letter with its accent.
static BARE: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let rows = ACCENTED.iter().filter_map(|row| {
        let mut letters = row.chars();
        let bare = letters.next()?;
        Some(letters.map(move |letter| (letter, bare)))
    });
    let mut all: Vec<(char, char)> = rows.flatten().collect();
    all.sort_unstable();
    all
});

/// The text in small letters, letter by letter.
pub(super) fn small(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => text.chars().map(small_letter).collect(),
    }
}

fn small_letter(letter: char) -> char {
    let mut small = letter.to_lowercase();
    match (letter, small.next(), small.next()) {
        ('ς', ..) => 'σ',
        ('ſ', ..) => 's',
        (_, Some(only), None) => only,
        // A letter that becomes two keeps its case, as its length.
        _ => letter,
    }
}

/// The text without accents.
pub(super) fn bare(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    text.chars().filter_map(bare_letter).collect()
}

fn bare_letter(letter: char) -> Option<char> {
    if letter.is_ascii() {
        return Some(letter);
    }
    let found = |letter: char| {
        let at = BARE
            .binary_search_by_key(&letter, |(known, _)| *known)
            .ok()?;
        BARE.get(at).map(|(_, bare)| *bare)
    };
    if let Some(bare) = found(letter) {
        return Some(bare);
    }
    if letter == 'İ' {
        return Some('I');
    }
    let small = small_letter(letter);
    if small != letter
        && let Some(bare) = found(small)
    {
        return bare.to_uppercase().next();
    }
    let mut bytes = [0; 4];
    let text = letter.encode_utf8(&mut bytes);
    let marks = MARKS.as_ref().is_some_and(|marks| marks.is_match(text));
    (!marks).then_some(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_accents_go_letter_by_letter() {
        assert_eq!(small("CAFÉ ΣΑΣ"), "café σασ");
        assert_eq!(bare("Café Ångström ñ ø ß"), "Cafe Angstrom n ø ß");
        assert_eq!(bare("e\u{301}"), "e");
        assert_eq!(bare(&small("ἈΡΧΉ")), "αρχη");
    }
}
