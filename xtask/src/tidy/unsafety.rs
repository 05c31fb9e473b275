//! `unsafe` needs its reason beside it, in words.

use super::Complaint;
use super::source::Source;

/// Fewer words than this are no reason.
const REASON_WORDS_MIN: usize = 3;

/// Checks every `unsafe` of the file, tests included.
pub fn check(path: &str, source: &Source, complaints: &mut Vec<Complaint>) {
    let comments: Vec<&str> = source.comments.lines().collect();
    let code: Vec<&str> = source.code.lines().collect();
    for at in source.find_word("unsafe") {
        let line = source.line_of(at);
        if reason_words(&code, &comments, line - 1) < REASON_WORDS_MIN {
            let message = "`unsafe` without a comment beside it that says why it is sound";
            complaints.push(Complaint::new(path, line, message));
        }
    }
}

/// Words of the comment on the line, and of the comment lines right above it; attributes may stand between.
fn reason_words(code: &[&str], comments: &[&str], line: usize) -> usize {
    let count = |index: usize| comments.get(index).map_or(0, |text| words(text));
    let above = (0..line).rev().take_while(|&index| {
        let code = code.get(index).map_or("", |text| text.trim());
        (code.is_empty() && count(index) > 0) || code.starts_with("#[")
    });
    count(line) + above.map(count).sum::<usize>()
}

fn words(comment: &str) -> usize {
    comment
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> usize {
        let mut found = Vec::new();
        check("a.rs", &Source::read(text), &mut found);
        found.len()
    }

    #[test]
    fn a_reason_above_or_beside_is_enough() {
        assert_eq!(
            complaints("// The pointer outlives the call.\n#[allow(unsafe_code)]\nunsafe { f() }"),
            0
        );
        assert_eq!(complaints("unsafe { f() } // the pointer outlives it"), 0);
    }

    #[test]
    fn no_reason_or_a_far_one_is_not() {
        assert_eq!(complaints("unsafe { f() }"), 1);
        assert_eq!(complaints("// SAFETY:\nunsafe { f() }"), 1);
        assert_eq!(
            complaints("// The pointer outlives the call.\n\nlet a = 1;\nunsafe { f() }"),
            1
        );
    }
}
