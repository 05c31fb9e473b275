//! The base of times to live: at which path documents have it, and under which numbers they keep it.
//!
//! A document with a base keeps it as a date (`docs/decisions/0028-ttl-property-path.md`): one that inherits the default keeps
//! the base itself, and the rule of its number has the default's seconds; one with a ttl of its own keeps base and ttl
//! together, and its rule has no seconds to add. Of its write time such a document says "never".

use lapsedb_record::{DateRule, DateSource, Dated, EraSpan, Header, ItemTtl, Secs, Setting};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value};

use super::NamedIndexes;
use crate::index::composite::value_at;
use crate::versions::history::{number as integer, setting_of, setting_value, unsigned};

/// Milliseconds of a second.
const SECOND_MS: i64 = 1000;
/// From so many pairs of numbers on, documents are gone through to have the newest ones: every change that lets documents
/// live longer takes a pair, and documents that live long may have them all.
const PAIRS_MAX: usize = 500;

/// Where documents have the base of their time to live, and what is left of former paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TtlBase {
    /// The path; none where the write time is the base again.
    path: Option<Path>,
    /// The collection's setting, which these numbers follow.
    setting: Setting,
    /// The setting that comes into force once [`TtlBase::whole`] is true again: it was changed together with the path. Until
    /// then time to live is off: the new setting says nothing about the bases that documents have by the former path, nor the
    /// former setting about those that they will have.
    then: Option<Setting>,
    /// Numbers of this path. Documents are written under the last ones.
    current: Vec<Numbers>,
    /// Numbers of former paths, while documents may still have them; living ones only until [`TtlBase::whole`] is true.
    former: Vec<Numbers>,
    /// Whether all living documents have the base that they have at this path.
    whole: bool,
    /// The second in which that became so.
    since: Secs,
}

/// Two numbers under which documents keep dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    /// Of those that inherit.
    default: u32,
    /// Of those with a ttl of their own.
    own: u32,
    /// The settings that their rules follow.
    eras: EraSpan,
}

impl Numbers {
    const fn has(&self, number: u32) -> bool {
        self.default == number || self.own == number
    }

    const fn rules(&self) -> [(u32, DateSource); 2] {
        [
            (self.default, DateSource::Default(self.eras)),
            (self.own, DateSource::Own(self.eras)),
        ]
    }
}

impl TtlBase {
    fn new(setting: Setting) -> TtlBase {
        TtlBase {
            path: None,
            setting,
            then: None,
            current: Vec::new(),
            former: Vec::new(),
            whole: true,
            since: Secs(0),
        }
    }

    /// The rules of all numbers, burials apart.
    pub(super) fn rules(&self) -> impl Iterator<Item = DateRule> {
        let all = self.current.iter().chain(&self.former);
        all.flat_map(Numbers::rules)
            .map(|(number, source)| DateRule {
                number,
                source,
                life: source.life(self.setting, None),
                buried: None,
            })
    }

    /// Whether documents are still written under the last numbers.
    const fn is_written_to(&self) -> bool {
        self.path.is_some() || !self.whole
    }

    fn has_former(&self, number: u32) -> bool {
        self.former.iter().any(|numbers| numbers.has(number))
    }

    fn is_current(&self, date: &Dated) -> bool {
        self.current.iter().any(|numbers| numbers.has(date.number))
    }

    /// What a document with a base says of its write time, and the date it keeps.
    fn dated(&self, ttl: ItemTtl, base: i64) -> (ItemTtl, Option<Dated>) {
        let (Some(numbers), true) = (self.current.last(), ttl != ItemTtl::Never) else {
            return (ttl, None);
        };
        let (number, at) = match ttl {
            ItemTtl::After(life) => {
                let life = i64::try_from(life.millis().0).unwrap_or(i64::MAX);
                (numbers.own, base.saturating_add(life))
            }
            ItemTtl::Inherit | ItemTtl::Never => (numbers.default, base),
        };
        (ItemTtl::Never, Some(Dated { number, at }))
    }

    /// What a document says of its write time, and the date it keeps, if it has a base.
    fn life_of(&self, document: &Object) -> (ItemTtl, Option<Dated>) {
        let ttl = ItemTtl::of_document(document);
        let path = self.path.as_ref();
        match path.and_then(|path| base_millis(value_at(document, path))) {
            Some(base) => self.dated(ttl, base),
            None => (ttl, None),
        }
    }

    /// The header that a living document is to have, if it is not the one it has. What has no base any more keeps its write
    /// time as one: the marks of the collection's default may already lie behind that.
    pub(crate) fn rebased(&self, header: &Header, document: &Object) -> Option<Header> {
        if header.dates.iter().any(|date| self.is_current(date)) {
            return None;
        }
        let was_based = header.dates.iter().any(|date| self.has_former(date.number));
        let written = i64::try_from(header.written.millis().0).unwrap_or(i64::MAX);
        let (ttl, date) = match self.life_of(document) {
            (_, None) if was_based => self.dated(ItemTtl::of_document(document), written),
            life => life,
        };
        let date = date?;
        let mut header = Header {
            ttl,
            ..header.clone()
        };
        header.dates.retain(|date| !self.has_former(date.number));
        header.dates.push(date);
        Some(header)
    }
}

/// The milliseconds that a number of seconds means; a part of one counts as a whole, so that nothing ends early.
fn base_millis(value: &Value) -> Option<i64> {
    if let Some(seconds) = value.as_i64() {
        return Some(seconds.saturating_mul(SECOND_MS));
    }
    let seconds = value.as_f64().filter(|seconds| seconds.is_finite())?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float cast saturates: so far away, a second more or less means nothing"
    )]
    let millis = (seconds * 1000.0).ceil() as i64;
    Some(millis)
}

impl NamedIndexes {
    /// What they are after the collection's setting was changed from another one, or the path of its documents' bases, where the
    /// new setting has the number `era` among all; `empty` where there are no documents. What has expired stays so. If living documents have to be gone through, see
    /// [`NamedIndexes::is_rebasing`]; which setting is in force then says [`NamedIndexes::in_force`].
    #[must_use]
    pub fn with_ttl(
        &self,
        was: Setting,
        (setting, path): (Setting, Option<&Path>),
        era: u64,
        empty: bool,
    ) -> NamedIndexes {
        let mut next = self.clone();
        if path.is_none() && next.base.is_none() {
            return next;
        }
        let mut base = next.base.take().unwrap_or_else(|| TtlBase::new(setting));
        let moves = base.path.as_ref() != path;
        // Two bases are in use until all are gone through, and one setting says nothing about both.
        let two = (moves && !empty) || !base.whole;
        let both = (two && setting != was) || base.then.is_some();
        base.then = (both && setting != Setting::Off).then_some(setting);
        let setting = if both { Setting::Off } else { setting };
        base.setting = setting;
        let mut buries = false;
        for rule in self.rules.all() {
            if rule.ends_more_than(rule.source.life(setting, rule.life)) {
                next.bury_number(rule);
                buries = true;
            }
        }
        // What is written from now on is not touched by what was buried.
        let renews = moves || (buries && base.is_written_to());
        if moves || (renews && base.current.len() >= PAIRS_MAX) {
            base.former.append(&mut base.current);
            base.path = path.cloned();
            base.whole = empty;
        }
        if renews {
            base.current.push(Numbers {
                default: next.take_number(),
                own: next.take_number(),
                eras: EraSpan::from(era),
            });
        }
        next.base = Some(base);
        next.rule();
        next
    }

    /// Where documents have the base of their time to live; none where it is their write time.
    #[must_use]
    pub fn ttl_path(&self) -> Option<&Path> {
        self.base.as_ref().and_then(|base| base.path.as_ref())
    }

    /// What the collection says of bases.
    pub(crate) const fn base(&self) -> Option<&TtlBase> {
        self.base.as_ref()
    }

    /// Whether living documents are still judged by a former path of their base, see [`Store::rebase`](crate::Store::rebase).
    #[must_use]
    pub fn is_rebasing(&self) -> bool {
        self.base.as_ref().is_some_and(|base| !base.whole)
    }

    /// The setting that is in force if the collection's definition has this one: until all documents are gone through, time to
    /// live may be off.
    #[must_use]
    pub fn in_force(&self, setting: Setting) -> Setting {
        let waits = self.base.as_ref().and_then(|base| base.then);
        waits.map_or(setting, |_| Setting::Off)
    }

    /// The second since which bases are as they are; none where there are none.
    pub(crate) fn based_since(&self, now: Secs) -> Option<Secs> {
        let base = self.base.as_ref()?;
        Some(if base.whole { base.since } else { now })
    }

    /// These indexes once all living documents have their bases, and the setting that comes into force with that, if one does.
    /// Whatever former numbers have ended stays so; `era` is the first setting that they follow no more.
    pub(crate) fn rebased(&self, era: u64, now: Secs) -> (NamedIndexes, Option<Setting>) {
        let mut next = self.clone();
        let Some(base) = &mut next.base else {
            return (next, None);
        };
        let then = base.then.take();
        for numbers in &mut base.former {
            numbers.eras.until.get_or_insert(era);
        }
        (base.whole, base.since) = (true, now);
        base.setting = then.unwrap_or(base.setting);
        for rule in self.rules.all() {
            if self.base.iter().any(|base| base.has_former(rule.number)) {
                next.bury_number(rule);
            }
        }
        next.rule();
        (next, then)
    }

    /// What a document says of its write time, and the date it keeps in place of it, if it has a base.
    pub(crate) fn life_of(&self, document: &Object) -> (ItemTtl, Option<Dated>) {
        match &self.base {
            Some(base) => base.life_of(document),
            None => (ItemTtl::of_document(document), None),
        }
    }

    /// The numbers under which documents keep their bases.
    pub(super) fn base_numbers(&self) -> impl Iterator<Item = u32> {
        let base = self.base.iter();
        base.flat_map(|base| base.rules().map(|rule| rule.number))
    }

    /// Numbers under which no document is written any more: two and two.
    pub(super) fn spent_numbers(&self) -> Vec<[u32; 2]> {
        let Some(base) = &self.base else {
            return Vec::new();
        };
        let used = usize::from(base.is_written_to());
        let spent = base.current.len().saturating_sub(used);
        let spent = base.current.iter().take(spent);
        let over = |numbers: &&Numbers| numbers.eras.until.is_some();
        spent
            .chain(base.former.iter().filter(over))
            .map(|numbers| [numbers.default, numbers.own])
            .collect()
    }

    /// Forgets numbers that no document has.
    pub(super) fn forget_numbers(&mut self, [number, _]: [u32; 2]) {
        if let Some(base) = &mut self.base {
            for all in [&mut base.current, &mut base.former] {
                all.retain(|numbers| !numbers.has(number));
            }
            let used = !base.current.is_empty() || !base.former.is_empty();
            if base.path.is_none() && base.whole && !used {
                self.base = None;
            }
        }
    }
}

impl TtlBase {
    pub(super) fn to_object(&self) -> Object {
        let numbers = |all: &[Numbers]| {
            let all = all.iter().map(|numbers| {
                let mut one = Object::with_capacity(3);
                one.push("default", Value::Int64(i64::from(numbers.default)));
                one.push("own", Value::Int64(i64::from(numbers.own)));
                one.push("era", integer(numbers.eras.from));
                if let Some(until) = numbers.eras.until {
                    one.push("untilEra", integer(until));
                }
                Value::Object(one)
            });
            Value::Array(all.collect())
        };
        let mut object = Object::with_capacity(6);
        if let Some(path) = &self.path {
            object.push("path", Value::from(path.to_string()));
        }
        object.push("setting", setting_value(self.setting));
        if let Some(then) = self.then {
            object.push("then", setting_value(then));
        }
        object.push("current", numbers(&self.current));
        object.push("former", numbers(&self.former));
        object.push("whole", Value::Bool(self.whole));
        object.push("since", integer(self.since.0));
        object
    }

    pub(super) fn from_object(object: &Object) -> Option<TtlBase> {
        let member = |name: &str| object.get(name).unwrap_or(Value::undefined());
        let path = match member("path").as_str() {
            Some(path) => Some(Path::parse_pointer(path).ok()?),
            None => None,
        };
        let number = |value: &Value| u32::try_from(value.as_i64()?).ok();
        let numbers = |name: &str| -> Option<Vec<Numbers>> {
            let all = member(name).as_array()?.iter();
            all.map(|one| {
                Some(Numbers {
                    default: number(one.get("default"))?,
                    own: number(one.get("own"))?,
                    eras: EraSpan {
                        // A record of an older version does not say it.
                        from: unsigned(one.get("era")).unwrap_or(0),
                        until: unsigned(one.get("untilEra")),
                    },
                })
            })
            .collect()
        };
        Some(TtlBase {
            path,
            setting: setting_of(member("setting"))?,
            then: match member("then") {
                Value::Undefined => None,
                then => Some(setting_of(then)?),
            },
            current: numbers("current")?,
            former: numbers("former")?,
            whole: matches!(member("whole"), Value::Bool(true)),
            since: Secs(unsigned(member("since"))?),
        })
    }
}
