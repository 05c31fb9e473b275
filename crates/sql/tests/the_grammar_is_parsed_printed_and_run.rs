//! Queries made from the grammar parse, print to what parses to the same, and run without a panic; so do queries of the
//! corpus with some of their words changed, as far as they parse.

use lapsedb_sql::fuzz;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::corpus;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn queries_of_the_grammar(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(fuzz::grammar(&bytes), Ok(()));
    }
}

/// Every query once, each with its own changes.
#[test]
fn queries_of_the_corpus_with_changed_words() {
    let mut random = lapsedb_testkit::Random::new(1);
    for fact in corpus::facts() {
        let bytes: Vec<u8> = (0..24).map(|_| random.number() as u8).collect();
        assert_eq!(fuzz::changed(&fact.question.text, &bytes), Ok(()));
    }
}
