//! When a record died: an expiry that is told later, after further changes of the setting, still names its moment.

use crate::dates::{DateRule, DateSource, EraSpan};
use crate::mark::Mark;
use crate::time::Millis;
use crate::ttl::{Expiry, Lens, Setting, expiry};

/// How many former settings are remembered. Deaths are told within seconds, so more are never needed; were they, the
/// moment named would be that of the oldest one remembered.
pub const ERAS_MAX: usize = 32;

/// A setting that was in force from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Era {
    /// Its first instant.
    pub since: Millis,
    /// What it said.
    pub setting: Setting,
}

/// Since when a collection's setting is in force, and those before it, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eras {
    /// The former settings.
    pub former: Vec<Era>,
    /// The first instant of the setting in force.
    pub since: Millis,
    /// How many changes there were: the number of the setting in force. Those before it have the numbers before it.
    pub changes: u64,
    /// Whether the setting comes into force with the commit that writes this: then its first instant is known by that.
    pub begins: bool,
}

impl Eras {
    /// The eras after `old`, the setting in force, was changed at about `at`: when exactly, the commit says.
    #[must_use]
    pub fn changed(&self, old: Setting, at: Millis) -> Eras {
        let mut former = self.former.clone();
        former.push(Era {
            since: self.since,
            setting: old,
        });
        if former.len() > ERAS_MAX {
            former.remove(0);
        }
        Eras {
            former,
            since: at,
            changes: self.changes + 1,
            begins: true,
        }
    }

    /// What the commit that wrote this has made of it.
    #[must_use]
    pub fn committed(self, at: Millis) -> Eras {
        let since = if self.begins { at } else { self.since };
        Eras {
            since,
            begins: false,
            ..self
        }
    }

    /// When a record died: the first instant at which it was past its end under the setting in force then, be it by its ttl or
    /// by a date of its own. None if it is alive.
    #[must_use]
    pub fn death(&self, lens: &Lens, record: &Mark) -> Option<Millis> {
        if lens.is_live(record) {
            return None;
        }
        let by_date = record.dates.iter().filter_map(|date| {
            let rule = lens.dates.of(date.number)?;
            self.death_by_date(lens, record, rule, date.at)
        });
        let by_ttl = self.first_end(lens, EraSpan::from(0), |setting| {
            expiry(setting, record.ttl, record.written)
        });
        let oldest = || self.former.first().map_or(self.since, |era| era.since);
        by_ttl
            .into_iter()
            .chain(by_date)
            .min()
            .or_else(|| Some(oldest().max(record.written.millis())))
    }

    /// When a record died by one of its dates. The base of a time to live is judged by the settings that its rule has followed;
    /// before it was written, nothing died.
    fn death_by_date(
        &self,
        lens: &Lens,
        record: &Mark,
        rule: &DateRule,
        at: i64,
    ) -> Option<Millis> {
        match rule.source {
            DateSource::Index => match rule.expiry(at) {
                Expiry::At(end) if end <= lens.now => Some(end),
                Expiry::At(_) | Expiry::Never => None,
            },
            DateSource::Default(eras) | DateSource::Own(eras) => {
                let end = self.first_end(lens, eras, |setting| {
                    let life = rule.source.life_under(setting);
                    DateRule { life, ..*rule }.expiry(at)
                });
                end.map(|end| end.max(record.written.millis()))
            }
        }
    }

    /// The first end that comes while the setting is in force which says it, of the settings of a span.
    ///
    /// Two changes of the same millisecond leave a setting no time, but what it ended is ended: so an end in the instant of the
    /// next change still counts, and only what the record's rule followed is asked.
    fn first_end(
        &self,
        lens: &Lens,
        span: EraSpan,
        end_under: impl Fn(Setting) -> Expiry,
    ) -> Option<Millis> {
        let present = Era {
            since: self.since,
            setting: lens.policy.setting,
        };
        let eras = || self.former.iter().chain([&present]);
        let ends = eras().skip(1).map(|era| era.since);
        let forgotten = self.changes.saturating_sub(self.former.len() as u64);
        (forgotten..)
            .zip(eras().zip(ends.chain([lens.now])))
            .filter(|(number, _)| span.has(*number))
            .find_map(|(_, (era, until))| match end_under(era.setting) {
                Expiry::At(end) if end <= until => Some(end.max(era.since)),
                Expiry::At(_) | Expiry::Never => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dates::{DateRules, Dated};
    use crate::time::Secs;
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
                    died = Some(end.max(since.millis()));
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
                    eras = eras.changed(policy.setting, Secs(now).millis());
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
        let eras = EraSpan::from(0);
        let at = |life: u64| i64::try_from((written.0 + life) * 1000).unwrap_or(i64::MAX);
        let (source, at) = match item {
            ItemTtl::Never => return (Mark::undated(item, written), DateRules::default()),
            ItemTtl::Inherit => (DateSource::Default(eras), at(0)),
            ItemTtl::After(life) => (DateSource::Own(eras), at(life.0)),
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

    /// Nothing that keeps a base died before it was written, nor by settings that its rule does not follow: though they changed
    /// in the very millisecond in which documents began to be written under its number, or ceased to.
    #[test]
    fn a_base_of_the_past_is_judged_by_the_settings_that_its_rule_followed() {
        let lasting = Setting::OnWithDefault(Secs(5));
        let mut eras = Eras::default();
        for (old, at) in [(lasting, 50), (lasting, 50), (Setting::On, 70)] {
            eras = eras.changed(old, Secs(at).millis());
        }
        let all = |from| EraSpan { from, until: None };
        let some = |from, until| EraSpan {
            from,
            until: Some(until),
        };
        for (written, span, moment) in [
            (20, all(0), Some(20)),
            (20, all(1), Some(50)),
            (60, all(1), Some(60)),
            (50, all(2), Some(70)),
            (60, all(2), Some(70)),
            (90, all(2), Some(90)),
            (20, some(0, 1), Some(20)),
            (50, some(1, 2), Some(50)),
            (50, some(2, 3), None),
        ] {
            let (mut mark, _) = based(Setting::On, ItemTtl::Inherit, Secs(3));
            mark.written = Secs(written);
            let rule = DateRule {
                number: 1,
                source: DateSource::Default(span),
                life: DateSource::Default(span).life(lasting, None),
                buried: None,
            };
            let lens = Lens {
                dates: DateRules::new(vec![rule]),
                ..Lens::new(Policy::new(lasting), Secs(200).millis())
            };
            let moment = moment.map(|moment| Secs(moment).millis());
            assert_eq!(
                eras.death_by_date(&lens, &mark, &rule, 3000),
                moment,
                "{written} {span:?}"
            );
        }
    }

    #[test]
    fn what_no_era_remembers_died_before_the_oldest_of_them() {
        let mut eras = Eras::default();
        let mut policy = Policy::new(Setting::OnWithDefault(Secs(1)));
        for at in 100..200 {
            eras = eras.changed(policy.setting, Secs(at).millis());
            policy = policy.changed(Setting::Off, Secs(at).millis());
        }
        assert_eq!(eras.former.len(), ERAS_MAX);
        let lens = Lens::new(policy, Secs(300).millis());
        let oldest = eras.former.first().map(|era| era.since);
        let record = Mark::undated(ItemTtl::Inherit, Secs(5));
        assert_eq!(eras.death(&lens, &record), oldest);
    }
}
