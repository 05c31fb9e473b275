//! Which stored documents a document on its way through the stages was made of, as far as its source must know to say later
//! whether it may still be shown.
//!
//! A document that stems from one stored document alone, however it was shaped, keeps that one's number. What several took
//! part in, as in a group or a join, keeps only when the first of them expires. Times are numbers that grow; what they mean
//! is the source's affair.

/// Where a document comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The one stored document that it stems from.
    stored: Option<StoredDocument>,
    /// When the first of the others expires that took part; none, if no other did.
    others: Option<u64>,
}

/// A stored document that something stems from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredDocument {
    /// By what the source finds it again.
    pub number: u64,
    /// When it expires; the largest number, if it does not.
    pub expires: u64,
}

impl Provenance {
    /// Of what stems from no stored document.
    pub const NONE: Provenance = Provenance {
        stored: None,
        others: None,
    };

    /// Of what stems from one stored document.
    #[must_use]
    pub const fn of(number: u64, expires: u64) -> Provenance {
        Provenance {
            stored: Some(StoredDocument { number, expires }),
            others: None,
        }
    }

    /// Of what documents took part in that the source cannot find again, the first of which expires then.
    #[must_use]
    pub const fn of_others(expires: u64) -> Provenance {
        Provenance {
            stored: None,
            others: Some(expires),
        }
    }

    /// The one stored document that it stems from, if it is one.
    #[must_use]
    pub const fn stored(&self) -> Option<StoredDocument> {
        self.stored
    }

    /// When the first of the others expires that took part; none, if no other did.
    #[must_use]
    pub const fn others(&self) -> Option<u64> {
        self.others
    }

    /// When the first of all that took part expires; the largest number, if none does.
    #[must_use]
    pub fn first_expiry(&self) -> u64 {
        let stored = self.stored.map_or(u64::MAX, |stored| stored.expires);
        self.others.map_or(stored, |others| others.min(stored))
    }

    /// Of what is made of both.
    #[must_use]
    pub(crate) fn and(&self, other: &Provenance) -> Provenance {
        Provenance::of_others(self.first_expiry().min(other.first_expiry()))
    }

    /// The same, after others took part, the first of which expires then; none did, if no time is given.
    #[must_use]
    pub(crate) fn beside(&self, others: Option<u64>) -> Provenance {
        Provenance {
            stored: self.stored,
            others: match (self.others, others) {
                (Some(own), Some(others)) => Some(own.min(others)),
                (own, others) => own.or(others),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_took_part_in_ends_with_the_first() {
        let (one, two) = (Provenance::of(1, 10), Provenance::of(2, 20));
        assert_eq!(one.and(&two), Provenance::of_others(10));
        assert_eq!(one.and(&Provenance::NONE), Provenance::of_others(10));
        assert_eq!(one.beside(None), one);
        let joined = two.beside(Some(15)).beside(Some(17));
        assert_eq!((joined.stored(), joined.others()), (two.stored(), Some(15)));
        assert_eq!(joined.first_expiry(), 15);
        assert_eq!(Provenance::NONE.first_expiry(), u64::MAX);
    }
}
