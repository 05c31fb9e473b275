//! When a record died: an expiry that is told later, after further changes of the setting, still names its moment.

use crate::dates::{DateRule, DateSource};
use crate::mark::Mark;
use crate::time::Secs;
use crate::ttl::{Expiry, Lens, Setting, expiry};

/// How many former settings are remembered. Deaths are told within seconds, so more are never needed; were they, the
/// moment named would be that of the oldest one remembered.
pub const ERAS_MAX: usize = 32;

/// A setting that was in force from a second on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Era {
    /// Its first second.
    pub since: Secs,
    /// What it said.
    pub setting: Setting,
}

/// Since when a collection's setting is in force, and those before it, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eras {
    /// The former settings.
    pub former: Vec<Era>,
    /// The first second of the setting in force.
    pub since: Secs,
}

impl Eras {
    /// The eras after `old`, the setting in force, was changed at `at`.
    #[must_use]
    pub fn changed(&self, old: Setting, at: Secs) -> Eras {
        let mut former = self.former.clone();
        former.push(Era {
            since: self.since,
            setting: old,
        });
        if former.len() > ERAS_MAX {
            former.remove(0);
        }
        Eras { former, since: at }
    }

    /// The second in which a record died: its end under the first setting that it outlived or the change to that setting,
    /// whichever is later; or the end that a date of its own gave it, if that was earlier. None if it is alive.
    #[must_use]
    pub fn death(&self, lens: &Lens, record: &Mark) -> Option<Secs> {
        if lens.is_live(record) {
            return None;
        }
        let by_date = record.dates.iter().filter_map(|date| {
            let rule = lens.dates.of(date.number)?;
            self.death_by_date(lens, record, rule, date.at)
        });
        let by_ttl = self.first_end(lens, |setting| expiry(setting, record.ttl, record.written));
        let oldest = || self.former.first().map_or(self.since, |era| era.since);
        by_ttl
            .into_iter()
            .chain(by_date)
            .min()
            .or_else(|| Some(oldest().max(record.written)))
    }

    /// The second in which a record died by one of its dates. The base of a time to live is judged by all settings that were
    /// in force since documents are written under its number; before it was written, nothing died.
    fn death_by_date(&self, lens: &Lens, record: &Mark, rule: &DateRule, at: i64) -> Option<Secs> {
        let since = match rule.source {
            DateSource::Index => {
                return match rule.expiry(at) {
                    Expiry::At(end) if end <= lens.now => Some(end.secs()),
                    Expiry::At(_) | Expiry::Never => None,
                };
            }
            DateSource::Default { since } | DateSource::Own { since } => since,
        };
        let end = self.first_end(lens, |setting| {
            let life = rule.source.life(setting, None);
            match (DateRule { life, ..*rule }).expiry(at) {
                Expiry::Never => Expiry::Never,
                Expiry::At(end) => Expiry::At(end.max(since.millis())),
            }
        });
        end.map(|end| end.max(record.written))
    }

    /// The first end that comes while the setting is in force which says it.
    fn first_end(&self, lens: &Lens, end_under: impl Fn(Setting) -> Expiry) -> Option<Secs> {
        let present = Era {
            since: self.since,
            setting: lens.policy.setting,
        };
        let eras = || self.former.iter().chain([&present]);
        let ends = eras().skip(1).map(|era| era.since);
        eras()
            .zip(ends.chain([lens.now.secs()]))
            .find_map(|(era, until)| match end_under(era.setting) {
                Expiry::At(end) if end.secs() <= until => Some(end.secs().max(era.since)),
                Expiry::At(_) | Expiry::Never => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dates::{DateRules, Dated};
    use crate::time::Millis;
    use crate::ttl::{ItemTtl, Policy};

    /// All stories of three settings with items of any kind: a second-by-second walk and the eras name the same moment. So they do
    /// where an item keeps its write time as a base.
    #[test]
    fn the_moment_is_that_of_a_walk_through_time() {
        let settings = [
            Setting::Off,
            Setting::On,
            Setting::OnWithDefault(Secs(2)),
            Setting::OnWithDefault(Secs(5)),
        ];
        let items = [
            ItemTtl::Inherit,
            ItemTtl::Never,
            ItemTtl::After(Secs(1)),
            ItemTtl::After(Secs(4)),
        ];
        let mut told = 0;
        for first in settings {
            for second in settings {
                for third in settings {
                    for (change, again) in [(13, 14), (13, 13), (14, 18), (12, 17)] {
                        for item in items {
                            told += walk([first, second, third], [change, again], item);
                        }
                    }
                }
            }
        }
        assert!(told > 1000, "only {told} deaths were compared");
    }

    fn walk(settings: [Setting; 3], changes: [u64; 2], item: ItemTtl) -> u64 {
        let (mut policy, mut eras) = (Policy::new(settings[0]), Eras::default());
        let (written, mut died, mut since, mut deaths) = (Secs(10), None, Secs(0), 0);
        let (based, mut rules) = based(settings[0], item, written);
        for now in 10..24 {
            let mut judge = |policy: &Policy, rules: &DateRules, eras: &Eras, since: Secs| {
                if died.is_none()
                    && let Expiry::At(end) = expiry(policy.setting, item, written)
                    && end.secs() <= Secs(now)
                {
                    died = Some(end.secs().max(since));
                }
                let lens = Lens {
                    dates: rules.clone(),
                    ..Lens::new(*policy, Secs(now).millis())
                };
                for mark in [&Mark::undated(item, written), &based] {
                    assert_eq!(
                        eras.death(&lens, mark),
                        died,
                        "{settings:?} {changes:?} {mark:?} at {now}"
                    );
                }
                deaths += u64::from(died.is_some());
            };
            judge(&policy, &rules, &eras, since);
            for (at, setting) in changes.into_iter().zip([settings[1], settings[2]]) {
                if at == now {
                    eras = eras.changed(policy.setting, Secs(now));
                    policy = policy.changed(setting, Millis(now * 1000));
                    rules = rules.changed(setting, Millis(now * 1000));
                    since = Secs(now);
                    judge(&policy, &rules, &eras, since);
                }
            }
        }
        deaths
    }

    /// The mark of an item that keeps its write time as a base, and what its collection says of that.
    fn based(setting: Setting, item: ItemTtl, written: Secs) -> (Mark, DateRules) {
        let since = Secs(0);
        let at = |life: u64| i64::try_from((written.0 + life) * 1000).unwrap_or(i64::MAX);
        let (source, at) = match item {
            ItemTtl::Never => return (Mark::undated(item, written), DateRules::default()),
            ItemTtl::Inherit => (DateSource::Default { since }, at(0)),
            ItemTtl::After(life) => (DateSource::Own { since }, at(life.0)),
        };
        let rule = DateRule {
            number: 1,
            source,
            life: source.life(setting, None),
            buried: None,
        };
        let mut mark = Mark::undated(ItemTtl::Never, written);
        mark.dates.push(Dated { number: 1, at });
        (mark, DateRules::new(vec![rule]))
    }

    /// Nothing that keeps a base died before it was written, or before documents were written under its number.
    #[test]
    fn a_base_of_the_past_ends_an_item_when_it_is_written_or_gets_it() {
        for (written, since, moment) in [(100, 50, 100), (20, 50, 50)] {
            let (mut mark, _) = based(Setting::On, ItemTtl::Inherit, Secs(3));
            mark.written = Secs(written);
            let source = DateSource::Default { since: Secs(since) };
            let setting = Setting::OnWithDefault(Secs(5));
            let rule = DateRule {
                number: 1,
                source,
                life: source.life(setting, None),
                buried: None,
            };
            let lens = Lens {
                dates: DateRules::new(vec![rule]),
                ..Lens::new(Policy::new(setting), Secs(200).millis())
            };
            let eras = Eras::default();
            assert_eq!(eras.death(&lens, &mark), Some(Secs(moment)));
        }
    }

    #[test]
    fn what_no_era_remembers_died_before_the_oldest_of_them() {
        let mut eras = Eras::default();
        let mut policy = Policy::new(Setting::OnWithDefault(Secs(1)));
        for at in 100..200 {
            eras = eras.changed(policy.setting, Secs(at));
            policy = policy.changed(Setting::Off, Secs(at).millis());
        }
        assert_eq!(eras.former.len(), ERAS_MAX);
        let lens = Lens::new(policy, Secs(300).millis());
        let oldest = eras.former.first().map(|era| era.since);
        let record = Mark::undated(ItemTtl::Inherit, Secs(5));
        assert_eq!(eras.death(&lens, &record), oldest);
    }
}
