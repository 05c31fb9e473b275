//! Sets of characters.

use std::sync::Arc;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, HirKind};

/// Characters that match in one place.
#[derive(Clone, Debug)]
pub(super) struct Set {
    /// One bit for each of the first 128.
    ascii: u128,
    /// All of them, in order.
    ranges: Arc<[(char, char)]>,
}

impl Set {
    fn new(ranges: impl Iterator<Item = (char, char)>) -> Set {
        let ranges: Arc<[(char, char)]> = ranges.collect();
        let mut ascii = 0;
        for sign in '\0'..='\x7F' {
            if ranges
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&sign))
            {
                ascii |= 1 << u32::from(sign);
            }
        }
        Set { ascii, ranges }
    }

    /// Every character, without those line breaks.
    pub(super) fn any_but(breaks: &[char]) -> Set {
        let mut ranges = vec![('\0', char::MAX)];
        for sign in breaks {
            let sign = *sign;
            let before = char::from_u32(u32::from(sign).wrapping_sub(1));
            let behind = char::from_u32(u32::from(sign) + 1);
            let cut = |(first, last): (char, char)| {
                if !(first..=last).contains(&sign) {
                    return vec![(first, last)];
                }
                let left = before.filter(|before| *before >= first);
                let right = behind.filter(|behind| *behind <= last);
                let left = left.map(|left| (first, left));
                left.into_iter()
                    .chain(right.map(|right| (right, last)))
                    .collect()
            };
            ranges = ranges.into_iter().flat_map(cut).collect();
        }
        Set::new(ranges.into_iter())
    }

    /// What the `regex` crate understands by a class or a character.
    pub(super) fn parse(source: &str, case_insensitive: bool) -> Option<Set> {
        let tree = ParserBuilder::new()
            .case_insensitive(case_insensitive)
            .build()
            .parse(source)
            .ok()?;
        match tree.into_kind() {
            HirKind::Class(Class::Unicode(class)) => Some(Set::new(
                class.iter().map(|part| (part.start(), part.end())),
            )),
            HirKind::Class(Class::Bytes(class)) => {
                let part = |part: &regex_syntax::hir::ClassBytesRange| {
                    (char::from(part.start()), char::from(part.end()))
                };
                Some(Set::new(class.iter().map(part)))
            }
            HirKind::Literal(literal) => {
                let mut signs = std::str::from_utf8(&literal.0).ok()?.chars();
                let only = signs.next().filter(|_| signs.next().is_none())?;
                Some(Set::new(std::iter::once((only, only))))
            }
            HirKind::Empty
            | HirKind::Look(_)
            | HirKind::Repetition(_)
            | HirKind::Capture(_)
            | HirKind::Concat(_)
            | HirKind::Alternation(_) => None,
        }
    }

    #[inline]
    pub(super) fn contains(&self, sign: char) -> bool {
        let code = u32::from(sign);
        if code < 128 {
            return self.ascii >> code & 1 == 1;
        }
        let place = self.ranges.partition_point(|(_, last)| *last < sign);
        self.ranges
            .get(place)
            .is_some_and(|(first, _)| *first <= sign)
    }

    /// Bytes that it owns; clones share them.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.ranges)
    }
}
