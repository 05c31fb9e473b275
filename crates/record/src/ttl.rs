//! THE RULE: policy × item × write time → expiry, and one comparison.
//!
//! Everything that shows, counts, checks or removes a record asks here. `docs/ttl.md` says it to users.

use crate::dates::DateRules;
use crate::mark::Mark;
use crate::time::{Millis, Secs};

/// The largest time to live, of a collection or an item.
pub const TTL_SECS_MAX: u64 = 2_147_483_647;

/// What the collection says now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// No default: nothing expires, an item's own ttl is inert data.
    Off,
    /// `-1`: only items with a ttl of their own expire.
    On,
    /// Items without a ttl of their own live this long after their last write.
    OnWithDefault(Secs),
}

/// What the item says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemTtl {
    /// No meaningful ttl: the collection's default applies.
    Inherit,
    /// `-1`.
    Never,
    /// So many seconds after the last write.
    After(Secs),
}

/// When a record ends. "Never" is a state of its own, not a large number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expiry {
    /// It stays until it is deleted.
    Never,
    /// The first instant at which it is gone.
    At(Millis),
}

/// A collection's setting together with what earlier settings have already killed.
///
/// The two marks only grow, so no later setting revives the dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The setting in force.
    pub setting: Setting,
    /// Items that inherit and were written at or before this second are dead.
    pub buried_written: Option<Secs>,
    /// Items with a ttl of their own that ended at or before this second are dead.
    pub buried_due: Option<Secs>,
}

/// What a request sees through: one policy and one time, fixed when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lens {
    /// The collection's policy.
    pub policy: Policy,
    /// What the collection says of its documents' dates.
    pub dates: DateRules,
    /// The request's time.
    pub now: Millis,
}

/// When a record written at `written` ends under a setting, burials and dates apart.
#[must_use]
pub const fn expiry(setting: Setting, item: ItemTtl, written: Secs) -> Expiry {
    let life = match (setting, item) {
        (Setting::Off, _) | (_, ItemTtl::Never) | (Setting::On, ItemTtl::Inherit) => {
            return Expiry::Never;
        }
        (Setting::OnWithDefault(life), ItemTtl::Inherit) => life,
        (Setting::On | Setting::OnWithDefault(_), ItemTtl::After(life)) => life,
    };
    Expiry::At(written.plus(life).millis())
}

impl Expiry {
    /// The whole rule in one comparison. [`Policy::dead_written`] and [`Policy::dead_due`] say the same of whole seconds, for
    /// the calendar and the purger, which have no record to ask.
    #[must_use]
    pub const fn is_live(self, now: Millis) -> bool {
        match self {
            Expiry::Never => true,
            Expiry::At(end) => now.0 < end.0,
        }
    }

    /// The earlier of two ends.
    #[must_use]
    pub fn earlier(self, other: Expiry) -> Expiry {
        match (self, other) {
            (Expiry::Never, end) | (end, Expiry::Never) => end,
            (Expiry::At(a), Expiry::At(b)) => Expiry::At(a.min(b)),
        }
    }
}

impl Policy {
    /// The policy of a collection that has just been created.
    #[must_use]
    pub const fn new(setting: Setting) -> Policy {
        Policy {
            setting,
            buried_written: None,
            buried_due: None,
        }
    }

    /// This policy after its setting was changed at `at`: what had expired by then stays dead.
    #[must_use]
    pub fn changed(self, setting: Setting, at: Millis) -> Policy {
        let at = at.secs();
        let mut next = Policy { setting, ..self };
        match self.setting {
            Setting::Off => {}
            Setting::On => next.buried_due = next.buried_due.max(Some(at)),
            Setting::OnWithDefault(life) => {
                let written = at.0.checked_sub(life.0).map(Secs);
                next.buried_written = next.buried_written.max(written);
                next.buried_due = next.buried_due.max(Some(at));
            }
        }
        next
    }

    /// Whether an earlier setting has already killed this record.
    #[must_use]
    pub fn buries(&self, item: ItemTtl, written: Secs) -> bool {
        match item {
            ItemTtl::Never => false,
            ItemTtl::Inherit => self.buried_written.is_some_and(|mark| written <= mark),
            ItemTtl::After(life) => self
                .buried_due
                .is_some_and(|mark| written.plus(life) <= mark),
        }
    }

    /// Inheriting records written at or before this second are dead at `now`.
    #[must_use]
    pub fn dead_written(&self, now: Millis) -> Option<Secs> {
        let by_rule = match self.setting {
            Setting::Off | Setting::On => None,
            Setting::OnWithDefault(life) => now.secs().0.checked_sub(life.0).map(Secs),
        };
        self.buried_written.max(by_rule)
    }

    /// Records with a ttl of their own that end at or before this second are dead at `now`.
    #[must_use]
    pub fn dead_due(&self, now: Millis) -> Option<Secs> {
        let by_rule = match self.setting {
            Setting::Off => None,
            Setting::On | Setting::OnWithDefault(_) => Some(now.secs()),
        };
        self.buried_due.max(by_rule)
    }
}

impl Lens {
    /// A lens for a collection without date indexes.
    #[must_use]
    pub fn new(policy: Policy, now: Millis) -> Lens {
        Lens {
            policy,
            dates: DateRules::default(),
            now,
        }
    }

    /// Whether a record may be seen: burials first, then the rule.
    #[must_use]
    pub fn is_live(&self, record: &Mark) -> bool {
        !self.policy.buries(record.ttl, record.written)
            && !self.dates.bury(&record.dates)
            && self.expiry(record).is_live(self.now)
    }

    /// When a record that is alive now will end under what is in force: by its ttl or by a date, whichever is earlier.
    #[must_use]
    pub fn expiry(&self, record: &Mark) -> Expiry {
        let by_ttl = expiry(self.policy.setting, record.ttl, record.written);
        by_ttl.earlier(self.dates.expiry(&record.dates))
    }
}

impl ItemTtl {
    /// The ttl a document means by its `ttl`. Two members of that name contradict each other, even if they are equal.
    #[must_use]
    pub fn of_document(document: &lapsedb_value::Object) -> ItemTtl {
        let mut said = document.iter().filter(|(name, _)| *name == "ttl");
        match (said.next(), said.next()) {
            (Some((_, ttl)), None) => ItemTtl::of_value(ttl),
            (None | Some(_), _) => ItemTtl::Inherit,
        }
    }

    /// The ttl an item's stored `ttl` member means. What is not meaningful counts as absent, never as 0.
    #[must_use]
    pub fn of_value(value: &lapsedb_value::Value) -> ItemTtl {
        match meaningful(value) {
            Some(-1) => ItemTtl::Never,
            Some(secs) => {
                u64::try_from(secs).map_or(ItemTtl::Inherit, |secs| ItemTtl::After(Secs(secs)))
            }
            None => ItemTtl::Inherit,
        }
    }
}

/// The number of seconds a ttl value means: -1, or 1 to [`TTL_SECS_MAX`]. Anything else means nothing.
///
/// The same rule serves an item's `ttl` and a collection's `defaultTtl`.
#[must_use]
pub fn meaningful(value: &lapsedb_value::Value) -> Option<i64> {
    let number = value.as_f64()?;
    #[expect(clippy::cast_precision_loss, reason = "2^31 - 1 is exact in a double")]
    let largest = TTL_SECS_MAX as f64;
    if number.fract() != 0.0 || !(number == -1.0 || (1.0..=largest).contains(&number)) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "integral and within 31 bits, checked above"
    )]
    let secs = number as i64;
    Some(secs)
}
