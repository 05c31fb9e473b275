//! Dates of a document's own, and what a collection says of them.
//!
//! A date index gives a document the earliest date at its path. The record keeps that date as it is, under a number of the
//! index, and never the deadline made of it: so a changed or dropped index rewrites nothing, as a changed default does not.
//!
//! Where a collection says at which path documents have the base of their time to live, that base is a date too. Such a
//! document says [`ItemTtl::Never`](crate::ItemTtl::Never) of its write time, so that its base alone ends it.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::stored::Corrupt;
use crate::time::{Millis, Secs};
use crate::ttl::{Expiry, Setting};

/// The most dates of one document: as many as a collection has indexes.
pub const DATES_MAX: usize = 64;
/// Bytes of one date as stored: number and milliseconds.
const DATE_BYTES: usize = 12;

/// The earliest date that a document has under an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dated {
    /// Which rule of the collection it falls under.
    pub number: u32,
    /// Milliseconds since 1970; before it they are negative.
    pub at: i64,
}

/// All dates of a document; most have one at most.
pub type Dates = SmallVec<[Dated; 1]>;

/// Where a rule's dates and its seconds come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DateSource {
    /// A date index, with seconds of its own.
    Index,
    /// The base of the time to live of documents that inherit the collection's default.
    Default(EraSpan),
    /// The end of documents with a ttl of their own: their base and their ttl.
    Own(EraSpan),
}

/// Which of a collection's settings a rule follows, by their number among all that were ever in force.
///
/// Numbers and not times: several settings may follow each other in the same millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EraSpan {
    /// The first one.
    pub from: u64,
    /// The first one that it does not follow any more; none while it follows the setting in force.
    pub until: Option<u64>,
}

impl EraSpan {
    /// From a setting on.
    #[must_use]
    pub const fn from(from: u64) -> EraSpan {
        EraSpan { from, until: None }
    }

    /// Whether a rule followed the setting of this number.
    #[must_use]
    pub const fn has(self, number: u64) -> bool {
        let over = match self.until {
            Some(until) => number >= until,
            None => false,
        };
        self.from <= number && !over
    }
}

/// What a collection says of the dates under one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DateRule {
    /// The number. It is used for one rule and never again.
    pub number: u32,
    /// Where its dates come from.
    pub source: DateSource,
    /// How long a document lives after its date; none when nothing ends by this rule now.
    pub life: Option<Secs>,
    /// Documents with this date or an earlier one are dead, whatever the rule says now.
    pub buried: Option<i64>,
}

/// All that a collection says of dates. Shared, because every view of the collection has it; mostly there is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DateRules(Option<Arc<[DateRule]>>);

impl DateSource {
    /// How long a document lives after its date under a setting; `indexed` is what a date index says.
    #[must_use]
    pub const fn life(self, setting: Setting, indexed: Option<Secs>) -> Option<Secs> {
        match self {
            DateSource::Index => indexed,
            DateSource::Default(eras) | DateSource::Own(eras) if eras.until.is_some() => None,
            DateSource::Default(_) | DateSource::Own(_) => self.life_under(setting),
        }
    }

    /// How long a document lives after its base under a setting that its rule follows.
    #[must_use]
    pub const fn life_under(self, setting: Setting) -> Option<Secs> {
        match (self, setting) {
            (DateSource::Default(_), Setting::OnWithDefault(life)) => Some(life),
            (DateSource::Own(_), Setting::On | Setting::OnWithDefault(_)) => Some(Secs(0)),
            (DateSource::Default(_), Setting::On | Setting::Off)
            | (DateSource::Own(_), Setting::Off)
            | (DateSource::Index, _) => None,
        }
    }
}

impl DateRule {
    /// Whether the rule of a longer or an endless life would let documents live that this one has ended.
    #[must_use]
    pub fn ends_more_than(&self, life: Option<Secs>) -> bool {
        match (self.life, life) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(old), Some(new)) => old < new,
        }
    }

    /// This rule after the collection's setting was changed at `at`: what had expired by then stays so.
    #[must_use]
    pub fn changed(&self, setting: Setting, at: Millis) -> DateRule {
        let life = self.source.life(setting, self.life);
        let buried = if self.ends_more_than(life) {
            self.dead_until(at)
        } else {
            self.buried
        };
        DateRule {
            life,
            buried,
            ..*self
        }
    }

    /// When a document with this date ends, burials apart.
    #[must_use]
    pub fn expiry(&self, at: i64) -> Expiry {
        match self.life {
            None => Expiry::Never,
            Some(life) => {
                let end = i128::from(at) + i128::from(life.millis().0);
                // A date before 1970 ended before any time there is; one near the end of time never wraps.
                Expiry::At(Millis(u64::try_from(end.max(0)).unwrap_or(u64::MAX)))
            }
        }
    }

    /// Whether an earlier rule has already killed a document with this date.
    #[must_use]
    pub fn buries(&self, at: i64) -> bool {
        self.buried.is_some_and(|mark| at <= mark)
    }

    /// Dates at or before this one are dead at `now`: the same as [`DateRule::expiry`] and [`DateRule::buries`] say of each.
    #[must_use]
    pub fn dead_until(&self, now: Millis) -> Option<i64> {
        let by_rule = self.life.map(|life| {
            let cut = i128::from(now.0) - i128::from(life.millis().0);
            i64::try_from(cut).unwrap_or(i64::MAX)
        });
        self.buried.max(by_rule)
    }
}

impl DateRules {
    /// The rules of a collection.
    #[must_use]
    pub fn new(mut rules: Vec<DateRule>) -> DateRules {
        if rules.is_empty() {
            return DateRules(None);
        }
        rules.sort_by_key(|rule| rule.number);
        DateRules(Some(rules.into()))
    }

    /// These rules after the collection's setting was changed at `at`: what had expired by then stays so.
    #[must_use]
    pub fn changed(&self, setting: Setting, at: Millis) -> DateRules {
        let changed = self.all().iter().map(|rule| rule.changed(setting, at));
        DateRules::new(changed.collect())
    }

    /// All of them, by number.
    #[must_use]
    pub fn all(&self) -> &[DateRule] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The rule of a number. A number without one means nothing any more, or not yet.
    #[must_use]
    pub fn of(&self, number: u32) -> Option<&DateRule> {
        let rules = self.all();
        let at = rules.binary_search_by_key(&number, |rule| rule.number);
        at.ok().and_then(|at| rules.get(at))
    }

    /// Whether an earlier rule has already killed a document with these dates.
    #[must_use]
    pub fn bury(&self, dates: &[Dated]) -> bool {
        let buries = |date: &Dated| {
            self.of(date.number)
                .is_some_and(|rule| rule.buries(date.at))
        };
        dates.iter().any(buries)
    }

    /// When a document with these dates ends: the earliest end that a rule gives it.
    #[must_use]
    pub fn expiry(&self, dates: &[Dated]) -> Expiry {
        dates
            .iter()
            .filter_map(|date| self.of(date.number).map(|rule| rule.expiry(date.at)))
            .fold(Expiry::Never, Expiry::earlier)
    }
}

/// Appends dates: their number, then each.
pub(crate) fn write(dates: &[Dated], out: &mut Vec<u8>) {
    // A document has at most as many dates as its collection has indexes; see `DATES_MAX`.
    out.push(u8::try_from(dates.len()).unwrap_or(u8::MAX));
    for date in dates.iter().take(usize::from(u8::MAX)) {
        out.extend_from_slice(&date.number.to_be_bytes());
        out.extend_from_slice(&date.at.to_be_bytes());
    }
}

/// Reads dates, and gives what follows them.
pub(crate) fn split(bytes: &[u8]) -> Result<(Dates, &[u8]), Corrupt> {
    let (count, rest) = bytes.split_first().ok_or(Corrupt::Short)?;
    // Without dates there is no place for their number either, or a body would begin where a reader does not look for it.
    if *count == 0 {
        return Err(Corrupt::Body);
    }
    let length = usize::from(*count) * DATE_BYTES;
    let (stored, rest) = rest.split_at_checked(length).ok_or(Corrupt::Short)?;
    let mut dates = Dates::new();
    let mut left = stored;
    while let Some((number, after)) = left.split_first_chunk::<4>() {
        let (at, after) = after.split_first_chunk::<8>().ok_or(Corrupt::Short)?;
        dates.push(Dated {
            number: u32::from_be_bytes(*number),
            at: i64::from_be_bytes(*at),
        });
        left = after;
    }
    Ok((dates, rest))
}

/// How many bytes dates take.
pub(crate) const fn length(count: usize) -> usize {
    1 + count * DATE_BYTES
}
