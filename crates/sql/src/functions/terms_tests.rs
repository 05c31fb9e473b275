use super::*;

#[test]
fn phrases_are_counted_as_windows_of_words() {
    let texts = (0..3_u32.pow(7)).map(|mut n| {
        let mut words = Vec::new();
        while n > 0 {
            words.push(["a", "b", ""][n as usize % 3]);
            n /= 3;
        }
        words.join(" ")
    });
    for text in texts {
        let words = Terms::of(&text);
        for phrase in ["", "a", "a a", "a b a", "a a b a a", "b"] {
            let wanted = Terms::of(phrase).0;
            let windows = words.0.windows(wanted.len().max(1));
            let count = windows.filter(|window| *window == wanted).count();
            let asked = Phrase::of(phrase);
            assert_eq!(words.count(&asked), count, "{phrase} in {text}");
            assert_eq!(words.contain(&asked), count > 0, "{phrase} in {text}");
        }
    }
}

#[test]
fn a_phrase_that_almost_occurs_everywhere_takes_linear_time() {
    let words = Terms::of(&"a ".repeat(200_000));
    let phrase = Phrase::of(&format!("{}b", "a ".repeat(100_000)));
    assert!(!words.contain(&phrase));
}

#[test]
fn numbers_keep_their_fractions_and_thousands() {
    for (text, expected) in [
        ("was 1,977 at the", &["was", "1,977", "at", "the"][..]),
        ("3.14, 2.", &["3.14", "2"]),
        ("a.b a,1 1,a", &["a", "b", "a", "1", "1", "a"]),
        ("Thirty-page (ÄÖ)_x", &["thirty", "page", "äö", "x"]),
        ("1.2.3,4", &["1.2.3,4"]),
        ("", &[]),
        (".,;", &[]),
    ] {
        assert_eq!(Terms::of(text).0, expected, "{text}");
    }
}

#[test]
fn common_words_do_not_count_for_the_length() {
    let text = "Jefferson Township is a township in Berks County. The population was 1,977.";
    assert_eq!(Terms::of(text).weight(), 7);
    assert_eq!(Terms::of("The who").weight(), 0);
}

/// The distance by its definition.
fn distance(a: &[char], b: &[char]) -> usize {
    match (a, b) {
        ([], rest) | (rest, []) => rest.len(),
        ([x, a_rest @ ..], [y, b_rest @ ..]) => {
            let changed = distance(a_rest, b_rest) + usize::from(x != y);
            let moved = distance(a_rest, b).min(distance(a, b_rest)) + 1;
            changed.min(moved)
        }
    }
}

#[test]
fn words_are_similar_within_their_distance() {
    let words: Vec<String> = (0..3_u32.pow(5))
        .map(|mut n| {
            let mut word = String::new();
            while n > 0 {
                word.push_str(["a", "é", ""][n as usize % 3]);
                n /= 3;
            }
            word
        })
        .collect();
    for a in &words {
        for b in words.iter().step_by(7) {
            let chars = |word: &str| word.chars().collect::<Vec<char>>();
            let true_distance = distance(&chars(a), &chars(b));
            for most in 0..=2 {
                let expected = true_distance <= most;
                assert_eq!(is_similar(a, b, most), expected, "{a} {b} {most}");
            }
        }
    }
}
